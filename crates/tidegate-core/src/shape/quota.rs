//! A budget per period: 10,000 a day, a million a month from the customer's billing day.
//!
//! The state is the start of a period and what was used in it. Which period a request falls in is
//! decided by the clock of the store; where periods follow a calendar, the charge brings the
//! boundaries along ([`Periods`]), because no store should know time zones.
//!
//! A quota says nothing about speed. Put a [`Bucket`](super::Bucket) beside it in the same policy,
//! and both are charged together or not at all.

use super::{
    Calendar, Counts, MAX_OVER, Periods, Reading, Room, ShapeError, Stale, checked_count,
    checked_length, signed,
};
use crate::cost::Cost;
use crate::time::{MAX_EXACT, Span, Timestamp};

/// A budget per period.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quota {
    count: u64,
    period: Period,
    counts: Counts,
}

/// When a quota starts anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Period {
    /// Every so long, counted from the Unix epoch: all keys start anew together.
    Fixed(Span),
    /// So long after the first use: each key has its own period.
    FirstUse(Span),
    /// With the hours, days, weeks or months of a time zone.
    Calendar(Calendar),
}

/// What is remembered of a quota in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotaState {
    /// When the period began. Time is never taken to be earlier.
    pub start: Timestamp,
    /// Units used since.
    pub used: u64,
}

/// A period with what was used in it.
#[derive(Clone, Copy)]
struct Current {
    now: Timestamp,
    start: Timestamp,
    end: Timestamp,
    used: u64,
}

// === impl Quota ===

impl Quota {
    /// `count` units per `period`.
    ///
    /// # Errors
    ///
    /// If the count or the length of the period is zero or above 2⁵³ − 1.
    pub fn try_new(count: u64, period: Period, counts: Counts) -> Result<Self, ShapeError> {
        checked_count(count, MAX_EXACT)?;
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

    /// When it starts anew.
    #[must_use]
    pub const fn period(&self) -> &Period {
        &self.period
    }

    /// What it counts.
    #[must_use]
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// The calendar whose periods a charge must bring along.
    #[must_use]
    pub const fn calendar(&self) -> Option<&Calendar> {
        match &self.period {
            Period::Calendar(calendar) => Some(calendar),
            Period::Fixed(_) | Period::FirstUse(_) => None,
        }
    }

    /// What a request of `cost` would meet at `now`.
    ///
    /// # Errors
    ///
    /// [`Stale`] if `periods` do not cover `now`.
    pub fn look(
        &self,
        state: Option<QuotaState>,
        cost: Cost,
        now: Timestamp,
        periods: Option<&Periods>,
    ) -> Result<Reading, Stale> {
        let current = self.current(state, now, periods)?;
        Ok(self.reading(current, self.room(current, cost), Span::ZERO))
    }

    /// Counts `cost`. Where attempts are counted this may go past the count, and the reading then
    /// says how long to stay away.
    ///
    /// # Errors
    ///
    /// [`Stale`] if `periods` do not cover `now`.
    pub fn take(
        &self,
        state: Option<QuotaState>,
        cost: Cost,
        now: Timestamp,
        periods: Option<&Periods>,
    ) -> Result<(QuotaState, Reading), Stale> {
        let mut current = self.current(state, now, periods)?;
        let room = self.room(current, cost);
        current.used = current.used.saturating_add(cost.get()).min(self.count + MAX_OVER);
        let over = current.used.saturating_sub(self.count);
        let backoff = self.counts.delay(over, current.end.since(current.now));
        let state = QuotaState { start: current.start, used: current.used };
        // No room comes before the period ends and a backoff is never longer than that, so the
        // wait `room` tells already is the longer of the two.
        Ok((state, self.reading(current, room, backoff)))
    }

    /// The instant at which `state` is as good as none: the end of its period.
    ///
    /// # Errors
    ///
    /// [`Stale`] if `periods` do not cover the state.
    pub fn fresh_at(
        &self,
        state: QuotaState,
        periods: Option<&Periods>,
    ) -> Result<Timestamp, Stale> {
        self.bounds(state.start, Some(state.start), periods).map(|(_, end)| end)
    }

    /// Reads a state that was written under the numbers of `old`.
    ///
    /// What was used stays used until the old period would have ended, or for one whole new
    /// period, whichever comes first.
    ///
    /// # Errors
    ///
    /// [`Stale`] if `periods` do not cover `now`.
    pub fn adopt(
        &self,
        old: &Self,
        state: QuotaState,
        now: Timestamp,
        periods: Option<&Periods>,
    ) -> Result<Option<QuotaState>, Stale> {
        let old_end = match &old.period {
            Period::Fixed(length) | Period::FirstUse(length) => state.start.after(*length),
            Period::Calendar(calendar) => calendar.around(state.start).bounds()[2],
        };
        let now = now.max(state.start);
        if now >= old_end {
            return Ok(None);
        }
        let start = match &self.period {
            Period::FirstUse(length) => {
                let start = old_end.as_micros().saturating_sub(length.as_micros());
                Timestamp::from_micros(start).clamp(state.start, now)
            }
            Period::Fixed(_) | Period::Calendar(_) => {
                self.bounds(now, None, periods)?.0.max(state.start)
            }
        };
        Ok(Some(QuotaState { start, used: state.used }))
    }

    /// A spent quota: what to assume of a state that cannot be read.
    #[must_use]
    pub const fn exhausted(&self, at: Timestamp) -> QuotaState {
        QuotaState { start: at, used: self.count }
    }

    fn current(
        &self,
        state: Option<QuotaState>,
        now: Timestamp,
        periods: Option<&Periods>,
    ) -> Result<Current, Stale> {
        let now = state.map_or(now, |state| now.max(state.start));
        let (start, end) = self.bounds(now, state.map(|state| state.start), periods)?;
        let used = state.filter(|state| state.start >= start).map_or(0, |state| state.used);
        // A period that was converted may begin within the one the clock shows.
        let start = state.map_or(start, |state| state.start.max(start));
        Ok(Current { now, start, end, used })
    }

    /// The period that contains `now`, for a key whose last period began at `begun`.
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
            Period::Fixed(length) => {
                let start = now.as_micros() - now.as_micros() % length.as_micros();
                let start = Timestamp::from_micros(start);
                Ok((start, start.after(*length)))
            }
            Period::Calendar(_) => {
                periods.and_then(|periods| periods.containing(now)).ok_or(Stale { now })
            }
        }
    }

    fn room(&self, current: Current, cost: Cost) -> Room {
        if cost.get() > self.count {
            Room::Never
        } else if current.used.saturating_add(cost.get()) <= self.count {
            Room::Now
        } else {
            Room::until(current.end, current.now)
        }
    }

    fn reading(&self, current: Current, room: Room, backoff: Span) -> Reading {
        let running = current.used > 0 || !matches!(self.period, Period::FirstUse(_));
        Reading {
            room,
            remaining: signed(self.count) - signed(current.used),
            reset_after: if running { current.end.since(current.now) } else { Span::ZERO },
            backoff,
        }
    }
}
