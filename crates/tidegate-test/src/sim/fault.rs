//! How the store fails, and which operations it fails.

use tidegate_core::StoreError;

use super::rng::mix;
use super::trace::{OpKind, Truth};

/// What is wrong with the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What happens to the operations that the fault concerns.
    pub way: Way,
    /// The operations that the fault concerns.
    pub reach: Reach,
    /// Microseconds for which the fault is present and absent, in turns; zero and zero for always
    /// present.
    pub turns: (u64, u64),
}

/// What the store does with an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The operation works.
    Works,
    /// The operation works, just in time.
    Slow,
    /// The operation is refused a connection.
    Unavailable,
    /// The operation is not answered in time, and was not done.
    Stalls,
    /// The operation is not answered in time, but was done all the same.
    Lies,
    /// The operation works if it only reads, and fails if it writes.
    ReadOnly,
    /// The operation is not permitted.
    Refused,
    /// The operation collides with too many others.
    Contended,
    /// The operation is unavailable, stalled, slow or contended by chance, or works.
    Mixed,
}

/// The operations that a fault concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The fault concerns all operations.
    All,
    /// The fault concerns all operations but probes, which work.
    Requests,
    /// The fault concerns only probes; requests are served.
    Probes,
    /// The fault concerns only amendments; requests are served, unless a counter has to be created
    /// anew.
    Amends,
}

/// What happens to one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fate {
    /// Microseconds until the operation is answered.
    pub(super) after: u64,
    /// How the operation fails, or `None` if it is done.
    pub(super) failure: Option<OperationFailure>,
}

/// How an operation fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OperationFailure {
    Unavailable,
    /// The operation was not answered in time; whether it was done.
    Timeout(bool),
    Refused,
    Contended,
}

// === impl Fault ===

impl Fault {
    /// No fault.
    pub const NONE: Self = Self { way: Way::Works, reach: Reach::All, turns: (0, 0) };

    /// A fault that concerns all operations, all the time.
    #[must_use]
    pub const fn of(way: Way) -> Self {
        Self { way, ..Self::NONE }
    }

    /// The state of the store under this fault, as an observer would judge who sees everything.
    #[must_use]
    pub const fn truth(&self) -> Truth {
        match (self.way, self.reach, self.turns) {
            (Way::Works | Way::Slow, _, _) => Truth::Good,
            (Way::Mixed, _, _) => Truth::Odd,
            (_, Reach::All, (0, 0)) => Truth::Bad,
            _ => Truth::Odd,
        }
    }

    /// What happens to an operation that begins `since` microseconds after the fault and must end
    /// within `within`.
    pub(super) fn fate(&self, kind: OpKind, since: u64, within: u64, chance: u64) -> Fate {
        let (down, up) = self.turns;
        let in_turn = down + up == 0 || since % (down + up) < down;
        let concerned = match self.reach {
            Reach::All => true,
            Reach::Requests => kind != OpKind::Probe,
            Reach::Probes => kind == OpKind::Probe,
            Reach::Amends => kind == OpKind::Amend,
        };
        let way = if in_turn && concerned { self.way.by_chance(chance) } else { Way::Works };
        let late = |failure| Fate { after: within, failure: Some(failure) };
        let early = |failure| Fate { after: latency(chance), failure: Some(failure) };
        match way {
            Way::ReadOnly if !matches!(kind, OpKind::Peek | OpKind::List) => {
                early(OperationFailure::Unavailable)
            }
            Way::Works | Way::ReadOnly | Way::Mixed => {
                Fate { after: latency(chance).min(within - 1), failure: None }
            }
            Way::Slow => Fate { after: within / 2 + mix(chance) % (within / 2), failure: None },
            Way::Unavailable => early(OperationFailure::Unavailable),
            Way::Stalls => late(OperationFailure::Timeout(false)),
            Way::Lies => late(OperationFailure::Timeout(true)),
            Way::Refused => early(OperationFailure::Refused),
            Way::Contended => early(OperationFailure::Contended),
        }
    }
}

// === impl Way ===

impl Way {
    /// The ways that make operations fail, other than by chance.
    pub const BAD: [Self; 6] = [
        Self::Unavailable,
        Self::Stalls,
        Self::Lies,
        Self::ReadOnly,
        Self::Refused,
        Self::Contended,
    ];

    const fn by_chance(self, chance: u64) -> Self {
        match (self, chance >> 8 & 7) {
            (Self::Mixed, 0) => Self::Unavailable,
            (Self::Mixed, 1) => Self::Stalls,
            (Self::Mixed, 2) => Self::Slow,
            (Self::Mixed, 3) => Self::Contended,
            (Self::Mixed, _) => Self::Works,
            (way, _) => way,
        }
    }
}

// === impl OperationFailure ===

impl OperationFailure {
    pub(super) const fn error(self) -> StoreError {
        match self {
            Self::Unavailable => StoreError::Unavailable,
            Self::Timeout(_) => StoreError::Timeout,
            Self::Refused => StoreError::Refused,
            Self::Contended => StoreError::Contended,
        }
    }
}

/// Latency of a healthy store: often zero, so that much happens at one instant.
const fn latency(chance: u64) -> u64 {
    if chance & 1 == 0 { 0 } else { (chance >> 16) % 2_000 }
}
