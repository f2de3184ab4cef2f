//! The token bucket: a smooth rate, and how much of it may come at once.
//!
//! Rates are usually kept as floating point tokens, or as "one token every so many nanoseconds".
//! The first drifts; the second cannot say 3 per second. Here the rate is a fraction in lowest
//! terms, `r/p` tokens per microsecond. A token is `p` units, each microsecond adds `r` of them,
//! and the bucket holds `burst · p`. All of it is whole numbers below 2⁵³, so a third of a second
//! is a third of a second, in Rust as in Lua.
//!
//! ```
//! use tidegate_core::{Bucket, Cost, Rate, Room, Span, Timestamp};
//!
//! let bucket = Bucket::try_new(Rate::per_second(3)?, 1)?;
//! let start = Timestamp::from_micros(1_000_000);
//!
//! let (state, reading) = bucket.take(None, Cost::ONE, start);
//! assert_eq!(reading.remaining, 0);
//!
//! let early = start.after(Span::from_micros(333_333));
//! assert_eq!(bucket.look(Some(state), Cost::ONE, early).room, Room::After(Span::from_micros(1)));
//! # Ok::<(), tidegate_core::ShapeError>(())
//! ```

use super::divisor::Divisor;
use super::{Reading, Room, ShapeError, share, signed};
use crate::cost::Cost;
use crate::time::{MAX_EXACT, Span, Timestamp};

/// A rate as it was written: a number of tokens per span of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    tokens: u64,
    per: Span,
}

/// A limit with a smooth rate and a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    rate: Rate,
    burst: u64,
    /// Units added per microsecond: the numerator in lowest terms.
    r: u64,
    /// Units in a token: the denominator in lowest terms.
    p: u64,
    /// Units in a full bucket: `burst · p`, below 2⁵³.
    capacity: u64,
    /// Divides units by `p`, which gives tokens.
    by_p: Divisor,
    /// Divides units by `r`, which gives microseconds.
    by_r: Divisor,
}

/// The state kept for one key whose bucket is not full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BucketState {
    /// Units in the bucket at `last`.
    pub level: u64,
    /// The time at which the level was `level`. The bucket never takes the time to be earlier than
    /// this.
    pub last: Timestamp,
}

// === impl Rate ===

impl Rate {
    /// `tokens` every `per`.
    ///
    /// # Errors
    ///
    /// If either is zero or beyond the exact range, or the rate is above 10⁹ per second.
    pub const fn try_new(tokens: u64, per: Span) -> Result<Self, ShapeError> {
        if tokens == 0 {
            return Err(ShapeError::ZeroRate);
        }
        if per.is_zero() {
            return Err(ShapeError::ZeroPeriod);
        }
        if per.as_micros() > MAX_EXACT {
            return Err(ShapeError::OutOfRange { what: "period in µs", largest: MAX_EXACT });
        }
        if tokens > MAX_EXACT {
            return Err(ShapeError::OutOfRange { what: "rate", largest: MAX_EXACT });
        }
        if tokens.div_ceil(1_000) > per.as_micros() {
            return Err(ShapeError::TooFast);
        }
        Ok(Self { tokens, per })
    }

    /// `tokens` every second.
    ///
    /// # Errors
    ///
    /// As [`Rate::try_new`].
    pub const fn per_second(tokens: u64) -> Result<Self, ShapeError> {
        Self::try_new(tokens, Span::SECOND)
    }

    /// `tokens` every minute.
    ///
    /// # Errors
    ///
    /// As [`Rate::try_new`].
    pub const fn per_minute(tokens: u64) -> Result<Self, ShapeError> {
        Self::try_new(tokens, Span::MINUTE)
    }

    /// The number of tokens per period, as written.
    #[must_use]
    pub const fn tokens(self) -> u64 {
        self.tokens
    }

    /// The period of the rate, as written.
    #[must_use]
    pub const fn per(self) -> Span {
        self.per
    }

    /// Whether this rate is slower than `other`, whatever periods they are written in.
    #[must_use]
    pub fn is_slower_than(self, other: Self) -> bool {
        let cross = |a: Self, b: Self| u128::from(a.tokens) * u128::from(b.per.as_micros());
        cross(self, other) < cross(other, self)
    }
}

// === impl Bucket ===

