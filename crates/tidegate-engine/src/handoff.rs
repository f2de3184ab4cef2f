//! A bounded queue to a thread of its own, for work that nobody may wait for.
//!
//! Events for observers, lines of the log and audit records all go the same way: the thread that has
//! something to say must not wait for the one that listens, or a slow reader would stop the threads
//! that decide. So an item is handed in without waiting, and an item that finds the queue full is
//! dropped and counted. Items that must not get lost wait elsewhere, and the queue carries only the
//! news that there are some.
//!
//! The thread ends once the [`Handoff`] is dropped and all items before that are taken.

use core::fmt;
use core::time::Duration;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;

/// The end of the queue at which items are handed in.
pub struct Handoff<T> {
    queue: SyncSender<Item<T>>,
    dropped: Arc<AtomicU64>,
}

/// The end of the queue at which its thread takes items.
#[derive(Debug)]
pub struct Items<T> {
    queue: Receiver<Item<T>>,
    dropped: Arc<AtomicU64>,
}

/// What the thread of a queue takes from it.
#[derive(Debug)]
pub enum Item<T> {
    /// An item that was [sent](Handoff::send).
    One(T),
    /// A mark behind all items that were handed in before [`Handoff::finish`] was called.
    Mark(Mark),
}

/// A caller of [`Handoff::finish`], who waits for an answer.
#[derive(Debug)]
pub struct Mark(SyncSender<bool>);

// === impl Handoff ===

impl<T: Send + 'static> Handoff<T> {
    /// Starts a thread that runs `work` on the items of a queue of at most `capacity`.
    ///
    /// # Errors
    ///
    /// If the thread cannot be started.
    pub fn start(
        name: &str,
        capacity: usize,
        work: impl FnOnce(&Items<T>) + Send + 'static,
    ) -> io::Result<Self> {
        let (queue, taken) = sync_channel(capacity);
        let dropped = Arc::new(AtomicU64::new(0));
        let items = Items { queue: taken, dropped: Arc::clone(&dropped) };
        thread::Builder::new().name(name.into()).spawn(move || work(&items))?;
        Ok(Self { queue, dropped })
    }

    /// Hands an item in without waiting. If the queue is full, the item is dropped and counted.
    pub fn send(&self, item: T) {
        if !self.offer(item) {
            self.dropped.fetch_add(1, Relaxed);
        }
    }

    /// Hands an item in if there is room, and returns whether there was. If not, the item is dropped
    /// and not counted.
    pub fn offer(&self, item: T) -> bool {
        self.queue.try_send(Item::One(item)).is_ok()
    }

    /// Waits until the thread has answered a mark behind all items handed in so far, but at most
    /// `within`. Returns whether the thread was done with them; if the queue is full, it is not.
    #[must_use]
    pub fn finish(&self, within: Duration) -> bool {
        let (mark, reached) = sync_channel(1);
        self.queue.try_send(Item::Mark(Mark(mark))).is_ok()
            && reached.recv_timeout(within).unwrap_or(false)
    }

    /// How many items were dropped because the queue was full, since they were last
    /// [taken note of](Items::take_dropped).
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Relaxed)
    }
}

impl<T> Clone for Handoff<T> {
    fn clone(&self) -> Self {
        Self { queue: self.queue.clone(), dropped: Arc::clone(&self.dropped) }
    }
}

impl<T> fmt::Debug for Handoff<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handoff").field("dropped", &self.dropped).finish_non_exhaustive()
    }
}

// === impl Items ===

impl<T> Items<T> {
    /// Waits for the next item; `None` if there will be no more.
    #[must_use]
    pub fn next(&self) -> Option<Item<T>> {
        self.queue.recv().ok()
    }

    /// Waits for the next item, but at most `within`.
    ///
    /// # Errors
    ///
    /// If none came in time, or if there will be no more.
    pub fn next_within(&self, within: Duration) -> Result<Item<T>, RecvTimeoutError> {
        self.queue.recv_timeout(within)
    }

    /// How many items were dropped since the last call.
    #[must_use]
    pub fn take_dropped(&self) -> u64 {
        self.dropped.swap(0, Relaxed)
    }
}

// === impl Mark ===

impl Mark {
    /// Answers the caller: whether all items before the mark are done with.
    pub fn reached(self, done: bool) {
        // The caller may have given up.
        let _ = self.0.try_send(done);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn nobody_waits_for_a_full_queue_and_what_is_dropped_is_counted() {
        let (release, blocked) = channel::<()>();
        let work = move |items: &Items<u32>| {
            let _ = blocked.recv();
            while items.next().is_some() {}
        };
        let handoff = Handoff::start("test", 2, work).unwrap();
        (0..5).for_each(|item| handoff.send(item));
        assert_eq!(handoff.dropped(), 3);
        assert!(!handoff.offer(5), "there is no room");
        assert_eq!(handoff.dropped(), 3, "an offer is not counted");
        assert!(!handoff.finish(LONG), "there is no room for a mark");
        drop(release);
    }

    #[test]
    fn a_mark_is_reached_behind_all_items_and_the_thread_ends_with_the_queue() {
        let (told, taken) = channel();
        let work = move |items: &Items<u32>| {
            while let Some(item) = items.next() {
                match item {
                    Item::One(item) => told.send(item).unwrap(),
                    Item::Mark(mark) => mark.reached(true),
                }
            }
        };
        let handoff = Handoff::start("test", 8, work).unwrap();
        (0..5).for_each(|item| handoff.send(item));
        assert!(handoff.finish(LONG));
        assert_eq!(taken.try_iter().collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
        drop(handoff);
        assert!(taken.recv_timeout(LONG).is_err(), "the thread has dropped its end");
    }
}
