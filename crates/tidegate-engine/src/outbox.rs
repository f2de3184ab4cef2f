//! Where events wait to be told.

use core::fmt;
use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::event::{Event, Observer};

/// The way to the observers.
pub(crate) enum Outbox {
    /// Through a queue, to a thread of their own.
    Queue(Queue),
    /// At once.
    Direct(Arc<dyn Fn(&Event) + Send + Sync>),
}

/// A bounded queue, and beside it what must not get lost.
pub(crate) struct Queue {
    queue: SyncSender<Item>,
    dropped: AtomicU64,
    kept: Arc<Mutex<Kept>>,
}

enum Item {
    Event(Event),
    /// There is something among what is kept.
    Kept,
    /// Everything before this has been told.
    Mark(SyncSender<()>),
}

/// What must not get lost, until it is told.
#[derive(Default)]
struct Kept {
    events: VecDeque<Event>,
    /// How many more there were than could be kept.
    more: u64,
}

/// How many events wait at most.
pub(crate) const CAPACITY: usize = 4096;
/// How many of those wait that must not get lost. Beyond that they are only counted, and the count is
/// told.
const MOST_KEPT: usize = 1024;

// === impl Outbox ===

impl Outbox {
    /// Starts the thread that tells `observers`. It ends when this is dropped and all is told.
    pub(crate) fn to(observers: Vec<Box<dyn Observer>>) -> io::Result<Self> {
        let (queue, items) = sync_channel(CAPACITY);
        let kept = Arc::new(Mutex::new(Kept::default()));
        let theirs = Arc::clone(&kept);
        thread::Builder::new()
            .name("tidegate-observers".into())
            .spawn(move || tell(observers, &items, &theirs))?;
        Ok(Self::Queue(Queue { queue, dropped: AtomicU64::new(0), kept }))
    }

    /// Tells one observer on the thread on which something happens.
    pub(crate) fn direct(observer: Arc<dyn Fn(&Event) + Send + Sync>) -> Self {
        Self::Direct(observer)
    }

    #[inline(never)]
    pub(crate) fn send(&self, event: impl FnOnce() -> Event) {
        match self {
            Self::Queue(queue) => {
                if queue.queue.try_send(Item::Event(event())).is_err() {
                    queue.dropped.fetch_add(1, Ordering::Relaxed);
                }
            }
            Self::Direct(observer) => observer(&event()),
        }
    }

    /// Sends what must not get lost, however full the queue is; in the order it happened.
    pub(crate) fn send_surely(&self, event: Event) {
        match self {
            Self::Queue(queue) => {
                lock(&queue.kept).push(event);
                // If there is no place for this, somebody before it will look.
                let _ = queue.queue.try_send(Item::Kept);
            }
            Self::Direct(observer) => observer(&event),
        }
    }

    /// Waits until what happened before has been told, but no longer than this.
    pub(crate) fn finish(&self, within: Duration) -> bool {
        let Self::Queue(queue) = self else { return true };
        let (done, told) = sync_channel(1);
        queue.queue.try_send(Item::Mark(done)).is_ok() && told.recv_timeout(within).is_ok()
    }

    pub(crate) fn dropped(&self) -> u64 {
        match self {
            Self::Queue(queue) => queue.dropped.load(Ordering::Relaxed),
            Self::Direct(_) => 0,
        }
    }
}

impl fmt::Debug for Outbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outbox").field("dropped", &self.dropped()).finish_non_exhaustive()
    }
}

// === impl Kept ===

impl Kept {
    fn push(&mut self, event: Event) {
        if self.events.len() < MOST_KEPT {
            self.events.push_back(event);
        } else {
            self.more += 1;
        }
    }

    fn take(&mut self) -> Option<Event> {
        let more = match self.events.pop_front() {
            Some(event) => return Some(event),
            None => core::mem::take(&mut self.more),
        };
        (more > 0).then_some(Event::Coalesced { count: more })
    }
}

fn lock(kept: &Mutex<Kept>) -> std::sync::MutexGuard<'_, Kept> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

fn tell(mut observers: Vec<Box<dyn Observer>>, items: &Receiver<Item>, kept: &Mutex<Kept>) {
    for item in items {
        // What must not get lost is told first: it may have waited for a place in the queue.
        loop {
            // The lock is not held while somebody is told.
            let Some(event) = lock(kept).take() else { break };
            tell_all(&mut observers, &event);
        }
        match item {
            Item::Event(event) => tell_all(&mut observers, &event),
            Item::Kept => {}
            Item::Mark(done) => {
                let _ = done.try_send(());
            }
        }
    }
}

fn tell_all(observers: &mut Vec<Box<dyn Observer>>, event: &Event) {
    let mut place = 0;
    while let Some(observer) = observers.get_mut(place) {
        match catch_unwind(AssertUnwindSafe(|| observer.observe(event))) {
            Ok(()) => place += 1,
            Err(panicked) => {
                core::mem::forget(panicked);
                dismiss(observers.remove(place));
            }
        }
    }
}

/// Drops an observer that has panicked; its end may panic too, and so may what it panics with.
fn dismiss(observer: Box<dyn Observer>) {
    if let Err(panicked) = catch_unwind(AssertUnwindSafe(|| drop(observer))) {
        core::mem::forget(panicked);
    }
}
