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

use std::collections::{HashMap, VecDeque};

use foldhash::fast::FixedState;

use super::overflowed::Overflowed;
use super::shares::{Network, Shares};
use crate::charge::Charge;
use crate::failover::contract::{Cap, SPEND_SHARE};
use crate::failover::failsafe::Guarded;
use crate::kept::Kept;
use crate::shape::{Reading, Room, Shape};
use crate::time::Timestamp;

/// The most keys that are counted by themselves, for each policy.
const MOST_KEYS: usize = 16_384;
/// The number of cells that the other keys of one limit share.
const CELLS: u64 = 1_024;
/// The most keys that one request checks, to make room.
const SWEEP: usize = 8;

/// The counts under a tenth of each limit, for one policy.
#[derive(Clone, Debug)]
pub(super) struct Tenths {
    keys: HashMap<u64, Used, FixedState>,
    /// The keys in the order in which they are checked to make room.
    queue: VecDeque<u64>,
    cells: HashMap<Cell, Used, FixedState>,
    overflowed: Overflowed,
    shares: Shares,
    most_keys: usize,
}

/// A cell shared by keys of one limit: the limit, and a part of the key or of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Cell {
    OfKeys(u64, u64),
    OfNetworks(u64, u64),
}

/// The count of one key, or of one cell.
#[derive(Clone, Debug)]
struct Used {
    kept: Kept,
    /// The tenth of the limit that it was counted under.
    tenth: Shape,
    /// When something was counted last.
    at: Timestamp,
    /// When nothing in it counts any more.
    fresh_at: Timestamp,
    /// The network whose share this key's place is from.
    network: Network,
}

// === impl Tenths ===

impl Tenths {
    pub(super) fn with_room_for(keys: usize) -> Self {
        let (map, cells, shares) = (HashMap::default(), HashMap::default(), Shares::default());
        let (queue, overflowed) = (VecDeque::new(), Overflowed::default());
        Self { keys: map, queue, cells, overflowed, shares, most_keys: keys.min(MOST_KEYS) }
    }

    /// What is left under the tenth of a charge's limit; an error if no wait helps, because the request
    /// costs more than the tenth ever holds.
    pub(super) fn left(
        &mut self,
        charge: &Charge<'_>,
        network: Network,
        now: Timestamp,
    ) -> Result<Guarded, Guarded> {
        self.sweep(now);
        let tenth = tenth(charge, now).ok_or(Guarded::NOTHING)?;
        let look = |kept: Option<Kept>| {
            let looked = charge.under(&tenth).look(kept.as_ref(), now);
            let reading = looked.map_err(|_| Guarded::NOTHING)?;
            let left = guarded(charge, &tenth, reading);
            if reading.room == Room::Never { Err(left) } else { Ok(left) }
        };
        let own = look(self.kept(charge, network, &tenth, now))?;
        match network_cell(charge, network) {
            Some(cell) if !self.has_place(charge.digest(), network) => {
                Ok(own.tighter(look(self.in_cell(cell, &tenth))?))
            }
            _ => Ok(own),
        }
    }

    /// Counts a charge that there is room for, and returns what is left.
    pub(super) fn take(
        &mut self,
        charge: &Charge<'_>,
        network: Network,
        now: Timestamp,
    ) -> Guarded {
        let Some(tenth) = tenth(charge, now) else { return Guarded::NOTHING };
        let take = |kept: Option<Kept>| {
            let (kept, reading) = charge.under(&tenth).take(kept.as_ref(), now).ok()?;
            let (tenth, fresh_at) = (tenth.clone(), now.after(reading.reset_after));
            let left = guarded(charge, &tenth, reading);
            Some((Used { kept, tenth, at: now, fresh_at, network }, left))
        };
        let Some((used, left)) = take(self.kept(charge, network, &tenth, now)) else {
            return Guarded::NOTHING;
        };
        let key = charge.digest();
        if let Some(known) = self.keys.get_mut(&key) {
            *known = Used { network: known.network, ..used };
        } else if self.has_place(key, network) {
            self.keys.insert(key, used);
            self.queue.push_back(key);
            self.shares.give(network);
        } else {
            self.overflowed.add(key, used.fresh_at, now);
            self.cells.insert(cell(charge), used);
            if let Some(beside) = network_cell(charge, network)
                && let Some((used, _)) = take(self.in_cell(beside, &tenth))
            {
                self.cells.insert(beside, used);
            }
        }
        left
    }

    fn has_place(&self, key: u64, network: Network) -> bool {
        self.keys.contains_key(&key) || self.shares.grants(network, self.most_keys)
    }

    pub(super) fn is_fresh(&self, now: Timestamp) -> bool {
        self.keys.values().chain(self.cells.values()).all(|used| used.fresh_at <= now)
    }

    /// The keys that are counted by themselves.
    #[cfg(test)]
    pub(super) fn places(&self) -> usize {
        self.keys.len()
    }

    /// The count of a key: its own, or else that of its cell, unless the key gets a place and was not
    /// counted in the cell. Keys of one cell may have different numbers; a count made under other
    /// numbers is taken to have used up everything.
    fn kept(
        &self,
        charge: &Charge<'_>,
        network: Network,
        tenth: &Shape,
        now: Timestamp,
    ) -> Option<Kept> {
        let key = charge.digest();
        if let Some(used) = self.keys.get(&key) {
            return Some(used.kept.clone());
        }
        if self.has_place(key, network) && !self.overflowed.has(key, now) {
            return None;
        }
        self.in_cell(cell(charge), tenth)
    }

    fn in_cell(&self, cell: Cell, tenth: &Shape) -> Option<Kept> {
        let used = self.cells.get(&cell)?;
        match used.tenth == *tenth {
            true => Some(used.kept.clone()),
            false => Some(Kept::exhausted(tenth, used.at)),
        }
    }

    /// Makes room: drops keys that are as good as new, and puts the others back in line.
    fn sweep(&mut self, now: Timestamp) {
        for _ in 0..SWEEP.min(self.queue.len()) {
            let Some(key) = self.queue.pop_front() else { break };
            if self.keys.get(&key).is_some_and(|used| used.fresh_at > now) {
                self.queue.push_back(key);
            } else {
                let Some(used) = self.keys.remove(&key) else { continue };
                self.shares.take_back(used.network);
            }
        }
    }
}

fn cell(charge: &Charge<'_>) -> Cell {
    Cell::OfKeys(charge.limit().id(), charge.digest() % CELLS)
}

fn network_cell(charge: &Charge<'_>, network: Network) -> Option<Cell> {
    network.0.map(|network| Cell::OfNetworks(charge.limit().id(), network % CELLS))
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
