//! What happened, for whoever wants to know.
//!
//! Whoever is told must not be able to change what they are told of. So events go through a bounded
//! queue to a thread of its own (`outbox.rs`): an observer that is slow fills the queue, one that
//! panics is not called again, and a decision has long been answered in either case. What does not fit
//! into the queue is dropped and counted, but for what must not get lost.

use tidegate_core::{
    Amended, Amendment, Block, Changes, Decision, Dimension, Mode, Name, Settled, Signal,
    StoreError, Timestamp, Verdict,
};

use crate::undecided::DecideError;

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
    /// The store has failed a request or a probe.
    StoreFailed {
        /// The policy.
        policy: Name,
        /// How.
        error: StoreError,
    },
    /// How a policy stands with its store has changed, or somebody has to know that it has not.
    Failover {
        /// The policy.
        policy: Name,
        /// What has happened.
        signal: Signal,
    },
    /// A counter could not be read, and was made anew.
    Recreated {
        /// The policy.
        policy: Name,
        /// The limit.
        limit: Name,
    },
    /// Requests of a policy are being shed: more came at once than the store could be asked about in
    /// time. Told at most once a second for each policy.
    Overloaded {
        /// The policy.
        policy: Name,
        /// How many were shed since the start.
        shed: u64,
    },
    /// More happened of what must not get lost than could be kept until it was told.
    Coalesced {
        /// How many events.
        count: u64,
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

#[cfg(test)]
mod tests;
