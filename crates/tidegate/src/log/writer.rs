//! Writes the lines of the log to standard error, without keeping anybody waiting.
//!
//! A thread that logs must not wait for the reader of the log: a pipe that nobody empties would stop the
//! threads that decide, and those that end the process. So lines go through a bounded queue to a thread
//! that writes them. Lines that do not fit are dropped, and their number is logged next.

use std::io::{self, Write};
use std::time::Duration;

use tidegate_engine::handoff::{Handoff, Item, Items};
use tracing::warn;

/// Takes lines and passes them to the thread that writes them.
#[derive(Clone)]
pub(crate) struct LogWriter(Handoff<String>);

/// The most lines that wait to be written.
const CAPACITY: usize = 4096;

/// How long the end of the process waits for the last lines to be written.
const PATIENCE: Duration = Duration::from_millis(500);

// === impl LogWriter ===

impl LogWriter {
    /// Starts the thread that writes to standard error.
    pub(crate) fn to_stderr() -> io::Result<Self> {
        // A log that cannot be written is no reason to stop deciding, so a failed write is ignored.
        Self::to(|line| drop(io::stderr().lock().write_all(line.as_bytes())))
    }

    fn to(write: impl Fn(&str) + Send + 'static) -> io::Result<Self> {
        Handoff::start("log", CAPACITY, move |lines| write_all(lines, write)).map(Self)
    }

    /// Hands a line in, without waiting.
    pub(crate) fn line(&self, line: String) {
        self.0.send(line);
    }

    /// Waits until all lines handed in before are written, but not for ever.
    pub(crate) fn finish(&self) {
        // The process ends either way.
        let _ = self.0.finish(PATIENCE);
    }
}

fn write_all(lines: &Items<String>, write: impl Fn(&str)) {
    while let Some(item) = lines.next() {
        match item {
            Item::One(line) => write(&line),
            Item::Mark(mark) => mark.reached(true),
        }
        match lines.take_dropped() {
            0 => {}
            lines => warn!(lines, "lines of the log were lost: nobody read them in time"),
        }
    }
}

#[cfg(test)]
mod tests {
    //! A reader that does not read.

    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    use std::sync::mpsc::sync_channel;
    use std::sync::{Arc, Mutex};
    use std::thread;

    use super::*;

    #[test]
    fn p81_a_log_that_nobody_reads_keeps_nobody_waiting() {
        let (release, blocked) = sync_channel::<()>(0);
        let (blocked, written) = (Mutex::new(blocked), Arc::new(AtomicU64::new(0)));
        let count = Arc::clone(&written);
        let writer = LogWriter::to(move |_| {
            let _ = blocked.lock().unwrap().recv();
            count.fetch_add(1, Relaxed);
        });
        let writer = writer.unwrap();
        for number in 0..CAPACITY + 100 {
            writer.line(number.to_string());
        }
        // One may be with the reader, the rest wait or are lost.
        assert!((99..=100).contains(&writer.0.dropped()));
        assert_eq!(written.load(Relaxed), 0);
        drop(release);
        while written.load(Relaxed) < CAPACITY as u64 {
            thread::yield_now();
        }
    }

    #[test]
    fn what_was_handed_in_is_written_before_the_end() {
        let written = Arc::new(Mutex::new(String::new()));
        let kept = Arc::clone(&written);
        let writer = LogWriter::to(move |line| kept.lock().unwrap().push_str(line)).unwrap();
        for number in 0..100 {
            writer.line(format!("{number} "));
        }
        writer.finish();
        assert!(written.lock().unwrap().ends_with("98 99 "));
    }
}
