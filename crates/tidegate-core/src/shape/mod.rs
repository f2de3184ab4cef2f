//! The shapes a limit can have: what is counted, and when there is room again.
//!
//! Each shape is a pure step over its own state. Given the state, a cost and the time, `look` says
//! what a request would meet, and `take` says what is left once it has been counted. Nothing else
//! in Tidegate knows this arithmetic: the in-memory store calls these functions, the shared stores
//! are held to them by tests, and so is the documentation you are reading.
//!
//! | shape | says | state | file |
//! |---|---|---|---|
//! | [`Bucket`] | a smooth rate, and how much of it may come at once | level, last change | `bucket.rs` |
//! | [`Window`] | never more than so many in any span of this length | timestamps, or 61 sub-counts | `window/` |
//! | [`Quota`] | so many per hour, day, week, month or fixed length | start of the period, used | `quota.rs` |
//! | [`Attempts`] | too many tries begin a block | the newest attempts, the block | `attempts/` |
//!
//! # Adding a shape
//!
//! Ten files: three are new, and seven change, because they match over [`Shape`], [`ShapeKind`], `Kept` or the
//! forms of scripts, or have a field for each shape.
//!
//! | crate | new | changed |
//! |---|---|---|
//! | `tidegate-core` | `shape/<name>.rs` (the arithmetic), `kept/<name>.rs` (what a store keeps of it, its bytes in a shared store, and for how long) | `shape/mod.rs` (variants of [`Shape`] and [`ShapeKind`], and what differs between shapes), `kept/mod.rs` (a variant of `Kept`, and the letters of its records) |
//! | `tidegate-engine`, in memory | | `memory/step.rs` (its shelf; words in, words out) |
//! | `tidegate-engine`, policy file | | `file/written/limit.rs` (the fields), `file/check/shape.rs` (what they mean) |
//! | `tidegate-stores` | `redis/lua/<name>.lua` (the script) | `redis/form.rs` (what it is sent, and which part of it when) |
//! | `tidegate-server` | | `wire/listing.rs` (how it is listed) |
//!
//! A shape whose state or step is large may want files of its own beside these, as abuse logs have.
//!
//! The model that tests compare every store with learns the shape in `model/counter.rs` and
//! `model/log.rs` of `tidegate-test`, and random traces have it once `trace/plan.rs` there makes it.
//!
//! Optional: a budget of its own (`memory/mod.rs`, and in the policy file `file/written/mod.rs` and
//! `file/check/budget.rs`; until then its shelf uses the budget of another shape), words for `tidegate
//! explain` (`cli/explain/told.rs`, which otherwise shows the fields as they are), and a line in
//! `file/idle.rs`, which otherwise claims nothing about it.

mod attempts;
mod backoff;
mod bucket;
mod calendar;
mod divisor;
mod quota;
mod reading;
mod window;

pub use attempts::{
    Attempt, Attempts, AttemptsState, MAX_BLOCK_AT, MAX_DISTINCT, Tally, Threshold,
};
pub use backoff::{Backoff, Counts, Exponential, Strategy};
pub use bucket::{Bucket, BucketState, Rate};
pub use calendar::{Calendar, CalendarError, Periods, Unit};
pub use quota::{Period, Quota, QuotaState};
pub use reading::{Reading, Room, Stale};
pub use window::{EXACT_WINDOW, Grid, Ring, SUB_COUNTS, Window, WindowState};

use core::fmt;

use siphasher::sip::SipHasher13;

use crate::cost::Cost;
use crate::named::names;
use crate::time::{MAX_EXACT, Span, Timestamp};

/// The shape of a limit, with its numbers: what is counted, and when there is room again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A smooth rate with a burst.
    Bucket(Bucket),
    /// A count in any span of a given length.
    Window(Window),
    /// A budget per period.
    Quota(Quota),
    /// Tries in one or two windows, and a block when they are too many.
    Attempts(Attempts),
}

/// The kind of a shape, without its numbers. Stores lock counters in the order of these kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ShapeKind {
    /// The kind of a [`Bucket`].
    Bucket,
    /// The kind of a [`Window`].
    Window,
    /// The kind of a [`Quota`].
    Quota,
    /// The kind of an [`Attempts`].
    Attempts,
}

