//! A bounded table of keys, each with what is counted under it.
//!
//! A key that finds no place is counted in a cell that it shares with some other keys, and in a cell of
//! its network. That may refuse too much but never too little, and it changes nothing for keys that have
//! a place.

use std::collections::{HashMap, VecDeque};

use foldhash::fast::FixedState;

use super::overflowed::Overflowed;
use super::shares::{CallerNetwork, Shares};
use crate::charge::Charge;
use crate::time::Timestamp;

/// The number of cells that keys without a place share.
const CELLS: u64 = 1_024;
/// The most keys that one request checks, to make room.
pub(super) const SWEEP: usize = 8;

/// The key that a request is counted under, and the network that it comes from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Whose {
    pub(super) key: u64,
    pub(super) network: CallerNetwork,
    /// The limit whose keys share cells; zero if the keys of all limits do.
    pub(super) limit: u64,
}

/// A cell shared by keys that have no place of their own: the limit, and a part of the key or of the
/// network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum CellOf {
    Keys(u64, u64),
    Networks(u64, u64),
}

/// The counts of keys, and of the cells that others share.
#[derive(Clone, Debug)]
pub(super) struct Keyed<V> {
    /// The counts of keys that have a place, each with the network whose share the place is from.
    pub(super) keys: HashMap<u64, (CallerNetwork, Used<V>), FixedState>,
    /// The keys in the order in which they are checked to make room.
    queue: VecDeque<u64>,
    cells: HashMap<CellOf, Used<V>, FixedState>,
    overflowed: Overflowed,
    shares: Shares,
    most_keys: usize,
}

/// The count of one key, or of one cell.
#[derive(Clone, Debug)]
pub(super) struct Used<V> {
    pub(super) count: V,
    /// When nothing in it counts any more.
    pub(super) fresh_at: Timestamp,
}

// === impl Whose ===

impl Whose {
    /// The key of a charge, which shares cells with keys of the same limit.
    pub(super) fn of(charge: &Charge<'_>, network: CallerNetwork) -> Self {
        Self { key: charge.digest(), network, limit: charge.limit().id() }
    }

    pub(super) const fn cell(self) -> CellOf {
        CellOf::Keys(self.limit, self.key % CELLS)
    }

    pub(super) fn network_cell(self) -> Option<CellOf> {
        self.network.0.map(|network| CellOf::Networks(self.limit, network % CELLS))
    }
}

// === impl Keyed ===

impl<V> Keyed<V> {
    pub(super) fn with_room_for(most_keys: usize) -> Self {
        let (keys, cells, queue) = (HashMap::default(), HashMap::default(), VecDeque::new());
        let (overflowed, shares) = (Overflowed::default(), Shares::default());
        Self { keys, queue, cells, overflowed, shares, most_keys }
    }

    /// The count of a key that has a place.
    pub(super) fn own(&self, whose: Whose) -> Option<&V> {
        self.keys.get(&whose.key).map(|(_, used)| &used.count)
    }

    /// The count of a key's cell, unless the key gets a place and was not counted in the cell.
    pub(super) fn in_cell(&self, whose: Whose, now: Timestamp) -> Option<&V> {
        let counted = self.overflowed.has(whose.key, now) || !self.has_place(whose);
        self.cells.get(&whose.cell()).filter(|_| counted).map(|used| &used.count)
    }

    /// The count of the cell of a key's network, unless the key has or gets a place.
    pub(super) fn beside(&self, whose: Whose) -> Option<&V> {
        let cell = whose.network_cell().filter(|_| !self.has_place(whose))?;
        self.cells.get(&cell).map(|used| &used.count)
    }

    /// Sets the count of a key: in its place, if it has or gets one. Otherwise the key's cell has this
    /// count, and the cell of its network has what `take` makes of the count there.
    pub(super) fn put(
        &mut self,
        whose: Whose,
        used: Used<V>,
        take: impl FnOnce(Option<&V>) -> Option<Used<V>>,
        now: Timestamp,
    ) {
        if let Some((_, known)) = self.keys.get_mut(&whose.key) {
            *known = used;
        } else if self.has_place(whose) {
            self.keys.insert(whose.key, (whose.network, used));
            self.queue.push_back(whose.key);
            self.shares.give(whose.network);
        } else {
            self.overflowed.add(whose.key, used.fresh_at, now);
            self.cells.insert(whose.cell(), used);
            let beside = take(self.beside(whose));
            self.cells.extend(whose.network_cell().zip(beside));
        }
    }

    fn has_place(&self, whose: Whose) -> bool {
        self.keys.contains_key(&whose.key) || self.shares.grants(whose.network, self.most_keys)
    }

    pub(super) fn is_fresh(&self, now: Timestamp) -> bool {
        let keys = self.keys.values().map(|(_, used)| used);
        keys.chain(self.cells.values()).all(|used| used.fresh_at <= now)
    }

    /// Makes room: drops keys that are as good as new, and puts others back in line, at most `live` of
    /// them.
    pub(super) fn sweep(&mut self, mut live: usize, now: Timestamp) {
        for _ in 0..SWEEP.min(self.queue.len()) {
            let Some(key) = self.queue.pop_front() else { break };
            if self.keys.get(&key).is_some_and(|(_, used)| used.fresh_at > now) {
                self.queue.push_back(key);
                live -= 1;
                if live == 0 {
                    break;
                }
            } else if let Some((network, _)) = self.keys.remove(&key) {
                self.shares.take_back(network);
            }
        }
    }
}
