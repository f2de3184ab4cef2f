//! Time as data: instants and lengths in whole microseconds, and the port that reads a clock.
//!
//! A rule that asks the clock cannot be replayed, so no rule here does: every one of them takes
//! `now` as an argument. One tick is a microsecond in a `u64`. That is fine enough for a thousand
//! tokens per tick and coarse enough that every instant until the year 2255 is exact in the 53 bits
//! a Lua number or a JSON number can hold.

mod written;

pub use written::SpanError;

use written::UNITS;

use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;

/// The largest integer that Lua and JSON carry exactly: 2⁵³ − 1.
pub const MAX_EXACT: u64 = (1 << 53) - 1;

/// An instant: microseconds since the Unix epoch, on the clock of the store or node that decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(u64);

/// A length of time in microseconds.
///
/// `std::time::Duration` has nanoseconds that no store keeps; a `Span` is what the arithmetic can
/// promise. It converts to `Duration` without loss, and back by rounding up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(u64);

/// Where instants come from.
///
/// The value never decreases and does not follow jumps of the wall clock. Exactly one file of the
/// workspace implements this with a real clock; everything else is handed one.
pub trait Clock: Send + Sync {
    /// The present instant.
    fn now(&self) -> Timestamp;
}

/// A clock that stands still until it is told otherwise: time for tests, simulations and replays.
#[derive(Debug)]
pub struct ManualClock(AtomicU64);

// === impl Timestamp ===

impl Timestamp {
    /// The Unix epoch.
    pub const ZERO: Self = Self(0);
    /// The last instant the arithmetic is exact for.
    pub const MAX: Self = Self(MAX_EXACT);

    /// The instant `micros` microseconds after the Unix epoch, at most [`Timestamp::MAX`].
    #[must_use]
    pub const fn from_micros(micros: u64) -> Self {
        Self(if micros > MAX_EXACT { MAX_EXACT } else { micros })
    }

    /// Microseconds since the Unix epoch.
    #[must_use]
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// The time that has passed since `earlier`; zero if `earlier` lies ahead.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }

    /// The instant `span` later, at most [`Timestamp::MAX`].
    #[must_use]
    pub const fn after(self, span: Span) -> Self {
        // No instant is later than `MAX_EXACT`, so nothing can overflow.
        let left = MAX_EXACT - self.0;
        Self(self.0 + if span.0 < left { span.0 } else { left })
    }
}

// === impl Span ===

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// One second.
    pub const SECOND: Self = Self(1_000_000);
    /// One minute.
    pub const MINUTE: Self = Self(60 * Self::SECOND.0);
    /// One hour.
    pub const HOUR: Self = Self(60 * Self::MINUTE.0);
    /// Twenty-four hours. A calendar day may be an hour longer or shorter.
    pub const DAY: Self = Self(24 * Self::HOUR.0);

    /// A span of `micros` microseconds.
    #[must_use]
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// A span of `millis` milliseconds.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000))
    }

    /// A span of `secs` seconds.
    #[must_use]
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1_000_000))
    }

    /// The length in microseconds.
    #[must_use]
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// The length in whole seconds, rounded up: the only honest way to tell a wait in seconds.
    #[must_use]
    pub const fn as_secs_ceil(self) -> u64 {
        self.0.div_ceil(1_000_000)
    }

    /// Whether the span is zero.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl From<Span> for Duration {
    fn from(span: Span) -> Self {
        Self::from_micros(span.0)
    }
}

impl From<Duration> for Span {
    /// Rounds up to the next microsecond: a wait is never told shorter than it is.
    fn from(duration: Duration) -> Self {
        Self(u64::try_from(duration.as_nanos().div_ceil(1_000)).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for Span {
    /// Written in the largest unit that divides the span: `90s`, `2h`, `1500ms`, `7us`.
    ///
    /// Minutes are no such unit, because keys say `w60s` and not `w1m`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut units = UNITS.iter().rev().filter(|(name, _)| *name != "min");
        match units.find(|(_, unit)| self.0 > 0 && self.0.is_multiple_of(*unit)) {
            Some((name, unit)) => write!(f, "{}{name}", self.0 / unit),
            None => f.write_str("0s"),
        }
    }
}

// === impl ManualClock ===

impl ManualClock {
    /// A clock that shows `start`.
    #[must_use]
    pub const fn new(start: Timestamp) -> Self {
        Self(AtomicU64::new(start.0))
    }

    /// Sets the time. Going back is allowed: that is what tests of rollback need.
    pub fn set(&self, now: Timestamp) {
        self.0.store(now.0, Ordering::Release);
    }

    /// Moves the time forward.
    pub fn advance(&self, span: Span) {
        self.set(self.now().after(span));
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::Acquire))
    }
}

impl<C: Clock + ?Sized> Clock for &C {
    fn now(&self) -> Timestamp {
        (**self).now()
    }
}

impl<C: Clock + ?Sized> Clock for std::sync::Arc<C> {
    fn now(&self) -> Timestamp {
        (**self).now()
    }
}
