//! The answer of one limit to one request, and the error if it could not answer.

use core::hint::cold_path;

use super::Tally;
use crate::time::{Span, Timestamp};

/// Whether a limit has room for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Room {
    /// There is room now.
    Now,
    /// Not yet. If no other request comes between, the same request is admitted after exactly this
    /// long, and refused one tick earlier.
    After(Span),
    /// No wait helps: the request costs more than the limit ever holds.
    Never,
}

/// The answer of one limit to one request.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Whether the limit had room for the request.
    pub room: Room,
    /// If the request is refused, how long until this limit has room for the same request. That is
    /// longer than `room` says if the refused attempt itself was counted.
    pub wait: Span,
    /// Whole units left, rounded down. Below zero only where refused attempts are counted.
    pub remaining: i64,
    /// How long until nothing counted so far counts any more: until a bucket is full, a window empty,
    /// the period of a quota over.
    pub reset_after: Span,
    /// The delay the limit's [`Backoff`](crate::Backoff) asked for; zero where none did.
    pub backoff: Span,
    /// The attempts that an [`Attempts`](crate::Attempts) has counted, and the block in force; `None`
    /// for every other shape.
    pub attempts: Option<Tally>,
}

/// The calendar periods that the charge brought do not cover the time of the store. Nothing was
/// changed: send the charge again with the periods around `now`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the calendar periods sent do not cover the time of the store")]
pub struct Stale {
    /// The time the periods have to cover.
    pub now: Timestamp,
}

// === impl Reading ===

impl Reading {
    /// The reading of a limit that was never asked: nothing is left of it.
    pub(crate) const NOTHING: Self = Self::of(Room::Never, 0, Span::ZERO);

    /// The reading of a limit that asks for no backoff and counts no attempts.
    #[inline(always)]
    pub(super) const fn of(room: Room, remaining: i64, reset_after: Span) -> Self {
        let wait = room.wait();
        Self { room, wait, remaining, reset_after, backoff: Span::ZERO, attempts: None }
    }

    /// Restates a reading made at `seen` for a clock that shows `now`. After a clock was set back,
    /// `now` is earlier than the time the counter has seen. For the counter, time stands still until
    /// then, so every wait grows by the difference.
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

    /// How long to wait; zero if there is room now, and if no wait helps.
    #[must_use]
    pub const fn wait(self) -> Span {
        match self {
            Self::After(wait) => wait,
            Self::Now | Self::Never => Span::ZERO,
        }
    }

    /// Restates the room found at `seen` for a clock that shows `now`; see [`Reading::told_at`].
    #[inline]
    pub(super) fn told_at(self, now: Timestamp, seen: Timestamp) -> Self {
        match self {
            Self::After(wait) => Self::After(wait.told_at(now, seen)),
            Self::Now | Self::Never => self,
        }
    }

    /// No room before `then`. The wait is never zero, so at the end of time, where `then` is `now`,
    /// there is no room either.
    pub(super) fn not_before(then: Timestamp, now: Timestamp) -> Self {
        Self::After(then.since(now).max(Span::from_micros(1)))
    }
}

// === impl Span ===

impl Span {
    /// Restates a wait that began at `seen` for a clock that shows `now`; see [`Reading::told_at`]. A
    /// wait of zero stays zero.
    #[inline]
    pub(super) fn told_at(self, now: Timestamp, seen: Timestamp) -> Self {
        if seen <= now || self.is_zero() {
            return self;
        }
        // A hint to the compiler, so that the usual decision pays for one comparison and not for the
        // sum.
        cold_path();
        Self::from_micros(self.as_micros().saturating_add(seen.since(now).as_micros()))
    }
}
