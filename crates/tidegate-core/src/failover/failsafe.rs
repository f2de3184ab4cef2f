//! The answer to a request that the store has not decided.

use super::contract::{Cap, TRIP_WITHIN};
use crate::block::{Block, Level};
use crate::decision::{Denial, Retry, Verdict};
use crate::limit::Stage;
use crate::named::names;
use crate::policy::Mode;
use crate::shape::Reading;
use crate::store::StoreError;
use crate::time::{Span, Timestamp};

/// A decision that was made without the store, and how it was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failsafe {
    /// The mode in which the request was decided.
    pub mode: Mode,
    /// Whether the request is admitted or denied.
    pub verdict: Verdict,
    /// The answer of the local caps, if they were asked.
    pub guarded: Option<Guarded>,
    /// The block that keeps the request out, if one does; its level is never above the second.
    pub block: Option<Block>,
    /// The critical condition that somebody has to act on, if there is one.
    pub alarm: Option<Alarm>,
    /// Whether local caps have decided for so long that those who are refused may know.
    pub prolonged: bool,
    /// The error of the store, if this very request met it.
    pub error: Option<StoreError>,
    /// When the request was decided, by the clock of this node.
    pub at: Timestamp,
}

/// The answer of the tightest local cap: the one that leaves least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guarded {
    /// The cap that answered; `None` if no cap applies, and then nothing passes.
    pub cap: Option<Cap>,
    /// What is left of the cap.
    pub remaining: u64,
    /// How long until there is room; zero if there is room now.
    pub wait: Span,
    /// How long until nothing counted so far counts any more.
    pub reset: Span,
}

/// A critical condition. Every decision made under it carries it, so that no queue can lose it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Alarm {
    /// The store has failed too often in too short a time: nothing passes for ten minutes.
    Flapped,
    /// The store refuses us, because of permissions or configuration.
    Refused,
    /// A counter could not be read, and was made anew.
    Corrupt,
    /// The policy was closed for half an hour, and the store is still not well: the caps of one-time
    /// passwords decide.
    Reopened,
}

// === impl Alarm ===

names!(Alarm { Flapped: "flapped", Refused: "refused", Corrupt: "corrupt", Reopened: "reopened" });

// === impl Guarded ===

impl Guarded {
    /// The answer where no cap applies: nothing passes.
    pub(super) const NOTHING: Self =
        Self { cap: None, remaining: 0, wait: Span::ZERO, reset: Span::ZERO };

    /// Whether there was room. `remaining` does not tell: the request that takes the last place leaves
    /// none.
    #[must_use]
    pub const fn admits(&self) -> bool {
        self.cap.is_some() && self.wait.is_zero()
    }

    /// The same answer as the reading of a limit.
    pub(crate) fn reading(&self) -> Reading {
        Reading {
            remaining: i64::try_from(self.remaining).unwrap_or(i64::MAX),
            wait: self.wait,
            reset_after: self.reset,
            ..Reading::NOTHING
        }
    }

    /// The tighter of two answers: the one with the longer wait, or else the one that leaves less.
    pub(super) fn tighter(self, other: Self) -> Self {
        let of = |guarded: &Self| (guarded.wait, core::cmp::Reverse(guarded.remaining));
        if of(&other) > of(&self) { other } else { self }
    }
}

// === impl Failsafe ===

impl Failsafe {
    /// A denial that no local cap was asked about.
    pub(super) const fn denied(mode: Mode, wait: Span, at: Timestamp) -> Self {
        let denial = Denial { retry: Retry::After(wait), source: Stage::Global };
        Self {
            mode,
            verdict: Verdict::Deny(denial),
            guarded: None,
            block: None,
            alarm: None,
            prolonged: false,
            error: None,
            at,
        }
    }

    /// The decision that follows from the answer of the local caps.
    pub(super) fn guarded(mode: Mode, guarded: Guarded, at: Timestamp) -> Self {
        let mut failsafe = Self::denied(mode, guarded.wait, at);
        if guarded.admits() {
            failsafe.verdict = Verdict::Admit;
        }
        failsafe.guarded = Some(guarded);
        failsafe
    }
}

/// How long to stay away from a policy whose store has just failed: by then the store is asked again,
/// or local caps decide.
pub(super) const SOON: Span = TRIP_WITHIN;

/// Cuts a level to the highest one that is told while local caps decide.
pub(super) fn bounded(level: Option<Level>) -> Option<Level> {
    level.map(|level| level.min(super::contract::MAX_LEVEL))
}
