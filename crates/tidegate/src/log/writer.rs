//! Writes the lines of the log to standard error, without keeping anybody waiting.
//!
//! A thread that logs must not wait for the reader of the log: a pipe that nobody empties would stop the
//! threads that decide, and those that end the process. So lines go through a bounded queue to a thread
//! that writes them. Lines that do not fit are dropped, and their number is logged next.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::Duration;

use tracing::warn;

/// Takes lines and passes them to the thread that writes them.
#[derive(Clone)]
pub(crate) struct Writer {
    queue: SyncSender<Item>,
    lost: Arc<AtomicU64>,
}

enum Item {
    Line(String),
    /// Tells the sender that every line before this has been written.
    Mark(SyncSender<()>),
}

/// The most lines that wait to be written.
const CAPACITY: usize = 4096;

/// How long the end of the process waits for the last lines to be written.
const PATIENCE: Duration = Duration::from_millis(500);

// === impl Writer ===

impl Writer {
    /// Starts the thread that writes to standard error.
    pub(crate) fn to_stderr() -> io::Result<Self> {
        // A log that cannot be written is no reason to stop deciding, so a failed write is ignored.
        Self::to(|line| drop(io::stderr().lock().write_all(line.as_bytes())))
    }

    fn to(write: impl Fn(&str) + Send + 'static) -> io::Result<Self> {
        let (queue, items) = sync_channel(CAPACITY);
        let lost = Arc::new(AtomicU64::new(0));
        let told = Arc::clone(&lost);
        let thread = thread::Builder::new().name("log".into());
        thread.spawn(move || write_all(&items, &told, write))?;
        Ok(Self { queue, lost })
    }

    /// Hands a line in, without waiting.
    pub(crate) fn line(&self, line: String) {
        if let Err(TrySendError::Full(_)) = self.queue.try_send(Item::Line(line)) {
            self.lost.fetch_add(1, Relaxed);
        }
    }

    /// Waits until all lines handed in before are written, but not for ever.
    pub(crate) fn finish(&self) {
        let (done, written) = sync_channel(1);
        if self.queue.try_send(Item::Mark(done)).is_ok() {
            let _ = written.recv_timeout(PATIENCE);
        }
    }
}

fn write_all(items: &Receiver<Item>, lost: &AtomicU64, write: impl Fn(&str)) {
    for item in items {
        match item {
            Item::Line(line) => write(&line),
            Item::Mark(done) => drop(done.try_send(())),
        }
        match lost.swap(0, Relaxed) {
            0 => {}
            lines => warn!(lines, "lines of the log were lost: nobody read them in time"),
        }
    }
}

#[cfg(test)]
mod tests {
    //! A reader that does not read.

    use std::sync::Mutex;

    use super::*;

    #[test]
    fn p81_a_log_that_nobody_reads_keeps_nobody_waiting() {
        let (release, blocked) = sync_channel::<()>(0);
        let (blocked, written) = (Mutex::new(blocked), Arc::new(AtomicU64::new(0)));
        let count = Arc::clone(&written);
        let writer = Writer::to(move |_| {
            let _ = blocked.lock().unwrap().recv();
            count.fetch_add(1, Relaxed);
        });
        let writer = writer.unwrap();
        for number in 0..CAPACITY + 100 {
            writer.line(number.to_string());
        }
        // One may be with the reader, the rest wait or are lost.
        assert!((99..=100).contains(&writer.lost.load(Relaxed)));
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
        let writer = Writer::to(move |line| kept.lock().unwrap().push_str(line)).unwrap();
        for number in 0..100 {
            writer.line(format!("{number} "));
        }
        writer.finish();
        assert!(written.lock().unwrap().ends_with("98 99 "));
    }
}
