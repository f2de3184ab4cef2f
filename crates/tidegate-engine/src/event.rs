//! Events: what happened, for observers.
//!
//! An observer must not be able to affect what it observes. So events go through a bounded queue to
//! a thread of their own (`outbox.rs`): a slow observer fills the queue, one that panics is not
//! called again, and in either case the decision has long been answered. Events that do not fit
//! into the queue are dropped and counted, except those that must not get lost.

use tidegate_core::{
    Amended, Amendment, Block, Changes, Decision, Dimension, Mode, Name, Settled, Signal,
    StoreError, Timestamp, Verdict,
};

use crate::undecided::DecideError;

/// Everything that observers are told of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A request was decided.
    Decided {
        /// The policy.
        policy: Name,
        /// The limit that decided.
        limit: Option<Name>,
        /// The verdict on the request.
        verdict: Verdict,
        /// The mode of the policy: whether the store answered, or what decided instead.
        mode: Mode,
        /// The block that refused the request, if a block did.
        block: Option<Block>,
        /// When the request was decided, by the clock of the store.
        at: Timestamp,
    },
    /// A block began, or a short one became a long one.
    Blocked {
        /// The policy.
        policy: Name,
        /// The limit whose counter is blocked.
        limit: Name,
        /// The dimension of which too many distinct values were seen, such as accounts tried from
        /// one address or addresses that tried one account.
        distinct: Option<Dimension>,
        /// The block.
        block: Block,
        /// When the block began, by the clock of the store.
        at: Timestamp,
    },
    /// An operator has blocked, unblocked or reset a counter.
    Amended {
        /// The policy, unless the counter was named from the list of blocks.
        policy: Option<Name>,
        /// The limit, unless the counter was named from the list of blocks.
        limit: Option<Name>,
        /// What the operator asked for.
        amendment: Amendment,
        /// What became of the counter.
        amended: Amended,
    },
    /// The store has failed a request or a probe.
    StoreFailed {
        /// The policy.
        policy: Name,
        /// How the store failed.
        error: StoreError,
    },
    /// How a policy stands with its store has changed, or has not changed for so long that somebody
    /// has to know.
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
    /// time. Reported at most once a second for each policy.
    Overloaded {
        /// The policy.
        policy: Name,
        /// How many requests of the policy were shed since the start.
        shed: u64,
    },
    /// More events that must not get lost happened than could be kept until they were reported.
    Coalesced {
        /// How many events were only counted.
        count: u64,
    },
    /// A request could not be decided.
    Failed {
        /// The policy.
        policy: Name,
        /// Why the request could not be decided.
        error: DecideError,
    },
    /// A ticket was settled.
    Settled {
        /// The units that were given back and taken in addition.
        settled: Settled,
    },
    /// The servers that keep the counters have changed, by a restart or a failover, so that counts
    /// may have been lost.
    StoreChanged {
        /// How many restarts and failovers there were since the start.
        changes: Changes,
    },
    /// Other policies are in force.
    Reloaded {
        /// How many policies are in force now.
        policies: usize,
    },
    /// Other policies were refused; those in force stay.
    ReloadRefused {
        /// What is wrong with the policies that were refused.
        reason: String,
    },
}

/// A receiver of events: metrics, a log, an audit trail, the host.
///
/// Runs on a thread of its own; nothing waits for it. If it panics, it is not called again.
pub trait Observer: Send {
    /// Receives an event.
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
