//! A fraction of each limit, for one node: a tenth where requests cost money or cannot be undone, and one
//! part in so many as there are nodes for calls to other services.
//!
//! Each limit goes on in its own shape and on its own keys, with a fraction of its count, rate and burst.
//! Nothing is added that the limit does not say: no request a second for everybody, and no guardrail by
//! address, because a language model is paid for by the organisation and not by the network a request
//! comes from, and services call from few addresses. Only admitted requests are counted, at their full
//! cost.
//!
//! Memory is bounded by the number of keys. A key that finds no place is counted in a cell that it
//! shares with other keys, and in a cell of its network. That may refuse too much but never too little.

use super::keyed::{Keyed, SWEEP, Used, Whose};
use super::shares::CallerNetwork;
use crate::charge::Charge;
use crate::failover::contract::Cap;
use crate::failover::failsafe::Guarded;
use crate::kept::Kept;
use crate::shape::{Reading, Room, Shape};
use crate::time::Timestamp;

/// The most keys that are counted by themselves, for each policy.
const MOST_KEYS: usize = 16_384;
/// The number of parts that the cells of all limits are divided into, so that their number is bounded
/// however many limits there are.
const CELL_PARTS: u64 = 64;

/// The counts under a fraction of each limit, for one policy.
#[derive(Clone, Debug)]
pub(super) struct Fractions {
    spent: Keyed<Spent>,
    /// The fraction that a node has of each limit: one part in so many.
    of: u64,
}

/// The count of one key, or of one cell.
#[derive(Clone, Debug)]
struct Spent {
    kept: Kept,
    /// The fraction of the limit that it was counted under.
    fraction: Shape,
    /// When something was counted last.
    at: Timestamp,
}

// === impl Fractions ===

impl Fractions {
    pub(super) fn with_room_for(keys: usize, of: u64) -> Self {
        Self { spent: Keyed::with_room_for(keys.min(MOST_KEYS)), of }
    }

    /// Changes the fraction. What was counted stays counted.
    pub(super) const fn follow(&mut self, of: u64) {
        self.of = of;
    }

    /// What is left under the fraction of a charge's limit; an error if no wait helps, because the request
    /// costs more than the fraction ever holds.
    pub(super) fn left(
        &mut self,
        charge: &Charge<'_>,
        network: CallerNetwork,
        now: Timestamp,
    ) -> Result<Guarded, Guarded> {
        self.spent.sweep(SWEEP, now);
        let fraction = self.fraction(charge, now).ok_or(Guarded::NOTHING)?;
        let look = |kept: Option<Kept>| {
            let looked = charge.under(&fraction).look(kept.as_ref(), now);
            let reading = looked.map_err(|_| Guarded::NOTHING)?;
            let left = guarded(charge, &fraction, reading);
            if reading.room == Room::Never { Err(left) } else { Ok(left) }
        };
        let whose = whose(charge, network);
        let own = look(self.kept(whose, &fraction, now))?;
        match self.spent.beside(whose) {
            Some(beside) => Ok(own.tighter(look(Some(beside.under(&fraction)))?)),
            None => Ok(own),
        }
    }

    /// Counts a charge that there is room for, and returns what is left.
    pub(super) fn take(
        &mut self,
        charge: &Charge<'_>,
        network: CallerNetwork,
        now: Timestamp,
    ) -> Guarded {
        let Some(fraction) = self.fraction(charge, now) else { return Guarded::NOTHING };
        let take = |kept: Option<Kept>| {
            let (kept, reading) = charge.under(&fraction).take(kept.as_ref(), now).ok()?;
            let (fraction, fresh_at) = (fraction.clone(), now.after(reading.reset_after));
            let left = guarded(charge, &fraction, reading);
            Some((Used { count: Spent { kept, fraction, at: now }, fresh_at }, left))
        };
        let whose = whose(charge, network);
        let Some((used, left)) = take(self.kept(whose, &fraction, now)) else {
            return Guarded::NOTHING;
        };
        let beside = |beside: Option<&Spent>| {
            take(beside.map(|beside| beside.under(&fraction))).map(|(used, _)| used)
        };
        self.spent.put(whose, used, beside, now);
        left
    }

    /// The fraction of a charge's limit, which counts admitted requests only.
    fn fraction(&self, charge: &Charge<'_>, now: Timestamp) -> Option<Shape> {
        // Calendar periods are those around this node's time, because the store is not asked.
        charge.refresh(now);
        charge.shape().share(self.of).ok()
    }

    pub(super) fn is_fresh(&self, now: Timestamp) -> bool {
        self.spent.is_fresh(now)
    }

    /// The keys that are counted by themselves.
    #[cfg(test)]
    pub(super) fn places(&self) -> usize {
        self.spent.keys.len()
    }

    /// The count of a key: its own, or else that of its cell.
    fn kept(&self, whose: Whose, fraction: &Shape, now: Timestamp) -> Option<Kept> {
        let own = self.spent.own(whose).map(|spent| spent.kept.clone());
        own.or_else(|| self.spent.in_cell(whose, now).map(|spent| spent.under(fraction)))
    }
}

// === impl Spent ===

impl Spent {
    /// The count of a cell for a key with this fraction. Keys of one cell may have different numbers; a
    /// count made under other numbers is taken to have used up everything.
    fn under(&self, fraction: &Shape) -> Kept {
        match self.fraction == *fraction {
            true => self.kept.clone(),
            false => Kept::exhausted(fraction, self.at),
        }
    }
}

/// The key of a charge, which shares cells with keys of some limits.
fn whose(charge: &Charge<'_>, network: CallerNetwork) -> Whose {
    Whose { limit: charge.limit().id() % CELL_PARTS, ..Whose::of(charge, network) }
}

/// A reading in the terms of a cap. The cap of a bucket is its burst, in the time that fills it.
fn guarded(charge: &Charge<'_>, fraction: &Shape, reading: Reading) -> Guarded {
    let per = fraction.span();
    Guarded {
        cap: Some(Cap { by: charge.limit().scope(), count: fraction.capacity(), per }),
        remaining: reading.remaining.max(0).unsigned_abs(),
        wait: reading.room.wait(),
        reset: reading.reset_after,
    }
}
