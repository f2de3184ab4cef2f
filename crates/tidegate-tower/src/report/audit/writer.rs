//! The thread that writes audit records.
//!
//! The first record is written at once. Then the writer lingers for a second, in which equal records
//! become one, so a flood costs a bounded number of lines however fast it is; after a failure the same
//! second is the pause before it is tried again. A caller that wants everything written does not wait
//! for the second.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::pending::{Event, Pending, Waiting};
use super::record::Record;
use super::sink::Sink;
use crate::report::escape::escaped;

/// The handle to the thread that writes. When it is dropped, the thread finishes.
pub(super) struct Writer(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    failures: AtomicU64,
}

struct State {
    pending: Pending,
    /// The callers that wait until everything is written; at most one for each waiting thread.
    marks: Vec<SyncSender<bool>>,
    /// Whether no more events come.
    closing: bool,
}

/// The work that the thread has to do next.
struct Round {
    batch: Vec<Waiting>,
    marks: Vec<SyncSender<bool>>,
    closing: bool,
}

/// How long equal records wait for one another.
const LINGER: Duration = Duration::from_secs(1);
/// How long dropping the last audit waits for the records that are left to be written.
const PARTING: Duration = Duration::from_secs(1);

// === impl Writer ===

impl Writer {
    pub(super) fn start(mut sink: Box<dyn Sink>, most: usize) -> io::Result<Self> {
        let state = State { pending: Pending::new(most), marks: Vec::new(), closing: false };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            changed: Condvar::new(),
            failures: AtomicU64::new(0),
        });
        let theirs = Arc::clone(&shared);
        thread::Builder::new()
            .name("tidegate-audit".into())
            .spawn(move || write_all(&theirs, &mut *sink))?;
        Ok(Self(shared))
    }

    /// Leaves an event for the thread to write.
    pub(super) fn add(&self, event: Event, describe: impl FnOnce() -> Record) {
        let mut state = self.0.lock();
        let was_empty = state.pending.is_empty();
        state.pending.add(event, describe);
        drop(state);
        if was_empty {
            self.0.changed.notify_one();
        }
    }

    pub(super) fn finish(&self, within: Duration) -> bool {
        self.mark(false, within)
    }

    fn mark(&self, closing: bool, within: Duration) -> bool {
        let (mark, done) = sync_channel(1);
        let mut state = self.0.lock();
        state.marks.push(mark);
        state.closing = closing;
        drop(state);
        self.0.changed.notify_one();
        done.recv_timeout(within).unwrap_or(false)
    }

    pub(super) fn failures(&self) -> u64 {
        self.0.failures.load(Relaxed)
    }

    pub(super) fn waiting(&self) -> usize {
        self.0.lock().pending.len()
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.mark(true, PARTING);
    }
}

// === impl Shared ===

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for work; if `lingers`, it waits [`LINGER`] first, unless something is urgent.
    fn next(&self, lingers: bool) -> Round {
        let mut state = self.lock();
        if lingers {
            let idle = |state: &mut State| !state.is_urgent();
            let waited = self.changed.wait_timeout_while(state, LINGER, idle);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        let idle = |state: &mut State| !state.is_urgent() && state.pending.is_empty();
        state = self.changed.wait_while(state, idle).unwrap_or_else(PoisonError::into_inner);
        Round {
            batch: state.pending.take(),
            marks: core::mem::take(&mut state.marks),
            closing: state.closing,
        }
    }
}

// === impl State ===

impl State {
    const fn is_urgent(&self) -> bool {
        self.closing || !self.marks.is_empty()
    }
}

fn write_all(shared: &Shared, sink: &mut dyn Sink) {
    let mut lingers = false;
    loop {
        let Round { batch, marks, closing } = shared.next(lingers);
        let (unwritten, mut result) = write(sink, batch);
        if !unwritten.is_empty() {
            shared.lock().pending.put_back(unwritten);
        }
        if result.is_ok() && (closing || !marks.is_empty()) {
            result = caught(|| sink.flush());
        }
        if let Err(error) = &result {
            shared.failures.fetch_add(1, Relaxed);
            let error = error.to_string();
            let error = &*escaped(&error);
            tracing::error!(error, "the audit could not be written; it is kept and tried again");
        }
        for mark in marks {
            // The caller that waited may have given up.
            let _ = mark.try_send(result.is_ok());
        }
        if closing {
            return;
        }
        lingers = true;
    }
}

/// Writes records until one fails. Returns that one and those after it.
fn write(sink: &mut dyn Sink, batch: Vec<Waiting>) -> (Vec<Waiting>, io::Result<()>) {
    let mut left = batch.into_iter();
    while let Some(next) = left.as_slice().first() {
        if let Err(error) = caught(|| sink.append(&next.1)) {
            return (left.collect(), Err(error));
        }
        left.next();
    }
    (Vec::new(), Ok(()))
}

/// Calls the host's own sink. A panic becomes an error, so that it does not end the audit.
fn caught(act: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    catch_unwind(AssertUnwindSafe(act)).unwrap_or_else(|panicked| {
        // The payload of the panic may itself panic when it is dropped.
        core::mem::forget(panicked);
        Err(io::Error::other("the sink panicked"))
    })
}
