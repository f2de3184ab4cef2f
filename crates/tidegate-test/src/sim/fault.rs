//! How the store fails, and whom.

use tidegate_core::StoreError;

use super::rng::mix;
use super::trace::{OpKind, Truth};

/// What is wrong with the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What happens to those it concerns.
    pub way: Way,
    /// Whom it concerns.
    pub reach: Reach,
    /// For how long it fails and for how long it does not, in turns; zero and zero for all the time.
    pub turns: (u64, u64),
}

/// What happens to an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// It works.
    Works,
    /// It works, just in time.
    Slow,
    /// It is refused a connection.
    Unavailable,
    /// It is not answered in time, and was not done.
    Stalls,
    /// It is not answered in time, and was done all the same.
    Lies,
    /// It may look and not write.
    ReadOnly,
    /// It is not permitted.
    Refused,
    /// There are too many others.
    Contended,
    /// It is one of those above, by chance, or works.
    Mixed,
}

/// Whom a fault concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Everybody.
    All,
    /// Requests; probes find everything in order.
    Requests,
    /// Probes; requests are served.
    Probes,
    /// Amendments; requests are served, but for counters that have to be made anew.
    Amends,
}

/// What becomes of one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fate {
    /// After how many microseconds it is answered.
    pub(super) after: u64,
    /// What it is answered, if it is not done as it was asked.
    pub(super) failure: Option<Failure>,
}

/// How an operation fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    Unavailable,
    /// Not answered in time; whether it was done.
    Timeout(bool),
    Refused,
    Contended,
}

// === impl Fault ===

impl Fault {
    /// Nothing is wrong.
    pub const NONE: Self = Self { way: Way::Works, reach: Reach::All, turns: (0, 0) };

    /// Everybody, all the time.
    #[must_use]
    pub const fn of(way: Way) -> Self {
        Self { way, ..Self::NONE }
    }

    /// What somebody who sees everything would say of it.
    #[must_use]
    pub const fn truth(&self) -> Truth {
        match (self.way, self.reach, self.turns) {
            (Way::Works | Way::Slow, _, _) => Truth::Good,
            (Way::Mixed, _, _) => Truth::Odd,
            (_, Reach::All, (0, 0)) => Truth::Bad,
            _ => Truth::Odd,
        }
    }

    /// What becomes of an operation that begins so long after the fault did and has to be over in time.
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
                early(Failure::Unavailable)
            }
            Way::Works | Way::ReadOnly | Way::Mixed => {
                Fate { after: latency(chance).min(within - 1), failure: None }
            }
            Way::Slow => Fate { after: within / 2 + mix(chance) % (within / 2), failure: None },
            Way::Unavailable => early(Failure::Unavailable),
            Way::Stalls => late(Failure::Timeout(false)),
            Way::Lies => late(Failure::Timeout(true)),
            Way::Refused => early(Failure::Refused),
            Way::Contended => early(Failure::Contended),
        }
    }
}

// === impl Way ===

impl Way {
    /// Those that fail everybody.
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

// === impl Failure ===

impl Failure {
    pub(super) const fn error(self) -> StoreError {
        match self {
            Self::Unavailable => StoreError::Unavailable,
            Self::Timeout(_) => StoreError::Timeout,
            Self::Refused => StoreError::Refused,
            Self::Contended => StoreError::Contended,
        }
    }
}

/// How long a store takes that is well: often no time at all, so that much happens at one instant.
const fn latency(chance: u64) -> u64 {
    if chance & 1 == 0 { 0 } else { (chance >> 16) % 2_000 }
}
