//! A budget per period: 10,000 a day, a million a month from the customer's billing day.
//!
//! The state is the start of a period and the units used in it. The clock of the store decides which
//! period a request falls in; if periods follow a calendar, the charge brings the boundaries along
//! ([`Periods`]), because no store should know time zones.
//!
//! Used units outlive a reload that changes the period: they count until the end of the period they
//! were used in, and longer if that period began within the one now in force. Once more units are used,
//! all of them count until the later of the two ends: a state has one count, and a change of numbers
//! grants nothing.
//!
//! A quota says nothing about speed. Put a [`Bucket`](super::Bucket) beside it in the same policy,
//! and both are charged together or not at all.

use super::{
    Calendar, Counts, MAX_OVER, Periods, Reading, Room, ShapeError, Stale, checked_count,
    checked_length, left,
};
use crate::cost::Cost;
use crate::time::{MAX_EXACT, Span, Timestamp};

/// A budget of units per period.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quota {
    count: u64,
    period: Period,
    counts: Counts,
}

/// The periods of a quota: when its count starts again from zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Period {
    /// Periods of this length, counted from the Unix epoch: all keys start anew together.
    Fixed(Span),
    /// A period of this length from the first use on: each key has its own.
    FirstUse(Span),
    /// The hours, days, weeks or months of a time zone.
    Calendar(Calendar),
}

/// The state kept for one key of a quota in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotaState {
    /// When the period began. The quota never takes the time to be earlier than this.
    pub start: Timestamp,
    /// Units used since `start`.
    pub used: u64,
    /// When the period that began at `start` ends. If another period is in force by now, the used units
    /// count until then: to the millisecond, which is all that a shared store remembers of it.
    /// [`Timestamp::ZERO`] leaves the end to the period in force.
    pub end: Timestamp,
}

/// The current period of one key, with the units used in it.
#[derive(Clone, Copy)]
struct Current {
    /// The time that the clock shows, from which waits are counted.
    told_at: Timestamp,
    /// The later of `told_at` and the latest time that the state has seen.
    now: Timestamp,
    start: Timestamp,
    /// When the period ends, and with it all units used from now on.
    end: Timestamp,
    /// When the units used so far stop counting: `end`, or earlier if they were used under a period
    /// that is no longer in force.
    until: Timestamp,
    used: u64,
}

// === impl Period ===

impl Period {
    /// How long the period lasts; for a calendar, the longest that one of its periods lasts
    /// ([`Unit::longest`](super::Unit::longest)).
    #[must_use]
    pub const fn length(&self) -> Span {
        match self {
            Self::Fixed(length) | Self::FirstUse(length) => *length,
            Self::Calendar(calendar) => calendar.unit().longest(),
        }
    }
}

// === impl Quota ===

impl Quota {
    /// The largest count: it stays exact even with all the refused attempts that are counted.
    pub const MAX_COUNT: u64 = MAX_EXACT - MAX_OVER;

    /// `count` units per `period`.
    ///
    /// # Errors
    ///
    /// If the count or the length of the period is zero or beyond the exact range.
    pub fn try_new(count: u64, period: Period, counts: Counts) -> Result<Self, ShapeError> {
        checked_count(count, Self::MAX_COUNT)?;
        if let Period::Fixed(length) | Period::FirstUse(length) = period {
            checked_length(length, MAX_EXACT)?;
        }
        Ok(Self { count, period, counts })
    }

    /// Units per period.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The period after which the count starts again from zero.
    #[must_use]
    pub const fn period(&self) -> &Period {
        &self.period
    }

    /// Which requests the quota counts.
    #[must_use]
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// The calendar whose periods a charge must bring along; `None` if the quota follows none.
    #[must_use]
    pub const fn calendar(&self) -> Option<&Calendar> {
        match &self.period {
            Period::Calendar(calendar) => Some(calendar),
            Period::Fixed(_) | Period::FirstUse(_) => None,
        }
    }

    /// Whether there is room for a request of `cost` at `now`.
    ///
    /// # Errors
    ///
    /// [`Stale`] if `periods` do not cover `now`.
    #[inline]
    pub fn room(
        &self,
        state: Option<QuotaState>,
        cost: Cost,
        now: Timestamp,
        periods: Option<&Periods>,
    ) -> Result<Room, Stale> {
        Ok(self.room_in(self.current(state, now, periods)?, cost))
    }

    /// The reading that a request of `cost` would get at `now`.
    ///
    /// # Errors
    ///
    /// [`Stale`] if `periods` do not cover `now`.
    #[inline]
    pub fn look(
        &self,
        state: Option<QuotaState>,
        cost: Cost,
        now: Timestamp,
        periods: Option<&Periods>,
    ) -> Result<Reading, Stale> {
        let current = self.current(state, now, periods)?;
        Ok(self.reading(current, self.room_in(current, cost), Span::ZERO))
    }