impl Bucket {
    /// A bucket with `1 / of` of the rate and of the burst, and one token of each at least.
    pub(super) fn share(&self, of: u64) -> Result<Self, ShapeError> {
        let rate = Rate::try_new(share(self.rate().tokens(), of), self.rate().per())?;
        Self::try_new(rate, share(self.burst(), of)).or_else(|error| match error {
            // The units of this rate are finer, so fewer tokens fit.
            ShapeError::TooLarge { largest_burst } => Self::try_new(rate, largest_burst),
            other => Err(other),
        })
    }

    /// A bucket that refills at `rate` and holds `burst` tokens.
    ///
    /// # Errors
    ///
    /// If the burst is zero, or so large that its units do not fit 53 bits.
    pub const fn try_new(rate: Rate, burst: u64) -> Result<Self, ShapeError> {
        if burst == 0 {
            return Err(ShapeError::ZeroBurst);
        }
        let divisor = gcd(rate.tokens, rate.per.as_micros());
        let (r, p) = (rate.tokens / divisor, rate.per.as_micros() / divisor);
        match burst.checked_mul(p) {
            Some(capacity) if capacity <= MAX_EXACT => {
                let (by_p, by_r) = (Divisor::new(p), Divisor::new(r));
                Ok(Self { rate, burst, r, p, capacity, by_p, by_r })
            }
            _ => Err(ShapeError::TooLarge { largest_burst: MAX_EXACT / p }),
        }
    }

    /// The rate, as written.
    #[must_use]
    pub const fn rate(&self) -> Rate {
        self.rate
    }

    /// Tokens in a full bucket.
    #[must_use]
    pub const fn burst(&self) -> u64 {
        self.burst
    }

    /// Units added per microsecond.
    #[must_use]
    pub const fn units_per_micro(&self) -> u64 {
        self.r
    }

    /// Units in one token.
    #[must_use]
    pub const fn units_per_token(&self) -> u64 {
        self.p
    }

    /// Whether there is room for a request of `cost` at `now`. A bucket never seen is full.
    #[must_use]
    #[inline]
    pub fn room(&self, state: Option<BucketState>, cost: Cost, now: Timestamp) -> Room {
        self.room_in(self.refilled(state, now), cost, now)
    }

    /// The reading that a request of `cost` would get at `now`.
    #[inline]
    pub fn look(&self, state: Option<BucketState>, cost: Cost, now: Timestamp) -> Reading {
        let refilled = self.refilled(state, now);
        self.look_in(refilled, self.room_in(refilled, cost, now), now)
    }

    /// Takes `cost`, which [`look`](Self::look) found room for. A cost that there is no room for
    /// empties the bucket: the level never goes below zero, so nothing has to be paid back.
    #[inline]
    pub fn take(
        &self,
        state: Option<BucketState>,
        cost: Cost,
        now: Timestamp,
    ) -> (BucketState, Reading) {
        self.take_in(self.refilled(state, now), cost, now)
    }

    /// Whether there is room for `cost` in a bucket that was [refilled](Self::refilled) at `now`. A
    /// store that looks and then takes thus refills the bucket only once.
    #[must_use]
    #[inline]
    pub fn room_in(&self, refilled: BucketState, cost: Cost, now: Timestamp) -> Room {
        if cost.get() > self.burst { Room::Never } else { self.room_for(refilled, cost.get(), now) }
    }

    /// The reading of a request in a bucket that was [refilled](Self::refilled) at `now` and has [this
    /// room](Self::room_in) for it.
    #[inline(always)]
    pub fn look_in(&self, refilled: BucketState, room: Room, now: Timestamp) -> Reading {
        let reset_after = self.time_to_full(refilled).told_at(now, refilled.last);
        Reading::of(room, signed(self.by_p.floor(refilled.level)), reset_after)
    }

    /// [Takes](Self::take) `cost` from a bucket that was [refilled](Self::refilled) at `now`.
    #[inline]
    pub fn take_in(
        &self,
        mut refilled: BucketState,
        cost: Cost,
        now: Timestamp,
    ) -> (BucketState, Reading) {
        refilled.level = refilled.level.saturating_sub(cost.get().saturating_mul(self.p));
        (refilled, self.look_in(refilled, Room::Now, now))
    }

    /// Gives back `cost`, which was taken at `taken_at`, up to a full bucket. Returns the state and the
    /// whole tokens given back. Nothing is given back once an empty bucket would have filled since
    /// `taken_at`: as much has run in meanwhile, and old refunds would add up to more than a burst.
    #[must_use]
    pub fn give_back(
        &self,
        state: BucketState,
        cost: Cost,
        taken_at: Timestamp,
        now: Timestamp,
    ) -> (BucketState, u64) {
        let before = self.refilled(Some(state), now);
        let run_in = self.r.saturating_mul(now.since(taken_at).as_micros());
        if run_in >= self.capacity {
            return (before, 0);
        }
        let level = before.level.saturating_add(cost.get().saturating_mul(self.p));
        let level = level.min(self.capacity);
        (BucketState { level, ..before }, self.by_p.floor(level - before.level))
    }

