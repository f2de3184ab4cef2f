//! What a store keeps of one counter, and what a charge makes of it.
//!
//! A store that does not work on packed state of its own only has to keep a [`Kept`] for each key.
//! Everything else is here: what a charge meets, what is left once it is counted, and what comes back
//! when a ticket is settled. State that was written under other numbers is read as
//! [chapter 8](crate::book::ch8_changing_numbers) says.

use crate::charge::Charge;
use crate::settlement::{Move, Settled, Way};
use crate::shape::{
    AttemptsState, Bucket, BucketState, QuotaState, Reading, Shape, Stale, Window, WindowState,
};
use crate::time::Timestamp;

/// The state of one counter, with the numbers it was written under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Of a bucket.
    Bucket(BucketState, Bucket),
    /// Of a window.
    Window(Box<WindowState>, Window),
    /// Of a quota. What was used is a fact, whatever numbers it was written under.
    Quota(QuotaState),
    /// Of attempts. When they were made and until when they are blocked are facts, too.
    Attempts(Box<AttemptsState>),
}

// === impl Kept ===

impl Kept {
    /// A counter of this shape of which nothing is left at a time.
    pub(crate) fn exhausted(shape: &Shape, at: Timestamp) -> Self {
        match shape {
            Shape::Bucket(bucket) => Self::Bucket(bucket.exhausted(at), *bucket),
            Shape::Window(window) => Self::Window(Box::new(window.exhausted(at)), window.clone()),
            Shape::Quota(quota) => Self::Quota(quota.exhausted(at)),
            Shape::Attempts(attempts) => Self::Attempts(Box::new(attempts.exhausted(at))),
        }
    }
}

// === impl Charge ===

impl Charge<'_> {
    /// What the charge meets at `now`. State of another shape is as good as none.
    ///
    /// # Errors
    ///
    /// [`Stale`] if its calendar periods do not cover `now`.
    pub fn look(&self, kept: Option<&Kept>, now: Timestamp) -> Result<Reading, Stale> {
        let cost = self.cost();
        Ok(match (self.shape(), kept) {
            (Shape::Bucket(bucket), Some(Kept::Bucket(state, old))) if bucket != old => {
                bucket.look_inherited(old, *state, cost, now)
            }
            (Shape::Bucket(bucket), Some(Kept::Bucket(state, _))) => {
                bucket.look(Some(*state), cost, now)
            }
            (Shape::Bucket(bucket), _) => bucket.look(None, cost, now),
            (Shape::Window(window), kept) => {
                window.look(of_window(window, kept).as_ref(), cost, now)
            }
            (Shape::Quota(quota), kept) => {
                quota.look(of_quota(kept), cost, now, self.periods().as_ref())?
            }
            (Shape::Attempts(attempts), kept) => {
                attempts.look(of_attempts(kept), self.member(), now)
            }
        })
    }

    /// What is kept once the charge is counted at `now`, whether or not there is room.
    ///
    /// # Errors
    ///
    /// [`Stale`] if its calendar periods do not cover `now`.
    pub fn take(&self, kept: Option<&Kept>, now: Timestamp) -> Result<(Kept, Reading), Stale> {
        let cost = self.cost();
        Ok(match self.shape() {
            Shape::Bucket(bucket) => {
                let (state, reading) = bucket.take(of_bucket(bucket, kept, now), cost, now);
                (Kept::Bucket(state, *bucket), reading)
            }
            Shape::Window(window) => {
                let (state, reading) = window.take(of_window(window, kept).as_ref(), cost, now);
                (Kept::Window(Box::new(state), window.clone()), reading)
            }
            Shape::Quota(quota) => {
                let (state, reading) =
                    quota.take(of_quota(kept), cost, now, self.periods().as_ref())?;
                (Kept::Quota(state), reading)
            }
            Shape::Attempts(attempts) => {
                let (state, reading) = attempts.take(of_attempts(kept), self.member(), now);
                (Kept::Attempts(Box::new(state)), reading)
            }
        })
    }

    /// What is kept once what was taken at `taken_at` is given back, and how much that was. Nothing,
    /// if nothing was kept.
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
                let state = of_bucket(bucket, kept, now)?;
                let (state, units) = bucket.give_back(state, cost, taken_at, now);
                (Kept::Bucket(state, *bucket), units)
            }
            Shape::Window(window) => {
                let state = of_window(window, kept)?;
                let (state, units) = window.give_back(&state, cost, taken_at, now);
                (Kept::Window(Box::new(state), window.clone()), units)
            }
            Shape::Quota(quota) => {
                let (state, units) = quota.give_back(of_quota(kept)?, cost, taken_at);
                (Kept::Quota(state), units)
            }
            Shape::Attempts(attempts) => {
                let state = of_attempts(kept)?;
                let (state, units) = attempts.give_back(state, self.member(), taken_at, now);
                (Kept::Attempts(Box::new(state)), units)
            }
        })
    }
}

// === impl Move ===

impl Move<'_> {
    /// What is kept once the move is made, if it changes anything, and what was moved.
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
            Way::Forgive => match (self.charge.shape(), of_attempts(kept)) {
                (Shape::Attempts(_), Some(state)) => {
                    let (state, units) = state.clone().forgiven();
                    settled.returned = units;
                    Some(Kept::Attempts(Box::new(state)))
                }
                _ => None,
            },
            Way::There => {
                // Of a bucket at most what is in it.
                let there = match self.charge.shape() {
                    Shape::Bucket(_) => {
                        self.charge.look(kept, now)?.remaining.max(0).unsigned_abs()
                    }
                    Shape::Window(_) | Shape::Quota(_) | Shape::Attempts(_) => u64::MAX,
                };
                settled.added = self.charge.cost().get().min(there);
                Some(self.charge.take(kept, now)?.0)
            }
        };
        Ok((kept, settled))
    }
}

fn of_bucket(bucket: &Bucket, kept: Option<&Kept>, now: Timestamp) -> Option<BucketState> {
    match kept {
        Some(Kept::Bucket(state, old)) if bucket != old => bucket.inherit(old, *state, now),
        Some(Kept::Bucket(state, _)) => Some(*state),
        _ => None,
    }
}

pub(crate) fn of_window(window: &Window, kept: Option<&Kept>) -> Option<WindowState> {
    match kept {
        Some(Kept::Window(state, old)) if window != old => Some(window.inherit(old, state)),
        Some(Kept::Window(state, _)) => Some((**state).clone()),
        _ => None,
    }
}

fn of_quota(kept: Option<&Kept>) -> Option<QuotaState> {
    match kept {
        Some(Kept::Quota(state)) => Some(*state),
        _ => None,
    }
}

fn of_attempts(kept: Option<&Kept>) -> Option<&AttemptsState> {
    match kept {
        Some(Kept::Attempts(state)) => Some(state),
        _ => None,
    }
}
