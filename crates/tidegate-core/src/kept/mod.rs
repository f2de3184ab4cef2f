//! The state that a store keeps of one counter, how a charge changes it, and how it is written down.
//!
//! A store that does not work on packed state of its own only has to keep a [`Kept`] for each key.
//! Everything else is here: what a charge meets, what is left once it is counted, and what comes back
//! when a ticket is settled. State that was written under other numbers is read as
//! [chapter 8](crate::book::ch8_changing_numbers) says.
//!
//! Each shape has a file here for what is particular to it, such as its bytes; this one chooses among
//! them. The bytes are those of a [`Record`]:
//!
//! | state | begins | then |
//! |---|---|---|
//! | bucket | `b1` | `r`, `p` and burst it was written under, level in units, time of that level, expiry in ms |
//! | quota | `q1` | start of the period, units used, expiry in ms |
//! | window, exact | `r1` | one byte: how many times follow; expiry in ms, the times, oldest first |
//! | window, counted | `g1` | length it was written under, newest time, end of the backoff, expiry in ms, 61 counts of 32 bits |
//! | attempts | `a1` | the rest of the [`AttemptsHead`]; the times, oldest first; then their members, if there are any |

mod attempts;
mod bucket;
mod quota;
mod window;

pub use attempts::AttemptsHead;

use core::mem::discriminant;

use crate::charge::Charge;
use crate::record::{Flaw, Record};
use crate::settlement::{Move, MoveDirection, Settled};
use crate::shape::{
    AttemptsState, Bucket, BucketState, QuotaState, Reading, Shape, ShapeKind, Stale, Window,
    WindowState,
};
use crate::time::Timestamp;

/// The state of one counter, with the numbers it was written under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kept {
    /// The state of a bucket, and the bucket it was written under.
    Bucket(BucketState, Bucket),
    /// The state of a window, and the window it was written under.
    Window(Box<WindowState>, Window),
    /// The state of a quota. What was used is a fact, whatever numbers it was written under.
    Quota(QuotaState),
    /// The state of an abuse log. The times of attempts and the end of a block are facts, whatever
    /// numbers they were written under.
    Attempts(Box<AttemptsState>),
}

// === impl Kept ===

impl Kept {
    /// The state of a counter of this shape with nothing left at `at`.
    pub(crate) fn exhausted(shape: &Shape, at: Timestamp) -> Self {
        match shape {
            Shape::Bucket(bucket) => Self::Bucket(bucket.exhausted(at), *bucket),
            Shape::Window(window) => Self::Window(Box::new(window.exhausted(at)), window.clone()),
            Shape::Quota(quota) => Self::Quota(quota.exhausted(at)),
            Shape::Attempts(attempts) => Self::Attempts(Box::new(attempts.exhausted(at))),
        }
    }

    /// The abuse log, if this is the state of one.
    pub(crate) fn log(&self) -> Option<&AttemptsState> {
        match self {
            Self::Attempts(state) => Some(state),
            Self::Bucket(..) | Self::Window(..) | Self::Quota(_) => None,
        }
    }

    /// The kind of counter whose records begin with this letter.
    pub(crate) const fn kind_of(letter: u8) -> Option<ShapeKind> {
        match letter {
            b'b' => Some(ShapeKind::Bucket),
            b'q' => Some(ShapeKind::Quota),
            b'r' | b'g' => Some(ShapeKind::Window),
            b'a' => Some(ShapeKind::Attempts),
            _ => None,
        }
    }

    /// Takes a record off the front of `bytes`, which begin with `letter`: a record of this shape, or of
    /// attempts if there is no shape. Nothing in it is believed before it has been checked.
    pub(crate) fn read(
        bytes: &mut &[u8],
        letter: u8,
        shape: Option<&Shape>,
    ) -> Result<Record, Flaw> {
        match shape {
            Some(Shape::Bucket(wanted)) => bucket::read(bytes, wanted),
            Some(Shape::Quota(_)) => quota::read(bytes),
            Some(Shape::Window(wanted)) => window::read(bytes, letter, wanted),
            Some(Shape::Attempts(_)) | None => attempts::read(bytes),
        }
    }

    /// The bytes of the record.
    pub(crate) fn write(&self, limit: u64, expires_at_ms: u64) -> Vec<u8> {
        match self {
            Self::Bucket(state, under) => bucket::write(state, under, expires_at_ms),
            Self::Window(state, under) => window::write(state, under, expires_at_ms),
            Self::Quota(state) => quota::write(state, expires_at_ms),
            Self::Attempts(state) => attempts::write(state, limit, expires_at_ms),
        }
    }

    /// When a store may forget what a charge of this shape left at `now`, in ms: at the stored expiry if
    /// that covers what has to be remembered, otherwise later.
    pub(crate) fn expires_at_ms(
        &self,
        shape: &Shape,
        before: Option<&Self>,
        stored: Option<u64>,
        now: Timestamp,
    ) -> u64 {
        match (shape, self) {
            (Shape::Bucket(bucket), Self::Bucket(state, _)) => {
                bucket::expires_at_ms(bucket, *state, stored)
            }
            (Shape::Window(window), Self::Window(state, _)) => {
                window::expires_at_ms(window, before, state, stored)
            }
            (Shape::Quota(_), Self::Quota(state)) => quota::expires_at_ms(state),
            (Shape::Attempts(attempts), Self::Attempts(state)) => {
                attempts::expires_at_ms(attempts, state, stored, now)
            }
            // A charge leaves a state of its own shape; any other state may be forgotten at once.
            _ => now.as_micros() / 1_000 + 1,
        }
    }