    /// The instant at which the bucket is full and `state` need not be kept.
    #[inline]
    #[must_use]
    pub fn fresh_at(&self, state: BucketState) -> Timestamp {
        state.last.after(self.time_to_full(state))
    }

    /// The reading of a request whose state was written under the numbers of `old`.
    ///
    /// A change of numbers grants nothing: until it is written again, such a state is read under the
    /// stricter numbers, the slower rate and the smaller burst. Once the bucket is full under those,
    /// the state counts as none.
    pub fn look_inherited(
        &self,
        old: &Self,
        state: BucketState,
        cost: Cost,
        now: Timestamp,
    ) -> Reading {
        let stricter = self.stricter(old);
        let state = stricter.refilled(Some(stricter.converted(old, state)), now);
        if state.level == stricter.capacity {
            return self.look(None, cost, now);
        }
        let room = if cost.get() > self.burst {
            Room::Never
        } else {
            // A cost that only fits the larger burst has room once the bucket is as good as new.
            stricter.room_for(state, cost.get().min(stricter.burst), now)
        };
        stricter.look_in(state, room, now)
    }

    /// Converts a state written under the numbers of `old` to these numbers, as
    /// [`look_inherited`](Self::look_inherited) sees it; `None` for a full bucket. If the units differ,
    /// a part of a token is dropped.
    #[must_use]
    pub fn inherit(&self, old: &Self, state: BucketState, now: Timestamp) -> Option<BucketState> {
        let stricter = self.stricter(old);
        let state = stricter.refilled(Some(stricter.converted(old, state)), now);
        (state.level < stricter.capacity).then(|| self.converted(&stricter, state))
    }

    /// An empty bucket: the state to assume when the stored one cannot be read.
    #[must_use]
    pub const fn exhausted(&self, at: Timestamp) -> BucketState {
        BucketState { level: 0, last: at }
    }

    /// A bucket with the slower rate and the smaller burst of the two. It has the units of the slower
    /// bucket, whose own burst is no smaller, so they fit.
    pub(crate) fn stricter(&self, other: &Self) -> Self {
        let slower = if other.rate.is_slower_than(self.rate) { other } else { self };
        let burst = self.burst.min(other.burst);
        Self { burst, capacity: burst * slower.p, ..*slower }
    }

    /// A bucket with the slower rate and the larger burst of the two, as far as that is exact: an empty one
    /// takes no less time to fill than either.
    pub(crate) fn slower(&self, other: &Self) -> Self {
        let slower = if other.rate.is_slower_than(self.rate) { other } else { self };
        let burst = self.burst.max(other.burst).min(MAX_EXACT / slower.p);
        Self { burst, capacity: burst * slower.p, ..*slower }
    }

    /// Converts a level in the units of `from` to the units of this bucket, in whole tokens if they
    /// differ.
    fn converted(&self, from: &Self, state: BucketState) -> BucketState {
        let level = if from.p == self.p {
            state.level
        } else {
            (state.level / from.p).saturating_mul(self.p)
        };
        BucketState { level: level.min(self.capacity), ..state }
    }

    /// The state at `now`, with the units that have run in since. A bucket never seen is full.
    #[must_use]
    #[inline]
    pub fn refilled(&self, state: Option<BucketState>, now: Timestamp) -> BucketState {
        let Some(BucketState { level, last }) = state else {
            return BucketState { level: self.capacity, last: now };
        };
        let refill = self.r.saturating_mul(now.since(last).as_micros());
        let level = level.saturating_add(refill).min(self.capacity);
        BucketState { level, last: now.max(last) }
    }

    #[inline]
    fn room_for(&self, state: BucketState, tokens: u64, now: Timestamp) -> Room {
        match (tokens * self.p).saturating_sub(state.level) {
            0 => Room::Now,
            missing => {
                let wait = Span::from_micros(self.by_r.ceil(missing));
                Room::After(wait.told_at(now, state.last))
            }
        }
    }

    /// How long after `last` the bucket is full and its state need not be kept.
    #[must_use]
    #[inline]
    pub fn time_to_full(&self, state: BucketState) -> Span {
        Span::from_micros(self.by_r.ceil(self.capacity.saturating_sub(state.level)))
    }
}

const fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
