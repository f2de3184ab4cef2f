//! What happened, for whoever wants to know.
//!
//! Whoever is told must not be able to change what they are told of. So events go through a bounded
//! queue to a thread of its own: an observer that is slow fills the queue, one that panics is not
//! called again, and a decision has long been answered in either case. What does not fit into the
//! queue is dropped and counted.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use tidegate_core::{
    Amended, Amendment, Block, Changes, Decision, Dimension, Mode, Name, Settled, Timestamp,
    Verdict,
};

use crate::engine::DecideError;

/// Everything there is to be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A request was decided.
    Decided {
        /// The policy.
        policy: Name,
        /// The limit that decided.
        limit: Option<Name>,
        /// What came of it.
        verdict: Verdict,
        /// Under which circumstances.
        mode: Mode,
        /// The block that kept it out, if that is what did.
        block: Option<Block>,
        /// When, by the clock of the store.
        at: Timestamp,
    },
    /// A block began, or a short one became a long one.
    Blocked {
        /// The policy.
        policy: Name,
        /// The limit whose counter is blocked.
        limit: Name,
        /// What too many distinct values of were seen: accounts tried from one address, or addresses
        /// that tried one account.
        distinct: Option<Dimension>,
        /// The block.
        block: Block,
        /// When, by the clock of the store.
        at: Timestamp,
    },
    /// An operator has blocked, unblocked or reset a counter.
    Amended {
        /// The policy, unless the counter was named from the list of blocks.
        policy: Option<Name>,
        /// The limit, likewise.
        limit: Option<Name>,
        /// What was asked for.
        amendment: Amendment,
        /// What came of it.
        amended: Amended,
    },
    /// A request could not be decided.
    Failed {
        /// The policy.
        policy: Name,
        /// Why.
        error: DecideError,
    },
    /// A ticket was settled.
    Settled {
        /// What was moved.
        settled: Settled,
    },
    /// Other servers than before keep the counters: a restart or a failover, so that counts may have
    /// been lost.
    StoreChanged {
        /// How often, since the start.
        changes: Changes,
    },
    /// Other policies are in force.
    Reloaded {
        /// How many.
        policies: usize,
    },
    /// Other policies were refused; those in force stay.
    ReloadRefused {
        /// What is wrong with them.
        reason: String,
    },
}

/// Somebody who is told what happens: metrics, a log, an audit, the host.
///
/// Runs on a thread of its own; nothing waits for it. If it panics, it is told nothing more.
pub trait Observer: Send {
    /// Takes note of an event.
    fn observe(&mut self, event: &Event);
}

/// Where events wait to be told.
#[derive(Debug)]
pub(crate) struct Outbox {
    queue: SyncSender<Item>,
    dropped: AtomicU64,
}

#[derive(Debug)]
enum Item {
    Event(Event),
    /// Everything before this has been told.
    Mark(SyncSender<()>),
}

/// How many events wait at most.
const CAPACITY: usize = 4096;

// === impl Event ===

impl Event {
    pub(crate) fn decided(decision: &Decision<'_>) -> Self {
        Self::Decided {
            policy: decision.policy().name().clone(),
            limit: decision.binding().map(|binding| binding.limit.name().clone()),
            verdict: decision.verdict(),
            mode: decision.mode(),
            block: decision.block(),
            at: decision.decided_at(),
        }
    }
}

impl<F: FnMut(&Event) + Send> Observer for F {
    fn observe(&mut self, event: &Event) {
        self(event);
    }
}

// === impl Outbox ===

impl Outbox {
    /// Starts the thread that tells `observers`. It ends when this is dropped and all is told.
    pub(crate) fn to(observers: Vec<Box<dyn Observer>>) -> io::Result<Self> {
        let (queue, events) = sync_channel(CAPACITY);
        thread::Builder::new()
            .name("tidegate-observers".into())
            .spawn(move || tell(observers, &events))?;
        Ok(Self { queue, dropped: AtomicU64::new(0) })
    }

    #[inline(never)]
    pub(crate) fn send(&self, event: impl FnOnce() -> Event) {
        if self.queue.try_send(Item::Event(event())).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until what happened before has been told, but no longer than this.
    pub(crate) fn finish(&self, within: Duration) -> bool {
        let (done, told) = sync_channel(1);
        self.queue.try_send(Item::Mark(done)).is_ok() && told.recv_timeout(within).is_ok()
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

fn tell(mut observers: Vec<Box<dyn Observer>>, items: &Receiver<Item>) {
    for item in items {
        let event = match item {
            Item::Event(event) => event,
            Item::Mark(done) => {
                let _ = done.try_send(());
                continue;
            }
        };
        let mut place = 0;
        while let Some(observer) = observers.get_mut(place) {
            match catch_unwind(AssertUnwindSafe(|| observer.observe(&event))) {
                Ok(()) => place += 1,
                Err(panicked) => {
                    core::mem::forget(panicked);
                    dismiss(observers.remove(place));
                }
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

#[cfg(test)]
mod tests;
