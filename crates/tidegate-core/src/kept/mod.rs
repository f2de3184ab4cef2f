//! The state that a store keeps of one counter, how a charge changes it, and how it is written down.
//!
//! A store that does not work on packed state of its own only has to keep a [`Kept`] for each key.
//! Everything else is here: what a charge meets, what is left once it is counted, and what comes back
//! when a ticket is settled. State that was written under other numbers is read as
//! [chapter 8](crate::book::ch8_changing_numbers) says.
//!
//! Each shape has a file here with all that is particular to it; this one only chooses among them. The
//! bytes are those of a [`Record`]:
//!
//! | state | begins | then |
//! |---|---|---|
//! | bucket | `b1` | `r`, `p` and burst it was written under, level in units, time of that level, expiry in ms |
//! | quota | `q1` | start of the period, units used, expiry in ms |
//! | window, exact | `r1` | one byte: how many times follow; expiry in ms, the times, oldest first |
//! | window, counted | `g1` | length it was written under, newest time, end of the backoff, expiry in ms, 61 counts of 32 bits |
//! | attempts | `a1` | the rest of the [`Head`]; the times, oldest first; then their members, if there are any |

mod attempts;
mod bucket;
mod quota;
mod window;

pub use attempts::Head;

use crate::charge::Charge;
use crate::record::{Flaw, Record};
use crate::settlement::{Move, Settled, Way};
use crate::shape::{
    AttemptsState, Bucket, BucketState, Kind, QuotaState, Reading, Shape, Stale, Window,
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
    pub(crate) const fn kind_of(letter: u8) -> Option<Kind> {
        match letter {
            b'b' => Some(Kind::Bucket),
            b'q' => Some(Kind::Quota),
            b'r' | b'g' => Some(Kind::Window),
            b'a' => Some(Kind::Attempts),
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
            (Self::Bucket(_, old), Self::Bucket(_, new)) => bucket::is_like(old, new),
            (Self::Window(old, _), Self::Window(new, _)) => window::is_like(old, new),
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
            Shape::Window(window) => window::look(window, kept, cost, now),
            Shape::Quota(quota) => quota::look(quota, kept, self, now)?,
            Shape::Attempts(attempts) => attempts::look(attempts, kept, self, now),
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
            Shape::Bucket(bucket) => bucket::take(bucket, kept, cost, now),
            Shape::Window(window) => window::take(window, kept, cost, now),
            Shape::Quota(quota) => quota::take(quota, kept, self, now)?,
            Shape::Attempts(attempts) => attempts::take(attempts, kept, self, now),
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
        match self.shape() {
            Shape::Bucket(bucket) => bucket::give_back(bucket, kept, cost, taken_at, now),
            Shape::Window(window) => window::give_back(window, kept, cost, taken_at, now),
            Shape::Quota(quota) => quota::give_back(quota, kept, cost, taken_at),
            Shape::Attempts(attempts) => attempts::give_back(attempts, kept, self, taken_at, now),
        }
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
        let mut settled = Settled::default();
        let kept = match self.way {
            Way::Back => self.charge.give_back(kept, taken_at, now).map(|(kept, units)| {
                settled.returned = units;
                kept
            }),
            Way::Forgive => match (self.charge.shape(), kept.and_then(Kept::log)) {
                (Shape::Attempts(_), Some(state)) => {
                    let (state, units) = state.clone().forgiven();
                    settled.returned = units;
                    Some(Kept::Attempts(Box::new(state)))
                }
                _ => None,
            },
            Way::There => {
                // From a bucket, at most what is in it can be taken.
                let there = match self.charge.shape().stops_at_empty() {
                    true => self.charge.look(kept, now)?.remaining.max(0).unsigned_abs(),
                    false => u64::MAX,
                };
                settled.added = self.charge.cost().get().min(there);
                Some(self.charge.take(kept, now)?.0)
            }
        };
        Ok((kept, settled))
    }
}