    /// Counts `cost`. If attempts are counted, this may go past the count, and the reading then says
    /// how long to stay away.
    ///
    /// # Errors
    ///
    /// [`Stale`] if `periods` do not cover `now`.
    #[inline]
    pub fn take(
        &self,
        state: Option<QuotaState>,
        cost: Cost,
        now: Timestamp,
        periods: Option<&Periods>,
    ) -> Result<(QuotaState, Reading), Stale> {
        let mut current = self.current(state, now, periods)?;
        let room = self.room_in(current, cost);
        current.used = current.used.saturating_add(cost.get()).min(self.count + MAX_OVER);
        current.until = current.end;
        let over = current.used.saturating_sub(self.count);
        let backoff = self.counts.delay(over, current.end.since(current.now));
        let state = QuotaState { start: current.start, used: current.used, end: current.end };
        // There is no room before the period ends, and a backoff is never longer than that, so the wait
        // for room is already the longer of the two.
        let wait = self.room_in(current, cost).wait();
        Ok((state, Reading { wait, ..self.reading(current, room, backoff) }))
    }

    /// Gives back `cost`, which was taken at `taken_at`, unless another period has begun since. Returns
    /// the state and the units given back.
    #[must_use]
    pub fn give_back(
        &self,
        state: QuotaState,
        cost: Cost,
        taken_at: Timestamp,
    ) -> (QuotaState, u64) {
        let still_counts = state.start <= taken_at;
        let units = if still_counts { cost.get().min(state.used) } else { 0 };
        (QuotaState { used: state.used - units, ..state }, units)
    }

    /// Adds the end of its period to a state that was written under these numbers.
    #[must_use]
    pub fn ending(&self, state: QuotaState) -> QuotaState {
        let end = match &self.period {
            Period::FirstUse(length) => state.start.after(*length),
            Period::Fixed(length) => aligned(state.start, *length).1,
            Period::Calendar(calendar) => calendar.end_of(state.start),
        };
        QuotaState { end, ..state }
    }

    /// Whether units used under another period count for longer than the period in force lasts. Then
    /// the state keeps its start and its end, whatever is added to it.
    ///
    /// # Errors
    ///
    /// [`Stale`] if `periods` do not cover `now`.
    pub fn outlasted_by(
        &self,
        state: QuotaState,
        now: Timestamp,
        periods: Option<&Periods>,
    ) -> Result<bool, Stale> {
        let now = now.max(state.start);
        let begun = (state.used > 0).then_some(state.start);
        self.bounds(now, begun, periods).map(|(_, end)| end < state.lasts())
    }

    /// A spent quota: the state to assume when the stored one cannot be read.
    #[must_use]
    pub const fn exhausted(&self, at: Timestamp) -> QuotaState {
        QuotaState { start: at, used: self.count, end: Timestamp::ZERO }
    }

    #[inline]
    fn current(
        &self,
        state: Option<QuotaState>,
        now: Timestamp,
        periods: Option<&Periods>,
    ) -> Result<Current, Stale> {
        let (told_at, now) = (now, state.map_or(now, |state| now.max(state.start)));
        // If nothing is used, as after a refund, the state has begun no period.
        let begun = state.filter(|state| state.used > 0).map(|state| state.start);
        let (start, end) = self.bounds(now, begun, periods)?;
        let fresh = Current { told_at, now, start, end, until: end, used: 0 };
        let Some(state) = state else { return Ok(fresh) };
        let (used, lasts) = (state.used, state.lasts());
        Ok(if state.start >= start || end < lasts {
            // The state's period began within the one that the clock shows, or it ends later.
            let end = end.max(lasts);
            Current { start: state.start, end, until: end, used, ..fresh }
        } else if now < lasts {
            Current { until: lasts, used, ..fresh }
        } else {
            fresh
        })
    }

    /// The period that contains `now`, for a key whose last period began at `begun`.
    #[inline]
    fn bounds(
        &self,
        now: Timestamp,
        begun: Option<Timestamp>,
        periods: Option<&Periods>,
    ) -> Result<(Timestamp, Timestamp), Stale> {
        match &self.period {
            Period::FirstUse(length) => {
                let start = begun.filter(|begun| now < begun.after(*length)).unwrap_or(now);
                Ok((start, start.after(*length)))
            }
            Period::Fixed(length) => Ok(aligned(now, *length)),
            Period::Calendar(_) => {
                periods.and_then(|periods| periods.containing(now)).ok_or(Stale { now })
            }
        }
    }

    #[inline]
    fn room_in(&self, current: Current, cost: Cost) -> Room {
        if cost.get() > self.count {
            Room::Never
        } else if current.used.saturating_add(cost.get()) <= self.count {
            Room::Now
        } else {
            Room::not_before(current.until, current.told_at)
        }
    }

    #[inline]
    fn reading(&self, current: Current, room: Room, backoff: Span) -> Reading {
        let running = current.used > 0 || !matches!(self.period, Period::FirstUse(_));
        let reset = if running { current.until.since(current.told_at) } else { Span::ZERO };
        let remaining = left(self.count, current.used, &self.counts);
        Reading { backoff, ..Reading::of(room, remaining, reset) }
    }
}

/// Start and end of the period of this length, counted from the Unix epoch, that contains `now`.
#[inline]
fn aligned(now: Timestamp, length: Span) -> (Timestamp, Timestamp) {
    let start = Timestamp::from_micros(now.as_micros() - now.as_micros() % length.as_micros());
    (start, start.after(length))
}

// === impl QuotaState ===

impl QuotaState {
    /// When the used units stop counting, whatever period is in force: the end of their own period, in
    /// whole milliseconds.
    #[inline]
    fn lasts(&self) -> Timestamp {
        if self.used == 0 || self.end == Timestamp::ZERO {
            return Timestamp::ZERO;
        }
        let end = self.end.as_micros();
        Timestamp::from_micros(end - end % 1_000)
    }
}
