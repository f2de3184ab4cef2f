//! Which keys have been counted in a cell: never too few of them.
//!
//! A key that gets a place has to be charged with what its cell has counted if it was counted there, and
//! must not if it was not: cells are full in a flood, and those who come from elsewhere would be refused
//! in their own places.

use std::collections::{HashMap, VecDeque};

use foldhash::fast::FixedState;

use crate::time::Timestamp;

/// The keys that are remembered. If there are more, everybody may have been one of them.
const MOST: usize = 65_536;
/// How many keys are looked at, to forget them, for each that comes.
const SWEEP: usize = 4;

/// The keys that were counted in cells, and until when that counts.
#[derive(Clone, Debug, Default)]
pub(super) struct Overflowed {
    keys: HashMap<u64, Timestamp, FixedState>,
    /// The keys in the order in which they are looked at to be forgotten.
    queue: VecDeque<u64>,
    /// Until when keys count that are not remembered.
    others: Option<Timestamp>,
}

// === impl Overflowed ===

impl Overflowed {
    /// Remembers a key that is counted in a cell until then.
    pub(super) fn add(&mut self, key: u64, until: Timestamp, now: Timestamp) {
        self.sweep(now, SWEEP);
        let is_full = self.keys.len() >= MOST;
        if let Some(known) = self.keys.get_mut(&key) {
            *known = until.max(*known);
        } else if is_full {
            self.others = self.others.max(Some(until));
        } else {
            self.keys.insert(key, until);
            self.queue.push_back(key);
        }
    }

    /// Whether something that was counted in a cell for this key may count at `now`.
    pub(super) fn has(&self, key: u64, now: Timestamp) -> bool {
        self.others.is_some_and(|until| now < until)
            || self.keys.get(&key).is_some_and(|until| now < *until)
    }

    /// Forgets keys that do not count any more, looking at so many at most, and gives back the memory of
    /// the last one.
    pub(super) fn sweep(&mut self, now: Timestamp, most: usize) {
        for _ in 0..most.min(self.queue.len()) {
            let Some(key) = self.queue.pop_front() else { break };
            if self.keys.get(&key).is_some_and(|until| now < *until) {
                self.queue.push_back(key);
            } else {
                self.keys.remove(&key);
            }
        }
        if self.keys.is_empty() && self.keys.capacity() > MOST / 16 {
            (self.keys, self.queue) = (HashMap::default(), VecDeque::new());
        }
    }

    /// The keys that are remembered.
    #[cfg(test)]
    pub(super) fn remembered(&self) -> usize {
        self.keys.len()
    }
}