/// Why the given numbers do not make a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    /// The rate is zero.
    #[error("a rate of 0 admits nothing, ever; deny the action instead of limiting it")]
    ZeroRate,
    /// The period has no length.
    #[error("a period must be at least 1 µs long")]
    ZeroPeriod,
    /// The burst is zero.
    #[error("a burst of 0 admits nothing, ever; the smallest burst is 1")]
    ZeroBurst,
    /// The count is zero.
    #[error("a count of 0 admits nothing, ever; deny the action instead of limiting it")]
    ZeroCount,
    /// The rate is above a thousand tokens per microsecond.
    #[error("rates up to 10⁹ per second are counted exactly; this one is faster")]
    TooFast,
    /// The burst is too large: `burst · p` does not fit 53 bits.
    #[error(
        "burst × period is beyond the exact range: with this rate the burst may be at most \
         {largest_burst}"
    )]
    TooLarge {
        /// The largest burst that is exact at this rate.
        largest_burst: u64,
    },
    /// `block_at` is zero or one.
    #[error("a `block_at` of 0 or 1 blocks the first attempt already; the smallest is 2")]
    BlocksEverything,
    /// The long window is not longer than the short one, or its `block_at` is not larger.
    #[error(
        "the long window must be longer than the short one and have a larger `block_at`, or one of \
         them would never be reached"
    )]
    LongNotLonger,
    /// A count, rate or length is beyond the exact range.
    #[error("{what} is too large: at most {largest}")]
    OutOfRange {
        /// The name of the number that is too large.
        what: &'static str,
        /// The largest value that the number may have.
        largest: u64,
    },
}

// === impl Shape ===

impl Shape {
    /// The kind of this shape.
    #[must_use]
    pub const fn kind(&self) -> ShapeKind {
        match self {
            Self::Bucket(_) => ShapeKind::Bucket,
            Self::Window(_) => ShapeKind::Window,
            Self::Quota(_) => ShapeKind::Quota,
            Self::Attempts(_) => ShapeKind::Attempts,
        }
    }

    /// The most units that can be taken at once: the burst or the count.
    #[must_use]
    pub const fn capacity(&self) -> u64 {
        match self {
            Self::Bucket(bucket) => bucket.burst(),
            Self::Window(window) => window.count(),
            Self::Quota(quota) => quota.count(),
            Self::Attempts(attempts) => attempts.temp().block_at as u64 - 1,
        }
    }

    /// Whether refused attempts are counted.
    #[must_use]
    pub const fn counts_attempts(&self) -> bool {
        match self {
            Self::Bucket(_) => false,
            Self::Window(window) => window.counts().attempts(),
            Self::Quota(quota) => quota.counts().attempts(),
            Self::Attempts(attempts) => attempts.ladder().is_none(),
        }
    }

    /// Whether a request is recorded even if this limit itself refuses it, because that begins a block.
    #[must_use]
    #[inline]
    pub const fn counts_own_refusals(&self) -> bool {
        matches!(self, Self::Attempts(_))
    }

    /// Whether units taken beyond those left are lost, as in a bucket, which is never below empty.
    /// Every other shape counts them.
    #[must_use]
    pub const fn stops_at_empty(&self) -> bool {
        matches!(self, Self::Bucket(_))
    }

    /// The calendar whose periods a charge has to bring; `None` unless this is a quota that follows
    /// one.
    #[must_use]
    #[inline]
    pub fn calendar(&self) -> Option<&Calendar> {
        match self {
            Self::Quota(quota) => quota.calendar(),
            Self::Bucket(_) | Self::Window(_) | Self::Attempts(_) => None,
        }
    }

    /// The rate admitted in the long run, as units and the span in which they are admitted. For a
    /// calendar, the span is the longest that a period lasts, give or take an hour.
    #[must_use]
    pub fn rate(&self) -> (u64, Span) {
        match self {
            Self::Bucket(bucket) => (bucket.rate().tokens(), bucket.rate().per()),
            Self::Window(window) => (window.count(), window.per()),
            Self::Quota(quota) => (quota.count(), quota.period().length()),
            Self::Attempts(attempts) => (self.capacity(), attempts.longest()),
        }
    }

