//! The answer to a request that the store has not decided.

use super::contract::{Cap, TRIP_WITHIN};
use crate::block::{Block, Level};
use crate::decision::{Denial, Retry, Verdict};
use crate::limit::Stage;
use crate::policy::Mode;
use crate::shape::Reading;
use crate::store::StoreError;
use crate::time::{Span, Timestamp};

/// What was decided without the store, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failsafe {
    /// In which mode.
    pub mode: Mode,
    /// What comes of the request.
    pub verdict: Verdict,
    /// What local caps said, if they were asked.
    pub guarded: Option<Guarded>,
    /// The block that keeps it out, if that is what does; its level is never above the second.
    pub block: Option<Block>,
    /// What somebody has to do something about.
    pub alarm: Option<Alarm>,
    /// Whether this has been going on for so long that those who are refused may know.
    pub prolonged: bool,
    /// What went wrong, if it was this request that met it.
    pub error: Option<StoreError>,
    /// When it was decided, by the clock of this node.
    pub at: Timestamp,
}

/// What a local cap said: the one that leaves least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guarded {
    /// The cap; `None` if there is none, and nothing passes.
    pub cap: Option<Cap>,
    /// What is left of it.
    pub remaining: u64,
    /// Until there is room, if there is none.
    pub wait: Span,
    /// Until nothing counted so far counts any more.
    pub reset: Span,
}

/// A critical condition, which every decision made under it carries: no queue can lose it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Alarm {
    /// The store has failed too often in too short a time: nothing passes for ten minutes.
    Flapped,
    /// The store does not let us.
    Refused,
    /// A counter could not be read, and was made anew.
    Corrupt,
    /// The policy was closed for half an hour, and the store is still not well: the caps of one-time
    /// passwords decide.
    Reopened,
}

// === impl Alarm ===

impl Alarm {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Flapped, Self::Refused, Self::Corrupt, Self::Reopened];

    /// The name used in answers and metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Flapped => "flapped",
            Self::Refused => "refused",
            Self::Corrupt => "corrupt",
            Self::Reopened => "reopened",
        }
    }
}

// === impl Guarded ===

impl Guarded {
    /// Without a cap nothing passes.
    pub(super) const NOTHING: Self =
        Self { cap: None, remaining: 0, wait: Span::ZERO, reset: Span::ZERO };

    /// Whether there was room. What remains says nothing about it: whoever takes the last place leaves
    /// none.
    #[must_use]
    pub const fn admits(&self) -> bool {
        self.cap.is_some() && self.wait.is_zero()
    }

    /// The same in the words of a limit.
    pub(crate) fn reading(&self) -> Reading {
        Reading {
            remaining: i64::try_from(self.remaining).unwrap_or(i64::MAX),
            wait: self.wait,
            reset_after: self.reset,
            ..Reading::NOTHING
        }
    }

    /// The one to wait longer for, or else that leaves less.
    pub(super) fn tighter(self, other: Self) -> Self {
        let of = |guarded: &Self| (guarded.wait, core::cmp::Reverse(guarded.remaining));
        if of(&other) > of(&self) { other } else { self }
    }
}

// === impl Failsafe ===

impl Failsafe {
    /// A denial without asking anybody.
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

    /// What local caps said.
    pub(super) fn guarded(mode: Mode, guarded: Guarded, at: Timestamp) -> Self {
        let mut failsafe = Self::denied(mode, guarded.wait, at);
        if guarded.admits() {
            failsafe.verdict = Verdict::Admit;
        }
        failsafe.guarded = Some(guarded);
        failsafe
    }
}

/// When to come back to a policy whose store has just failed: by then it is asked again, or local caps
/// decide.
pub(super) const SOON: Span = TRIP_WITHIN;

/// The highest level that is told.
pub(super) fn bounded(level: Option<Level>) -> Option<Level> {
    level.map(|level| level.min(super::contract::MAX_LEVEL))
}
