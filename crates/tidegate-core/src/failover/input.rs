//! What happens to the state machine, and what tells one time from another.

use crate::store::StoreError;

/// Tells what was begun before a change of course from what was begun after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Generation(pub(super) u64);

/// A probe that is to be made now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    pub(super) generation: Generation,
    pub(super) number: u64,
}

/// What happens to the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// Time passes. Asked before every decision that is made without a store.
    Tick,
    /// Whoever makes the probes asks whether one is due.
    Poll,
    /// The store has answered a request that was sent in this generation.
    Answered(Generation),
    /// It has failed one. Each request counts at most once.
    Failed(Generation, Failure),
    /// A probe was good or bad.
    Probed(Probe, Result<(), Failure>),
    /// Counts may have been lost: another server has taken over, or one has begun anew.
    Forgot,
}

/// What kind of failure it is: only those of the store are here, by type and not by text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Not there, not in time, too busy, or not atomic.
    Backend,
    /// It does not let us.
    Refused,
    /// One counter, by its digest, is unreadable: no fault of the store, unless several are.
    Corrupt(u64),
}

// === impl Failure ===

impl Failure {
    /// What a store error is to the machine; `None` for what is no fault of the store. `counter` is
    /// the digest of the one that is unreadable.
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
    /// None that a machine is ever in: what is told with it has no bearing on anything.
    pub const NONE: Self = Self(u64::MAX);

    /// The one of this [number](Self::number).
    #[must_use]
    pub const fn of_number(number: u64) -> Self {
        Self(number)
    }

    /// Its number: greater for a later one.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0
    }
}
