//! The keys that have been counted in a cell: perhaps too many of them, never too few.
//!
//! A key that gets a place has to be charged with the count of its cell if it was counted there, and
//! must not be if it was not: in a flood the cells are full, and keys that come from elsewhere would be
//! refused in their own places.

use std::collections::{HashMap, VecDeque};

use foldhash::fast::FixedState;

use crate::time::Timestamp;

/// The most keys that are remembered. If there are more, any key may have been one of them.
const MOST: usize = 65_536;
/// How many keys are checked, to forget them, for each key that comes.
const SWEEP: usize = 4;

/// The keys that were counted in cells, each with the time until which that counts.
#[derive(Clone, Debug, Default)]
pub(super) struct Overflowed {
    keys: HashMap<u64, Timestamp, FixedState>,
    /// The keys in the order in which they are checked.
    queue: VecDeque<u64>,
    /// Until when a key that is not remembered may be counted in a cell.
    others: Option<Timestamp>,
}

// === impl Overflowed ===

impl Overflowed {
    /// Remembers that `key` is counted in a cell until `until`.
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

    /// Whether anything counted in a cell for `key` may still count at `now`.
    pub(super) fn has(&self, key: u64, now: Timestamp) -> bool {
        self.others.is_some_and(|until| now < until)
            || self.keys.get(&key).is_some_and(|until| now < *until)
    }

    /// Forgets keys that do not count any more, checking at most `most` of them, and gives back the
    /// memory once none is left.
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
