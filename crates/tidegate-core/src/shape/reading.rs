//! What one limit says about one request, and whether it could say so.

use core::hint::cold_path;

use super::Tally;
use crate::time::{Span, Timestamp};

/// Whether a limit has room for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Room {
    /// Yes.
    Now,
    /// Not yet. Alone, the same request is admitted after exactly this long, and refused one
    /// tick earlier.
    After(Span),
    /// No wait helps: the request costs more than the limit ever holds.
    Never,
}

/// What one limit says about one request.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Whether it had room for the request.
    pub room: Room,
    /// Once the request is refused: how long until this limit has room for the same one. That is
    /// longer than `room` says where the refused attempt itself was counted.
    pub wait: Span,
    /// Whole units left, rounded down. Below zero only where refused attempts are counted.
    pub remaining: i64,
    /// How long until nothing counted so far counts any more: a bucket is full, a window empty,
    /// the period of a quota over.
    pub reset_after: Span,
    /// The delay the limit's [`Backoff`](crate::Backoff) asked for; zero where none did.
    pub backoff: Span,
    /// What an [`Attempts`](crate::Attempts) has counted, and the block that holds; `None` for every other shape.
    pub attempts: Option<Tally>,
}

/// Calendar periods were needed that the charge did not bring. Nothing was changed: send the
/// charge again with the periods around `now`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the calendar periods sent do not cover the time of the store")]
pub struct Stale {
    /// The time the periods have to cover.
    pub now: Timestamp,
}

// === impl Reading ===

impl Reading {
    /// What a limit that was never asked says: nothing is left of it.
    pub(crate) const NOTHING: Self = Self {
        room: Room::Never,
        wait: Span::ZERO,
        remaining: 0,
        reset_after: Span::ZERO,
        backoff: Span::ZERO,
        attempts: None,
    };

    /// What was read at `seen`, as it is told at `now`. A clock that was set back shows a counter an
    /// earlier time than it has seen; for the counter time stands still until then, so whatever is to
    /// be waited for takes so much longer.
    #[inline]
    pub(super) fn told_at(mut self, now: Timestamp, seen: Timestamp) -> Self {
        self.room = self.room.told_at(now, seen);
        self.wait = self.wait.told_at(now, seen);
        self.reset_after = self.reset_after.told_at(now, seen);
        self
    }
}

// === impl Room ===

impl Room {
    /// Whether the request fits now.
    #[must_use]
    pub const fn is_now(self) -> bool {
        matches!(self, Self::Now)
    }

    /// How long to wait, if waiting is what helps.
    #[must_use]
    pub const fn wait(self) -> Span {
        match self {
            Self::After(wait) => wait,
            Self::Now | Self::Never => Span::ZERO,
        }
    }

    /// What was found at `seen`, as it is told at `now`; see [`Reading::told_at`].
    #[inline]
    pub(super) fn told_at(self, now: Timestamp, seen: Timestamp) -> Self {
        match self {
            Self::After(wait) => Self::After(wait.told_at(now, seen)),
            Self::Now | Self::Never => self,
        }
    }

    /// No room before `then`. At the end of time, where `then` is now and stays so, there is none
    /// either.
    pub(super) fn not_before(then: Timestamp, now: Timestamp) -> Self {
        Self::After(then.since(now).max(Span::from_micros(1)))
    }
}

// === impl Span ===

impl Span {
    /// A wait that began at `seen`, as it is told at `now`; see [`Reading::told_at`]. Where there is none,
    /// none.
    #[inline]
    pub(super) fn told_at(self, now: Timestamp, seen: Timestamp) -> Self {
        if seen <= now || self.is_zero() {
            return self;
        }
        // Hinted at, so that a decision pays for one comparison and not for the sum.
        cold_path();
        Self::from_micros(self.as_micros().saturating_add(seen.since(now).as_micros()))
    }
}
