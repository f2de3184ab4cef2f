//! A tenth of each limit, for one node, where requests cost money or cannot be undone.
//!
//! Each limit of the policy goes on in its own shape and on its own keys, with a tenth of its count,
//! rate and burst. Nothing is added that the limit does not say: no request a second for everybody,
//! and no guardrail by address, because a language model is paid for by the organisation and not by
//! the network a request comes from. Only admitted requests are counted, at their full cost.
//!
//! Memory is bounded by the number of keys. A key that finds no place is counted in a cell that it
//! shares with others of its limit: that may refuse too much and never too little.

use std::collections::{HashMap, VecDeque};

use foldhash::fast::FixedState;

use crate::charge::Charge;
use crate::failover::contract::{Cap, SPEND_SHARE};
use crate::failover::failsafe::Guarded;
use crate::kept::Kept;
use crate::shape::{Reading, Room, Shape};
use crate::time::Timestamp;

/// The keys that are counted by themselves, for each policy.
const MOST_KEYS: usize = 16_384;
/// The cells that the other keys of one limit share.
const CELLS: u64 = 1_024;
/// How many keys are looked at, to make room, by one request.
const SWEEP: usize = 8;

/// What the tenths of one policy's limits have counted.
#[derive(Clone, Debug)]
pub(super) struct Tenths {
    keys: HashMap<u64, Used, FixedState>,
    /// The keys in the order in which they are looked at to make room.
    queue: VecDeque<u64>,
    /// By limit, and by a part of the key.
    cells: HashMap<(u64, u64), Used, FixedState>,
    most_keys: usize,
}

/// What was counted of one key, or in one cell.
#[derive(Clone, Debug)]
struct Used {
    kept: Kept,
    /// The tenth it was counted under.
    tenth: Shape,
    /// The latest time at which something was counted.
    at: Timestamp,
    /// When nothing of it counts any more.
    fresh_at: Timestamp,
}

// === impl Tenths ===

impl Tenths {
    pub(super) fn with_room_for(keys: usize) -> Self {
        let (map, cells) = (HashMap::default(), HashMap::default());
        Self { keys: map, queue: VecDeque::new(), cells, most_keys: keys.min(MOST_KEYS) }
    }

    /// What the tenth of a charge's limit leaves; an error if no wait helps, because the request costs
    /// more than the tenth ever holds.
    pub(super) fn left(&mut self, charge: &Charge<'_>, now: Timestamp) -> Result<Guarded, Guarded> {
        self.sweep(now);
        let tenth = tenth(charge, now).ok_or(Guarded::NOTHING)?;
        let kept = self.kept(charge, &tenth);
        let looked = charge.under(&tenth).look(kept.as_ref(), now);
        let reading = looked.map_err(|_| Guarded::NOTHING)?;
        let left = guarded(charge, &tenth, reading);
        if reading.room == Room::Never { Err(left) } else { Ok(left) }
    }

    /// Counts a charge that there is room for, and says what is left.
    pub(super) fn take(&mut self, charge: &Charge<'_>, now: Timestamp) -> Guarded {
        let Some(tenth) = tenth(charge, now) else { return Guarded::NOTHING };
        let kept = self.kept(charge, &tenth);
        let Ok((kept, reading)) = charge.under(&tenth).take(kept.as_ref(), now) else {
            return Guarded::NOTHING;
        };
        let left = guarded(charge, &tenth, reading);
        let used = Used { kept, tenth, at: now, fresh_at: now.after(reading.reset_after) };
        let key = charge.digest();
        if let Some(known) = self.keys.get_mut(&key) {
            *known = used;
        } else if self.keys.len() < self.most_keys {
            self.keys.insert(key, used);
            self.queue.push_back(key);
        } else {
            self.cells.insert(cell(charge), used);
        }
        left
    }

    pub(super) fn is_fresh(&self, now: Timestamp) -> bool {
        self.keys.values().chain(self.cells.values()).all(|used| used.fresh_at <= now)
    }

    /// The keys that are counted by themselves.
    #[cfg(test)]
    pub(super) fn places(&self) -> usize {
        self.keys.len()
    }

    /// What was counted of a key: its own count, or else that of its cell. Keys of one cell may have
    /// different numbers; what was counted under others is taken to have used up everything.
    fn kept(&self, charge: &Charge<'_>, tenth: &Shape) -> Option<Kept> {
        if let Some(used) = self.keys.get(&charge.digest()) {
            return Some(used.kept.clone());
        }
        let used = self.cells.get(&cell(charge))?;
        match used.tenth == *tenth {
            true => Some(used.kept.clone()),
            false => Some(Kept::exhausted(tenth, used.at)),
        }
    }

    /// Makes room: keys that are as good as new go, the others wait for their turn again.
    fn sweep(&mut self, now: Timestamp) {
        for _ in 0..SWEEP.min(self.queue.len()) {
            let Some(key) = self.queue.pop_front() else { break };
            if self.keys.get(&key).is_some_and(|used| used.fresh_at > now) {
                self.queue.push_back(key);
            } else {
                self.keys.remove(&key);
            }
        }
    }
}

fn cell(charge: &Charge<'_>) -> (u64, u64) {
    (charge.limit().id(), charge.digest() % CELLS)
}

/// A tenth of a limit, whatever of it was counted by refused attempts left out.
fn tenth(charge: &Charge<'_>, now: Timestamp) -> Option<Shape> {
    // Calendar periods are those of this node's time; the store is not asked.
    charge.refresh(now);
    charge.shape().share(SPEND_SHARE).ok()
}

/// A reading in the words of a cap: that of a bucket is its burst, in the time that fills it.
fn guarded(charge: &Charge<'_>, tenth: &Shape, reading: Reading) -> Guarded {
    let per = tenth.span();
    Guarded {
        cap: Some(Cap { by: charge.limit().scope(), count: tenth.capacity(), per }),
        remaining: reading.remaining.max(0).unsigned_abs(),
        wait: reading.room.wait(),
        reset: reading.reset_after,
    }
}
