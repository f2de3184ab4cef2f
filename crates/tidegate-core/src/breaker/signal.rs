//! Signals of a breaker for the operator: every change of its state, once, and what is out of the ordinary.

use crate::fleet::FleetError;
use crate::time::Timestamp;

/// The state of a breaker, without its times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BreakerState {
    /// Calls pass.
    Closed,
    /// One call at a time probes the upstream.
    HalfOpen,
    /// No call passes.
    Open,
    /// An operator lets no call pass.
    ForcedOpen,
    /// An operator lets every call pass.
    ForcedClosed,
}

/// A report about one breaker on one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakerSignal {
    /// The state has changed.
    Changed(BreakerChange),
    /// The fleet has not answered: this node goes by its local state. Sent once, until the fleet answers
    /// again.
    Alone {
        /// Why the fleet did not answer.
        error: FleetError,
        /// When the call failed.
        at: Timestamp,
    },
    /// The fleet does not know a generation any more that it had acknowledged while the breaker was not
    /// closed. A probe from before may still be under way beside the next one.
    Lost {
        /// The generation that this node had seen.
        generation: u64,
        /// When the fleet answered.
        at: Timestamp,
    },
    /// Five probes of this node, one after the other, were neither a success nor a failure. The breaker
    /// stays half-open for as long as that goes on.
    Undecided {
        /// When the last of them ended.
        at: Timestamp,
    },
}

/// A change of a breaker's state on one node. All changes together give its state at any time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakerChange {
    /// The state before.
    pub from: BreakerState,
    /// The state from now on.
    pub to: BreakerState,
    /// Why the state changed.
    pub cause: BreakerCause,
    /// The highest generation that this node has heard of.
    pub generation: u64,
    /// When the state changed, by the clock of this node.
    pub at: Timestamp,
}

/// Why the state of a breaker has changed on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BreakerCause {
    /// Too many calls of this node failed in a row.
    Tripped,
    /// The recovery window is over.
    WindowOver,
    /// The probe of this node failed.
    ProbeFailed,
    /// The probe of this node succeeded, and was the last that was wanted.
    Recovered,
    /// Another node has brought it about, and this one has heard of it.
    Adopted,
    /// An operator has forced the state.
    Forced,
    /// An operator has lifted the forced state.
    Lifted,
}

// === impl BreakerState ===

impl BreakerState {
    /// The number used in metrics: 0 if calls pass, 1 if one at a time tries, 2 if none passes.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::Closed | Self::ForcedClosed => 0,
            Self::HalfOpen => 1,
            Self::Open | Self::ForcedOpen => 2,
        }
    }

    /// The word used in metrics. A forced state has the word of the state that it keeps.
    #[must_use]
    pub const fn word(self) -> &'static str {
        ["CLOSED", "HALF_OPEN", "OPEN"][self.number() as usize]
    }

    /// Whether an operator keeps the breaker in this state.
    #[must_use]
    pub const fn is_forced(self) -> bool {
        matches!(self, Self::ForcedOpen | Self::ForcedClosed)
    }
}

// === impl BreakerCause ===

impl BreakerCause {
    /// The name used in logs and metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tripped => "tripped",
            Self::WindowOver => "window_over",
            Self::ProbeFailed => "probe_failed",
            Self::Recovered => "recovered",
            Self::Adopted => "adopted",
            Self::Forced => "forced",
            Self::Lifted => "lifted",
        }
    }
}
