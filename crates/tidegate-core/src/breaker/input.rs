//! The inputs of a breaker, and the passes that tell late results from present ones.

use crate::fleet::{Accord, Agreed, FleetError, FleetStep, Holder};
use crate::time::Timestamp;

/// How a call to an upstream ended, as its breaker sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CallOutcome {
    /// The upstream has answered as it should.
    Success,
    /// The upstream has failed, or has not answered.
    Failure,
    /// Nothing can be told about the upstream: the caller made a mistake or left, or the call was never
    /// made. It neither counts nor resets the count.
    Neutral,
}

/// The right of one call to pass a closed breaker. Its result counts only as long as the breaker has not
/// left that state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pass(pub(super) u64);

/// The right of one call to pass a half-open breaker as its probe. Its holder reports how the call
/// ended; a call that was cancelled is [`CallOutcome::Neutral`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProbePass {
    pub(super) holder: Holder,
    /// The generation of the lease; `None` for a probe that the fleet could not be asked about.
    pub(super) generation: Option<u64>,
    /// The end of the lease by the clock of this node.
    pub(super) until: Timestamp,
}

/// A call to the fleet that has to be made, and answered with [`BreakerInput::Answered`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FleetCall {
    /// The number of the call, which its answer has to name.
    pub number: u64,
    /// The step to send.
    pub step: FleetStep,
}

/// An event that a breaker takes note of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakerInput {
    /// Time has passed.
    Poll,
    /// A request wants to be the probe. If the fleet has to be asked, the outputs hold the call, and its
    /// answer decides; otherwise the [clearance](super::Breaker::clearance) says what becomes of the
    /// request.
    Ask,
    /// A call that passed the closed breaker has ended.
    Called(Pass, CallOutcome),
    /// A probe has ended.
    Probed(ProbePass, CallOutcome),
    /// The fleet was asked for changes and has answered. Given to every breaker whose record has changed,
    /// and to every other one that [wants contact](super::Breaker::wants_contact).
    Heard {
        /// The record of this breaker, if it is among the changes.
        accord: Option<Accord>,
        /// The time of the answer, by the clock of the fleet.
        at: Timestamp,
    },
    /// The fleet has answered a call, or has failed to within its deadline.
    Answered {
        /// The number of the call.
        number: u64,
        /// The answer.
        answer: Result<Agreed, FleetError>,
    },
}

// === impl Pass ===

impl Pass {
    /// The pass with this [number](Self::number), for a breaker whose passes are kept in a word.
    #[must_use]
    pub const fn of_number(number: u64) -> Self {
        Self(number)
    }

    /// The number of this pass: how often its breaker had left the closed state.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0
    }
}

// === impl ProbePass ===

impl ProbePass {
    /// Whether the fleet has agreed to this probe. If not, it could not be asked.
    #[must_use]
    pub const fn is_agreed(&self) -> bool {
        self.generation.is_some()
    }

    /// The holder of the lease.
    #[must_use]
    pub const fn holder(&self) -> Holder {
        self.holder
    }

    /// When the lease ends, by the clock of this node. The probe has to be given up before.
    #[must_use]
    pub const fn until(&self) -> Timestamp {
        self.until
    }
}
