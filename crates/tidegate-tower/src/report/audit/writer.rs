//! The thread that writes audit records.
//!
//! The first record is written at once. Then the writer lingers for a second, in which equal records
//! become one, so a flood costs a bounded number of lines however fast it is; after a failure the same
//! second is the pause before it is tried again. A caller that wants everything written does not wait
//! for the second.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tidegate_engine::handoff::{Handoff, Item, Items};

use super::pending::{AuditEvent, PendingRecords, WaitingRecord};
use super::record::AuditRecord;
use super::sink::Sink;
use crate::report::escape::escaped;

/// The handle to the thread that writes. When it is dropped, the thread finishes.
pub(super) struct Writer {
    shared: Arc<Shared>,
    /// Tells the thread that there are records where there were none.
    news: Handoff<()>,
}

struct Shared {
    pending: Mutex<PendingRecords>,
    failures: AtomicU64,
}

/// How long equal records wait for one another.
const LINGER: Duration = Duration::from_secs(1);
/// How long dropping the last audit waits for the records that are left to be written.
const PARTING: Duration = Duration::from_secs(1);
/// The most threads that wait for [`Writer::finish`] at once, with one place for news.
const MOST_WAITING: usize = 1_024;

// === impl Writer ===

impl Writer {
    pub(super) fn start(sink: Box<dyn Sink>, most: usize) -> io::Result<Self> {
        let (pending, failures) = (Mutex::new(PendingRecords::new(most)), AtomicU64::new(0));
        let shared = Arc::new(Shared { pending, failures });
        let theirs = Arc::clone(&shared);
        let work = move |news: &Items<()>| write_all(&theirs, sink, news);
        Ok(Self { shared, news: Handoff::start("tidegate-audit", MOST_WAITING, work)? })
    }

    /// Leaves an event for the thread to write.
    pub(super) fn add(&self, event: AuditEvent, describe: impl FnOnce() -> AuditRecord) {
        let mut pending = self.shared.lock();
        let was_empty = pending.is_empty();
        pending.add(event, describe);
        drop(pending);
        if was_empty {
            // If there is no room, the marks in the queue make the thread look.
            self.news.offer(());
        }
    }

    pub(super) fn finish(&self, within: Duration) -> bool {
        self.news.finish(within)
    }

    pub(super) fn failures(&self) -> u64 {
        self.shared.failures.load(Relaxed)
    }

    pub(super) fn waiting(&self) -> usize {
        self.shared.lock().len()
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // Records that cannot be written by then are lost with the process.
        let _ = self.finish(PARTING);
    }
}

// === impl Shared ===

impl Shared {
    fn lock(&self) -> MutexGuard<'_, PendingRecords> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes all records that wait.
    fn write(&self, sink: &mut dyn Sink) -> io::Result<()> {
        let batch = self.lock().take();
        let (unwritten, result) = write(sink, batch);
        if !unwritten.is_empty() {
            self.lock().put_back(unwritten);
        }
        result
    }

    /// Counts and logs a failure. Returns whether there was none.
    fn note(&self, result: io::Result<()>) -> bool {
        let Err(error) = result else { return true };
        self.failures.fetch_add(1, Relaxed);
        let error = error.to_string();
        let error = &*escaped(&error);
        tracing::error!(error, "the audit could not be written; it is kept and tried again");
        false
    }
}

fn write_all(shared: &Shared, mut sink: Box<dyn Sink>, news: &Items<()>) {
    let mut next = news.next();
    while let Some(item) = next {
        let written = shared.write(&mut *sink);
        match item {
            Item::One(()) => {
                shared.note(written);
            }
            Item::Mark(mark) => {
                let flushed = written.and_then(|()| caught(|| sink.flush()));
                mark.reached(shared.note(flushed));
            }
        }
        next = linger(shared, news);
    }
}

/// Waits for more records, and then for [`LINGER`], in which equal ones become one; or until a caller
/// wants everything written.
fn linger(shared: &Shared, news: &Items<()>) -> Option<Item<()>> {
    loop {
        match news.next_within(LINGER) {
            Ok(Item::One(())) => {}
            Ok(mark @ Item::Mark(_)) => return Some(mark),
            Err(RecvTimeoutError::Disconnected) => return None,
            // Also what could not be written before: that is no news.
            Err(RecvTimeoutError::Timeout) if !shared.lock().is_empty() => {
                return Some(Item::One(()));
            }
            Err(RecvTimeoutError::Timeout) => return news.next(),
        }
    }
}

/// Writes records until one fails. Returns that one and those after it.
fn write(sink: &mut dyn Sink, batch: Vec<WaitingRecord>) -> (Vec<WaitingRecord>, io::Result<()>) {
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
