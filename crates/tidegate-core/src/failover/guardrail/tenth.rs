//! A tenth of each limit, for one node, where requests cost money or cannot be undone.
//!
//! Each limit of the policy goes on in its own shape and on its own keys, with a tenth of its count,
//! rate and burst. Nothing is added that the limit does not say: no request a second for everybody,
//! and no guardrail by address, because a language model is paid for by the organisation and not by
//! the network a request comes from. Only admitted requests are counted, at their full cost.
//!
//! Memory is bounded by the number of keys. A key that finds no place is counted in a cell that it
//! shares with other keys of its limit, and in a cell of its network. That may refuse too much but
//! never too little.

use super::keyed::{Keyed, SWEEP, Used, Whose};
use super::shares::CallerNetwork;
use crate::charge::Charge;
use crate::failover::contract::{Cap, SPEND_SHARE};
use crate::failover::failsafe::Guarded;
use crate::kept::Kept;
use crate::shape::{Reading, Room, Shape};
use crate::time::Timestamp;

/// The most keys that are counted by themselves, for each policy.
const MOST_KEYS: usize = 16_384;

/// The counts under a tenth of each limit, for one policy.
#[derive(Clone, Debug)]
pub(super) struct Tenths(Keyed<Spent>);

/// The count of one key, or of one cell.
#[derive(Clone, Debug)]
struct Spent {
    kept: Kept,
    /// The tenth of the limit that it was counted under.
    tenth: Shape,
    /// When something was counted last.
    at: Timestamp,
}

// === impl Tenths ===

impl Tenths {
    pub(super) fn with_room_for(keys: usize) -> Self {
        Self(Keyed::with_room_for(keys.min(MOST_KEYS)))
    }

    /// What is left under the tenth of a charge's limit; an error if no wait helps, because the request
    /// costs more than the tenth ever holds.
    pub(super) fn left(
        &mut self,
        charge: &Charge<'_>,
        network: CallerNetwork,
        now: Timestamp,
    ) -> Result<Guarded, Guarded> {
        self.0.sweep(SWEEP, now);
        let tenth = tenth(charge, now).ok_or(Guarded::NOTHING)?;
        let look = |kept: Option<Kept>| {
            let looked = charge.under(&tenth).look(kept.as_ref(), now);
            let reading = looked.map_err(|_| Guarded::NOTHING)?;
            let left = guarded(charge, &tenth, reading);
            if reading.room == Room::Never { Err(left) } else { Ok(left) }
        };
        let whose = Whose::of(charge, network);
        let own = look(self.kept(whose, &tenth, now))?;
        match self.0.beside(whose) {
            Some(beside) => Ok(own.tighter(look(Some(beside.under(&tenth)))?)),
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
        let Some(tenth) = tenth(charge, now) else { return Guarded::NOTHING };
        let take = |kept: Option<Kept>| {
            let (kept, reading) = charge.under(&tenth).take(kept.as_ref(), now).ok()?;
            let (tenth, fresh_at) = (tenth.clone(), now.after(reading.reset_after));
            let left = guarded(charge, &tenth, reading);
            Some((Used { count: Spent { kept, tenth, at: now }, fresh_at }, left))
        };
        let whose = Whose::of(charge, network);
        let Some((used, left)) = take(self.kept(whose, &tenth, now)) else {
            return Guarded::NOTHING;
        };
        let beside = |beside: Option<&Spent>| {
            take(beside.map(|beside| beside.under(&tenth))).map(|(used, _)| used)
        };
        self.0.put(whose, used, beside, now);
        left
    }

    pub(super) fn is_fresh(&self, now: Timestamp) -> bool {
        self.0.is_fresh(now)
    }

    /// The keys that are counted by themselves.
    #[cfg(test)]
    pub(super) fn places(&self) -> usize {
        self.0.keys.len()
    }

    /// The count of a key: its own, or else that of its cell.
    fn kept(&self, whose: Whose, tenth: &Shape, now: Timestamp) -> Option<Kept> {
        let own = self.0.own(whose).map(|spent| spent.kept.clone());
        own.or_else(|| self.0.in_cell(whose, now).map(|spent| spent.under(tenth)))
    }
}

// === impl Spent ===

impl Spent {
    /// The count of a cell for a key with this tenth. Keys of one cell may have different numbers; a
    /// count made under other numbers is taken to have used up everything.
    fn under(&self, tenth: &Shape) -> Kept {
        match self.tenth == *tenth {
            true => self.kept.clone(),
            false => Kept::exhausted(tenth, self.at),
        }
    }
}

/// A tenth of a charge's limit, which counts admitted requests only.
fn tenth(charge: &Charge<'_>, now: Timestamp) -> Option<Shape> {
    // Calendar periods are those around this node's time, because the store is not asked.
    charge.refresh(now);
    charge.shape().share(SPEND_SHARE).ok()
}

/// A reading in the terms of a cap. The cap of a bucket is its burst, in the time that fills it.
fn guarded(charge: &Charge<'_>, tenth: &Shape, reading: Reading) -> Guarded {
    let per = tenth.span();
    Guarded {
        cap: Some(Cap { by: charge.limit().scope(), count: tenth.capacity(), per }),
        remaining: reading.remaining.max(0).unsigned_abs(),
        wait: reading.room.wait(),
        reset: reading.reset_after,
    }
}
