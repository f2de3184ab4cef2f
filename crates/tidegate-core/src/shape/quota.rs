//! A budget per period: 10,000 a day, a million a month from the customer's billing day.
//!
//! The state is the start of a period and what was used in it. Which period a request falls in is
//! decided by the clock of the store; where periods follow a calendar, the charge brings the
//! boundaries along ([`Periods`]), because no store should know time zones.
//!
//! What was used is a fact that outlives a reload: it counts until the period that it was used in would
//! have ended, and longer if that began within the period now in force. Once more is used, all of it
//! counts until the later of both ends: a state has one count, and nothing is granted by a change.
//!
//! A quota says nothing about speed. Put a [`Bucket`](super::Bucket) beside it in the same policy,
//! and both are charged together or not at all.

use super::{
    Calendar, Counts, MAX_OVER, Periods, Reading, Room, ShapeError, Stale, checked_count,
    checked_length, left,
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
    /// When that period ends. Where another period is in force, what was used counts until then: to the
    /// millisecond, which is all that a shared store remembers of it. [`Timestamp::ZERO`] leaves it to
    /// the period in force.
    pub end: Timestamp,
}

/// A period with what was used in it.
#[derive(Clone, Copy)]
struct Current {
    /// What the clock shows, from which waits are told.
    told_at: Timestamp,
    /// The same, or the latest time that the state has seen.
    now: Timestamp,
    start: Timestamp,
    /// When the period ends, with whatever is used from now on.
    end: Timestamp,
    /// When what was used so far stops counting: `end`, or earlier if it was used under a period that
    /// is no longer in force.
    until: Timestamp,
    used: u64,
}

// === impl Period ===

impl Period {
    /// How long it lasts; of a calendar, the longest that one lasts ([`Unit::longest`](super::Unit::longest)).
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
    /// The largest count: with all the refused attempts that are counted it is still exact.
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

    /// What a request of `cost` would meet at `now`.
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

    /// Counts `cost`. Where attempts are counted this may go past the count, and the reading then
    /// says how long to stay away.
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
        // No room comes before the period ends and a backoff is never longer than that, so the
        // wait for room already is the longer of the two.
        let wait = self.room_in(current, cost).wait();
        Ok((state, Reading { wait, ..self.reading(current, room, backoff) }))
    }

    /// Gives back what was taken at `taken_at`, unless another period has begun since, and says how
    /// much that was.
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

    /// The state of an entry that was written under these numbers, with the end of its period.
    #[must_use]
    pub fn ending(&self, state: QuotaState) -> QuotaState {
        let end = match &self.period {
            Period::FirstUse(length) => state.start.after(*length),
            Period::Fixed(length) => aligned(state.start, *length).1,
            Period::Calendar(calendar) => calendar.end_of(state.start),
        };
        QuotaState { end, ..state }
    }

    /// Whether what was used under another period counts for longer than the period in force lasts. Then
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

    /// A spent quota: what to assume of a state that cannot be read.
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
        // Where nothing is used, as after a refund, no period has begun with it.
        let begun = state.filter(|state| state.used > 0).map(|state| state.start);
        let (start, end) = self.bounds(now, begun, periods)?;
        let fresh = Current { told_at, now, start, end, until: end, used: 0 };
        let Some(state) = state else { return Ok(fresh) };
        let (used, lasts) = (state.used, state.lasts());
        Ok(if state.start >= start || end < lasts {
            // It began within the period the clock shows, or it outlasts that.
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
        Reading {
            room,
            wait: room.wait(),
            remaining: left(self.count, current.used, &self.counts),
            reset_after: if running { current.until.since(current.told_at) } else { Span::ZERO },
            backoff,
            attempts: None,
        }
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
    /// Until when it counts whatever period is in force: the end of its own, in whole milliseconds.
    #[inline]
    fn lasts(&self) -> Timestamp {
        if self.used == 0 || self.end == Timestamp::ZERO {
            return Timestamp::ZERO;
        }
        let end = self.end.as_micros();
        Timestamp::from_micros(end - end % 1_000)
    }
}
