//! The inputs of the failover state machine, and the generations that tell old results from new ones.

use crate::store::StoreError;

/// A number that tells requests and probes begun before a change of course from those begun after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Generation(pub(super) u64);

/// A probe of the store that is to be made now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    pub(super) generation: Generation,
    pub(super) number: u64,
}

/// An event that the state machine takes note of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// Time has passed. Given before every decision that is made without a store.
    Tick,
    /// The task that makes the probes asks whether one is due.
    Poll,
    /// The store has answered a request that was sent in this generation.
    Answered(Generation),
    /// The store has failed a request that was sent in this generation. Each request counts at most
    /// once.
    Failed(Generation, Failure),
    /// The result of a probe: good, or the failure that it met.
    Probed(Probe, Result<(), Failure>),
    /// The store may have lost counts: another server has taken over, or one has begun anew.
    Forgot,
}

/// The kind of a store failure, told apart by type and not by text. Errors that are no fault of the
/// store have none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The store was not there, not in time, too busy, or not atomic.
    Backend,
    /// The store refuses us, because of permissions or configuration.
    Refused,
    /// One counter, given by its digest, is unreadable: no fault of the store, unless several are.
    Corrupt(u64),
}

// === impl Failure ===

impl Failure {
    /// The kind of failure that a store error is; `None` for an error that is no fault of the store.
    /// `counter` is the digest of the counter that is unreadable.
    #[must_use]
    pub const fn of(error: &StoreError, counter: u64) -> Option<Self> {
        match error {
            StoreError::Unavailable | StoreError::Timeout => Some(Self::Backend),
            StoreError::Refused => Some(Self::Refused),
            StoreError::Corrupt { .. } => Some(Self::Corrupt(counter)),
            StoreError::Contended | StoreError::Version { .. } | StoreError::Stale { .. } => None,
        }
    }
}

// === impl Generation ===

impl Generation {
    /// A generation that no machine is ever in: what is reported with it has no effect.
    pub const NONE: Self = Self(u64::MAX);

    /// The generation with this [number](Self::number).
    #[must_use]
    pub const fn of_number(number: u64) -> Self {
        Self(number)
    }

    /// The number of this generation; a later generation has a greater one.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0
    }
}
