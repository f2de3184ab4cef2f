//! The blocks that a node knows: none is forgotten, and none outlives its end.

use std::collections::HashMap;

use super::{Holds, holds};
use crate::sim::trace::{Counters, RequestAnswer};

/// Counters that the store has reported as blocked, and until when.
#[derive(Clone, Debug, Default)]
pub(super) struct BlockCheck {
    known: HashMap<u64, u64>,
}

/// Blocks that a node has to remember; it may forget further ones.
const MOST: usize = 16_384;

// === impl BlockCheck ===

impl BlockCheck {
    /// Takes note of the state of these counters, as the store has reported it.
    pub(super) fn learn(&mut self, at: u64, counters: &Counters) {
        counters.iter().for_each(|(counter, blocked)| self.learn_one(at, counter, blocked));
    }

    /// Takes note of the state of one counter, as the store has reported it.
    pub(super) fn learn_one(&mut self, at: u64, counter: u64, blocked: u64) {
        match blocked {
            0 => drop(self.known.remove(&counter)),
            _ => drop(self.known.insert(counter, at + blocked)),
        }
    }

    /// The latest end of a known block of any of these counters.
    fn until(&self, at: u64, counters: &Counters) -> Option<u64> {
        let ends = counters.iter().filter_map(|(counter, _)| self.known.get(&counter).copied());
        ends.filter(|end| *end > at).max()
    }

    pub(super) fn is_fresh(&self, at: u64) -> bool {
        self.known.values().all(|end| *end <= at)
    }

    /// A known block holds until it ends, and no longer.
    pub(super) fn p47_known_blocks_hold_until_they_end(
        &self,
        at: u64,
        answer: &RequestAnswer,
        slack: u64,
    ) -> Holds {
        if self.known.len() >= MOST {
            return Ok(());
        }
        let by_block = answer.block.is_some() && answer.left.is_none();
        let (known, wait) = (self.until(at, &answer.counters), answer.wait.unwrap_or(0));
        match known {
            None => holds!(!by_block, "P47", "blocked for {wait} µs by what nobody knew of"),
            Some(end) => {
                holds!(!answer.admitted, "P47", "admitted under a block until {end}");
                holds!(
                    by_block && (end - at).abs_diff(wait) <= slack,
                    "P47",
                    "told to wait {wait} µs under a block until {end}"
                );
            }
        }
        Ok(())
    }
}
