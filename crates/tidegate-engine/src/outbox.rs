//! The queue in which events wait for the observers.

use core::fmt;
use core::time::Duration;
use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use crate::event::{Event, Observer};
use crate::handoff::{Handoff, Item, Items};

/// The way of events to the observers.
pub(crate) enum Outbox {
    /// Through a bounded queue, to the observers' own thread.
    Queue {
        /// The events; `None` tells the thread that one was added to those that are kept.
        events: Handoff<Option<Event>>,
        kept: Arc<Mutex<KeptEvents>>,
    },
    /// To one observer at once, on the thread of the event.
    Direct(Arc<dyn Fn(&Event) + Send + Sync>),
}

/// The events that must not get lost, until they are reported.
#[derive(Default)]
pub(crate) struct KeptEvents {
    events: VecDeque<Event>,
    /// How many further events were only counted, because [`MOST_KEPT`] were waiting.
    more: u64,
}

/// The most events that wait in the queue.
pub(crate) const CAPACITY: usize = 4096;
/// The most events in [`KeptEvents`]. Further ones are only counted, and the count is reported
/// ([`Event::Coalesced`]).
const MOST_KEPT: usize = 1024;

// === impl Outbox ===

impl Outbox {
    /// Starts the thread that calls `observers`. It ends once this is dropped and all events are
    /// reported.
    pub(crate) fn to(observers: Vec<Box<dyn Observer>>) -> io::Result<Self> {
        let kept = Arc::new(Mutex::new(KeptEvents::default()));
        let theirs = Arc::clone(&kept);
        let work = move |items: &Items<_>| tell(observers, items, &theirs);
        let events = Handoff::start("tidegate-observers", CAPACITY, work)?;
        Ok(Self::Queue { events, kept })
    }

    #[inline(never)]
    pub(crate) fn send(&self, event: impl FnOnce() -> Event) {
        match self {
            Self::Queue { events, .. } => events.send(Some(event())),
            Self::Direct(observer) => observer(&event()),
        }
    }

    /// Sends an event that must not get lost, however full the queue is. Such events are reported
    /// in the order in which they happened.
    pub(crate) fn send_surely(&self, event: Event) {
        match self {
            Self::Queue { events, kept } => {
                lock(kept).push(event);
                // If the queue is full, an item that is in it makes the thread look at what is
                // kept.
                events.offer(None);
            }
            Self::Direct(observer) => observer(&event),
        }
    }

    /// Waits until all events so far have been reported, but at most `within`. Returns whether they
    /// have.
    pub(crate) fn finish(&self, within: Duration) -> bool {
        match self {
            Self::Queue { events, .. } => events.finish(within),
            Self::Direct(_) => true,
        }
    }

    pub(crate) fn dropped(&self) -> u64 {
        match self {
            Self::Queue { events, .. } => events.dropped(),
            Self::Direct(_) => 0,
        }
    }
}

impl fmt::Debug for Outbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outbox").field("dropped", &self.dropped()).finish_non_exhaustive()
    }
}

// === impl KeptEvents ===

impl KeptEvents {
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

fn lock(kept: &Mutex<KeptEvents>) -> std::sync::MutexGuard<'_, KeptEvents> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

fn tell(
    mut observers: Vec<Box<dyn Observer>>,
    items: &Items<Option<Event>>,
    kept: &Mutex<KeptEvents>,
) {
    while let Some(item) = items.next() {
        // Events that must not get lost come first: their own item may have found no place in the
        // queue.
        loop {
            // The lock is not held while an observer is called.
            let Some(event) = lock(kept).take() else { break };
            tell_all(&mut observers, &event);
        }
        match item {
            Item::One(Some(event)) => tell_all(&mut observers, &event),
            Item::One(None) => {}
            Item::Mark(mark) => mark.reached(true),
        }
    }
}

fn tell_all(observers: &mut Vec<Box<dyn Observer>>, event: &Event) {
    let mut place = 0;
    while let Some(observer) = observers.get_mut(place) {
        match catch_unwind(AssertUnwindSafe(|| observer.observe(event))) {
            Ok(()) => place += 1,
            // The drop of an observer that has panicked may panic too, and so may that of the
            // panic's payload.
            Err(panicked) => {
                core::mem::forget(panicked);
                let observer = observers.remove(place);
                let dropped = catch_unwind(AssertUnwindSafe(|| drop(observer)));
                dropped.unwrap_or_else(core::mem::forget);
            }
        }
    }
}