    /// The span in which the capacity is admitted: the time an empty bucket takes to fill, the length
    /// of a window or period, the longer window of an abuse log.
    #[must_use]
    pub fn span(&self) -> Span {
        match self {
            Self::Bucket(bucket) => bucket.time_to_full(bucket.exhausted(Timestamp::ZERO)),
            Self::Window(_) | Self::Quota(_) | Self::Attempts(_) => self.rate().1,
        }
    }
}

impl Shape {
    /// The same kind of shape with the numbers of a [probe](crate::Trial): room for many probes, no
    /// block, and nothing that has to be kept for longer than a few seconds.
    pub(crate) fn brief(&self, now: Timestamp) -> Self {
        // These numbers always make a shape; a test checks that.
        self.try_brief(now).unwrap_or_else(|_| self.clone())
    }

    fn try_brief(&self, now: Timestamp) -> Result<Self, ShapeError> {
        /// Less than half of the two seconds from one probe to the next, so that as much slack is left.
        const SPAN: Span = Span::from_millis(900);
        const MANY: u64 = 1_000;
        Ok(match self {
            Self::Bucket(_) => Self::Bucket(Bucket::try_new(Rate::try_new(MANY, SPAN)?, MANY)?),
            Self::Window(window) => {
                let count = if window.is_exact() { EXACT_WINDOW as u64 } else { MANY };
                Self::Window(Window::try_new(count, SPAN, window.counts().clone())?)
            }
            Self::Quota(quota) => {
                let period = match quota.period() {
                    Period::Fixed(_) => Period::Fixed(SPAN),
                    Period::FirstUse(_) => Period::FirstUse(SPAN),
                    Period::Calendar(calendar) => Period::Calendar(calendar.brief(now)),
                };
                Self::Quota(Quota::try_new(MANY, period, quota.counts().clone())?)
            }
            Self::Attempts(attempts) => Self::Attempts(attempts.brief(SPAN)?),
        })
    }

    /// How many requests of the lightest kind, which take `cost` each, one key is certain to get
    /// through within `span`.
    pub(crate) fn admits_within(&self, span: Span, cost: Cost) -> u64 {
        let times = |length: Span| (span.as_micros() / length.as_micros().max(1)).max(1);
        let of = |count: u64| count / cost.get();
        match self {
            Self::Bucket(bucket) => {
                let refilled = u128::from(bucket.units_per_micro()) * u128::from(span.as_micros());
                let refilled = refilled / u128::from(bucket.units_per_token().max(1));
                of(bucket.burst().saturating_add(u64::try_from(refilled).unwrap_or(u64::MAX)))
            }
            Self::Window(window) => of(window.count()).saturating_mul(times(window.per())),
            Self::Quota(quota) => match quota.period() {
                Period::Fixed(length) | Period::FirstUse(length) => {
                    of(quota.count()).saturating_mul(times(*length))
                }
                Period::Calendar(_) => of(quota.count()),
            },
            Self::Attempts(_) => self.capacity(),
        }
    }

    /// This limit with `1 / of` of its numbers, each of them one at least, counting admitted requests
    /// only. An abuse log becomes a window, which begins no block: attempts during an outage are no
    /// reason for one.
    pub(crate) fn share(&self, of: u64) -> Result<Self, ShapeError> {
        let count = share(self.capacity(), of);
        let over = |per| Window::try_new(count, per, Counts::Admitted).map(Self::Window);
        match self {
            Self::Bucket(bucket) => bucket.share(of).map(Self::Bucket),
            Self::Window(window) => over(window.per()),
            Self::Quota(quota) => {
                Quota::try_new(count, quota.period().clone(), Counts::Admitted).map(Self::Quota)
            }
            // The count of the short window, which is the smaller one, over the longer of the two.
            Self::Attempts(attempts) => over(attempts.longest()),
        }
    }

    /// Writes the length into a key, in a form that depends on the kind: a window and a bucket of the
    /// same length would otherwise overwrite each other in a shared store.
    pub(crate) fn write_length(&self, out: &mut impl fmt::Write) -> fmt::Result {
        match self {
            Self::Bucket(bucket) => write!(out, ":w{}", bucket.rate().per()),
            Self::Window(window) => write!(out, ":sw{}", window.per()),
            Self::Quota(quota) => match quota.period() {
                Period::Fixed(length) | Period::FirstUse(length) => write!(out, ":w{length}"),
                Period::Calendar(calendar) => write!(out, ":w{}", calendar.unit().name()),
            },
            Self::Attempts(_) => Ok(()),
        }
    }

