//! The queue in which events wait for the observers.

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

/// The way of events to the observers.
pub(crate) enum Outbox {
    /// Through a queue, to the observers' own thread.
    Queue(Queue),
    /// To one observer at once, on the thread of the event.
    Direct(Arc<dyn Fn(&Event) + Send + Sync>),
}

/// A bounded queue, and beside it the events that must not get lost.
pub(crate) struct Queue {
    queue: SyncSender<Item>,
    dropped: AtomicU64,
    kept: Arc<Mutex<Kept>>,
}

enum Item {
    Event(Event),
    /// Tells the thread that an event was added to [`Kept`].
    Kept,
    /// A mark that is answered once everything before it has been reported.
    Mark(SyncSender<()>),
}

/// The events that must not get lost, until they are reported.
#[derive(Default)]
struct Kept {
    events: VecDeque<Event>,
    /// How many further events were only counted, because [`MOST_KEPT`] were waiting.
    more: u64,
}

/// The most events that wait in the queue.
pub(crate) const CAPACITY: usize = 4096;
/// The most events in [`Kept`]. Further ones are only counted, and the count is reported
/// ([`Event::Coalesced`]).
const MOST_KEPT: usize = 1024;

// === impl Outbox ===

impl Outbox {
    /// Starts the thread that calls `observers`. It ends once this is dropped and all events are
    /// reported.
    pub(crate) fn to(observers: Vec<Box<dyn Observer>>) -> io::Result<Self> {
        let (queue, items) = sync_channel(CAPACITY);
        let kept = Arc::new(Mutex::new(Kept::default()));
        let theirs = Arc::clone(&kept);
        thread::Builder::new()
            .name("tidegate-observers".into())
            .spawn(move || tell(observers, &items, &theirs))?;
        Ok(Self::Queue(Queue { queue, dropped: AtomicU64::new(0), kept }))
    }

    /// Calls one observer at once, on the thread of each event.
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

    /// Sends an event that must not get lost, however full the queue is. Such events are reported
    /// in the order in which they happened.
    pub(crate) fn send_surely(&self, event: Event) {
        match self {
            Self::Queue(queue) => {
                lock(&queue.kept).push(event);
                // If the queue is full, an item that is in it makes the thread look at what is
                // kept.
                let _ = queue.queue.try_send(Item::Kept);
            }
            Self::Direct(observer) => observer(&event),
        }
    }

    /// Waits until all events so far have been reported, but at most `within`. Returns whether they
    /// have.
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
        // Events that must not get lost come first: their own item may have found no place in the
        // queue.
        loop {
            // The lock is not held while an observer is called.
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

/// Drops an observer that has panicked. Its drop may panic too, and so may that of the panic's
/// payload.
fn dismiss(observer: Box<dyn Observer>) {
    if let Err(panicked) = catch_unwind(AssertUnwindSafe(|| drop(observer))) {
        core::mem::forget(panicked);
    }
}