    /// Whether `new` is written in the same form as this state, and a bucket under the same numbers: then
    /// the expiry may stay.
    pub(crate) fn has_form_of(&self, new: &Self) -> bool {
        match (self, new) {
            (Self::Bucket(_, old), Self::Bucket(_, new)) => {
                bucket::numbers(old) == bucket::numbers(new)
            }
            (Self::Window(old, _), Self::Window(new, _)) => {
                discriminant(&**old) == discriminant(&**new)
            }
            (Self::Quota(_), Self::Quota(_)) | (Self::Attempts(_), Self::Attempts(_)) => true,
            _ => false,
        }
    }
}

// === impl Charge ===

impl Charge<'_> {
    /// The reading that the charge meets at `now`. State of another shape is as good as none.
    ///
    /// # Errors
    ///
    /// [`Stale`] if its calendar periods do not cover `now`.
    pub fn look(&self, kept: Option<&Kept>, now: Timestamp) -> Result<Reading, Stale> {
        let cost = self.cost();
        Ok(match self.shape() {
            Shape::Bucket(bucket) => bucket::look(bucket, kept, cost, now),
            Shape::Window(window) => window.look(window::state(window, kept).as_ref(), cost, now),
            Shape::Quota(quota) => {
                quota.look(quota::state(kept), cost, now, self.periods().as_ref())?
            }
            Shape::Attempts(attempts) => {
                attempts.look(kept.and_then(Kept::log), self.member(), now)
            }
        })
    }

    /// The state and the reading once the charge is counted at `now`, whether or not there is room.
    ///
    /// # Errors
    ///
    /// [`Stale`] if its calendar periods do not cover `now`.
    pub fn take(&self, kept: Option<&Kept>, now: Timestamp) -> Result<(Kept, Reading), Stale> {
        let cost = self.cost();
        Ok(match self.shape() {
            Shape::Bucket(bucket) => {
                let (state, reading) = bucket.take(bucket::state(bucket, kept, now), cost, now);
                (Kept::Bucket(state, *bucket), reading)
            }
            Shape::Window(window) => {
                let (state, reading) = window.take(window::state(window, kept).as_ref(), cost, now);
                (Kept::Window(Box::new(state), window.clone()), reading)
            }
            Shape::Quota(quota) => {
                let periods = self.periods();
                let (state, reading) =
                    quota.take(quota::state(kept), cost, now, periods.as_ref())?;
                (Kept::Quota(state), reading)
            }
            Shape::Attempts(attempts) => {
                let (state, reading) = attempts.take(kept.and_then(Kept::log), self.member(), now);
                (Kept::Attempts(Box::new(state)), reading)
            }
        })
    }

    /// The state once the units that were taken at `taken_at` are given back, and how many they were.
    /// `None` if no state was kept.
    #[must_use]
    pub fn give_back(
        &self,
        kept: Option<&Kept>,
        taken_at: Timestamp,
        now: Timestamp,
    ) -> Option<(Kept, u64)> {
        let cost = self.cost();
        Some(match self.shape() {
            Shape::Bucket(bucket) => {
                let state = bucket::state(bucket, kept, now)?;
                let (state, units) = bucket.give_back(state, cost, taken_at, now);
                (Kept::Bucket(state, *bucket), units)
            }
            Shape::Window(window) => {
                let state = window::state(window, kept)?;
                let (state, units) = window.give_back(&state, cost, taken_at, now);
                (Kept::Window(Box::new(state), window.clone()), units)
            }
            Shape::Quota(quota) => {
                let (state, units) = quota.give_back(quota::state(kept)?, cost, taken_at);
                (Kept::Quota(state), units)
            }
            Shape::Attempts(attempts) => {
                let state = kept.and_then(Kept::log)?;
                let (state, units) = attempts.give_back(state, self.member(), taken_at, now);
                (Kept::Attempts(Box::new(state)), units)
            }
        })
    }
}

// === impl Move ===

impl Move<'_> {
    /// The state once the move is made, `None` if it changes nothing, and the units that were moved.
    ///
    /// # Errors
    ///
    /// [`Stale`] if its calendar periods do not cover `now`.
    pub fn apply(
        &self,
        kept: Option<&Kept>,
        taken_at: Timestamp,
        now: Timestamp,
    ) -> Result<(Option<Kept>, Settled), Stale> {
        let back = match (self.way, self.charge.shape(), kept.and_then(Kept::log)) {
            (MoveDirection::Back, ..) => self.charge.give_back(kept, taken_at, now),
            (MoveDirection::Forgive, Shape::Attempts(_), Some(state)) => {
                let (state, units) = state.clone().forgiven();
                Some((Kept::Attempts(Box::new(state)), units))
            }
            (MoveDirection::Forgive, ..) => None,
            (MoveDirection::There, ..) => {
                // From a bucket, at most what is in it can be taken.
                let there = match self.charge.shape().stops_at_empty() {
                    true => self.charge.look(kept, now)?.remaining.max(0).unsigned_abs(),
                    false => u64::MAX,
                };
                let added = self.charge.cost().get().min(there);
                let (kept, _) = self.charge.take(kept, now)?;
                return Ok((Some(kept), Settled { returned: 0, added }));
            }
        };
        let (kept, returned) = back.unzip();
        Ok((kept, Settled { returned: returned.unwrap_or(0), added: 0 }))
    }
}