    /// Whether state that was written under this shape can be read under `other` as it is. The units that
    /// a quota has used are a fact, whatever its count was.
    pub(crate) fn counts_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Quota(one), Self::Quota(other)) => one.period() == other.period(),
            _ => self == other,
        }
    }

    /// Numbers under which a state recovers no sooner than under either of two shapes of one kind: the
    /// slower rate with the larger burst, or the longer period. Other shapes recover by their own numbers
    /// alone.
    pub(crate) fn slower(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Bucket(one), Self::Bucket(other)) => Self::Bucket(one.slower(other)),
            (Self::Quota(one), Self::Quota(longer))
                if longer.period().length() > one.period().length() =>
            {
                Self::Quota(longer.clone())
            }
            _ => self.clone(),
        }
    }

    /// A number that identifies the period of a quota, the same in every process; zero for other
    /// shapes.
    pub(crate) fn period_print(&self) -> u64 {
        let Self::Quota(quota) = self else { return 0 };
        let text = match quota.period() {
            Period::Fixed(length) => format!("every {length}"),
            Period::FirstUse(length) => format!("first use {length}"),
            Period::Calendar(calendar) => calendar.text(),
        };
        SipHasher13::new().hash(text.as_bytes()) | 1
    }
}

// === impl ShapeKind ===

names!(ShapeKind { Bucket: "bucket", Window: "window", Quota: "quota", Attempts: "attempts" });

impl ShapeKind {
    /// The family that keys of this kind belong to: `rq` for quotas, one of its own for abuse logs,
    /// `rl` for the rest.
    pub(crate) const fn family(self) -> &'static str {
        match self {
            Self::Quota => "rq",
            Self::Bucket | Self::Window => "rl",
            Self::Attempts => "abuse_limiter:attempts",
        }
    }
}

/// `1 / of` of a number, rounded down, and one at least.
fn share(number: u64, of: u64) -> u64 {
    (number / of).max(1)
}

/// `count` as the signed number of a reading. Counts are below 2⁵³, so nothing is lost.
fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// The units left of `count`. A reload may have lowered the count below the units used; only where
/// attempts are counted does that show as a number below zero.
fn left(count: u64, used: u64, counts: &Counts) -> i64 {
    let left = signed(count) - signed(used);
    left.max(if counts.attempts() { -signed(MAX_OVER) } else { 0 })
}

/// How far below zero `remaining` may go: refused attempts beyond this many change nothing.
const MAX_OVER: u64 = 1 << 31;

fn checked_count(count: u64, largest: u64) -> Result<u64, ShapeError> {
    match count {
        0 => Err(ShapeError::ZeroCount),
        _ if count > largest => Err(ShapeError::OutOfRange { what: "count", largest }),
        _ => Ok(count),
    }
}

fn checked_length(length: Span, largest: u64) -> Result<Span, ShapeError> {
    match length.as_micros() {
        0 => Err(ShapeError::ZeroPeriod),
        micros if micros > largest => {
            Err(ShapeError::OutOfRange { what: "period in µs", largest })
        }
        _ => Ok(length),
    }
}

const _: () = assert!(MAX_EXACT < i64::MAX as u64);

#[cfg(test)]
mod tests {
    //! The end of time is no way in.

    use super::*;
    use crate::cost::Cost;

    #[test]
    fn p88_a_wait_that_is_told_after_the_clock_was_set_back_includes_the_step() {
        let at = |secs: u64| Timestamp::from_micros(secs * 1_000_000);
        let (spent, back) = (at(100), at(70));
        let told = |looked: Reading, secs: u64| {
            let wait = Span::from_secs(secs);
            assert_eq!((looked.room, looked.wait), (Room::After(wait), wait), "{looked:?}");
            assert_eq!(looked.reset_after, wait, "{looked:?}");
        };
        let bucket = Bucket::try_new(Rate::per_minute(1).unwrap(), 1).unwrap();
        let (state, _) = bucket.take(None, Cost::ONE, spent);
        told(bucket.look(Some(state), Cost::ONE, back), 90);
        assert_eq!(bucket.room(Some(state), Cost::ONE, back), Room::After(Span::from_secs(90)));
        assert!(!bucket.room(Some(state), Cost::ONE, at(70 + 60)).is_now());
        let quota = Quota::try_new(1, Period::FirstUse(Span::MINUTE), Counts::Admitted).unwrap();
        let (state, _) = quota.take(None, Cost::ONE, spent, None).unwrap();
        told(quota.look(Some(state), Cost::ONE, back, None).unwrap(), 90);
        let window = Window::try_new(1, Span::MINUTE, Counts::Admitted).unwrap();
        let (state, _) = window.take(None, Cost::ONE, spent);
        told(window.look(Some(&state), Cost::ONE, back), 90);
        // Of a coarse window a sixtieth more.
        let window = Window::try_new(100, Span::MINUTE, Counts::Admitted).unwrap();
        let (state, _) = window.take(None, Cost::try_new(100).unwrap(), spent);
        told(window.look(Some(&state), Cost::ONE, back), 91);
        let limit = Threshold { block_at: 2, per: Span::MINUTE, block: Span::MINUTE };
        let attempts = Attempts::try_new(limit, None).unwrap();
        let (state, _) = attempts.take(None, 0, spent);
        told(attempts.look(Some(&state), 0, back), 90);
        let (state, refused) = attempts.take(Some(&state), 0, back);
        assert_eq!(refused.wait, Span::from_secs(90), "the block begins when time goes on");
        assert!(!attempts.room(Some(&state), 0, at(159)).is_now());
        assert!(attempts.room(Some(&state), 0, at(160)).is_now());
    }

    #[test]
    fn p88_where_there_is_nothing_to_wait_for_a_clock_that_was_set_back_adds_no_wait() {
        let at = |secs: u64| Timestamp::from_micros(secs * 1_000_000);
        let (spent, back) = (at(100), at(70));
        let bucket = Bucket::try_new(Rate::per_minute(1).unwrap(), 1).unwrap();
        let (state, _) = bucket.take(None, Cost::ONE, spent);
        let (full, _) = bucket.give_back(state, Cost::ONE, spent, spent);
        let met = bucket.look(Some(full), Cost::ONE, back);
        assert_eq!((met.room, met.wait, met.reset_after), (Room::Now, Span::ZERO, Span::ZERO));
        let limit = Threshold { block_at: 3, per: Span::MINUTE, block: Span::MINUTE };
        let attempts = Attempts::try_new(limit, None).unwrap();
        let (state, _) = attempts.take(None, 0, spent);
        let met = attempts.look(Some(&state), 0, back);
        assert_eq!((met.room, met.wait), (Room::Now, Span::ZERO));
        assert_eq!(met.reset_after, Span::from_secs(90), "the attempt still counts for so long");
    }

    #[test]
    fn p88_a_window_has_room_when_its_reading_says_so() {
        let at = |micros: u64| Timestamp::from_micros(micros);
        // Of a coarse window a sixtieth later.
        for (count, free) in [(1, 160_000_000), (100, 161_000_000)] {
            let window = Window::try_new(count, Span::MINUTE, Counts::Admitted).unwrap();
            let cost = Cost::try_new(count).unwrap();
            let (state, _) = window.take(None, cost, at(100_000_000));
            for (now, room) in [
                (70_000_000, Room::After(Span::from_micros(free - 70_000_000))),
                (free - 1, Room::After(Span::from_micros(1))),
                (free, Room::Now),
                (900_000_000, Room::Now),
            ] {
                assert_eq!(window.room(Some(&state), cost, at(now)), room, "{count} at {now}");
                assert_eq!(window.look(Some(&state), cost, at(now)).room, room, "{count} at {now}");
            }
        }
    }

    #[test]
    fn a_clock_at_the_end_of_time_admits_no_more_than_any_other() {
        let end = Timestamp::MAX;
        let quota = Quota::try_new(1, Period::Fixed(Span::DAY), Counts::Admitted).unwrap();
        let (state, _) = quota.take(None, Cost::ONE, end, None).unwrap();
        assert!(!quota.room(Some(state), Cost::ONE, end, None).unwrap().is_now());
        for count in [1, 100] {
            let window = Window::try_new(count, Span::HOUR, Counts::Admitted).unwrap();
            let cost = Cost::try_new(count).unwrap();
            let (state, _) = window.take(None, cost, end);
            assert!(!window.room(Some(&state), cost, end).is_now(), "{count} at once, twice");
        }
    }
}
