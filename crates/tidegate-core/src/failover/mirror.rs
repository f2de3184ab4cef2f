//! The blocks this node knows of, for when it cannot ask.
//!
//! A block that began while the store was trusted still holds while it is not. It ends when it would
//! have ended, never later and never earlier, and nothing that happens meanwhile raises its level.

use std::collections::{BTreeSet, HashMap};

use foldhash::fast::FixedState;

use crate::block::Block;
use crate::time::{Span, Timestamp};

/// The most blocks that are remembered. If there are more, those that end first are forgotten.
const MOST: usize = 16_384;

/// Blocks by the digest of their counter, with their ends by the clock of this node.
#[derive(Clone, Debug, Default)]
pub struct Mirror {
    blocks: HashMap<u64, Block, FixedState>,
    ends: BTreeSet<(Timestamp, u64)>,
}

// === impl Mirror ===

impl Mirror {
    /// Remembers that `counter` is blocked for the span `lasts` from `now` on.
    pub fn learn(&mut self, counter: u64, block: &Block, lasts: Span, now: Timestamp) {
        self.forget(counter);
        let known = Block { until: now.after(lasts), ..*block };
        self.blocks.insert(counter, known);
        self.ends.insert((known.until, counter));
        while self.blocks.len() > MOST
            && let Some((_, first)) = self.ends.pop_first()
        {
            self.blocks.remove(&first);
        }
    }

    /// Forgets the block of `counter`, which has been lifted or has ended.
    pub fn forget(&mut self, counter: u64) {
        if let Some(known) = self.blocks.remove(&counter) {
            self.ends.remove(&(known.until, counter));
        }
    }

    /// The block of `counter`, if it holds at `now`.
    #[must_use]
    pub fn get(&self, counter: u64, now: Timestamp) -> Option<Block> {
        self.blocks.get(&counter).copied().filter(|block| block.holds(now))
    }

    /// Whether no block is remembered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Whether no remembered block holds any more.
    #[must_use]
    pub fn is_fresh(&self, now: Timestamp) -> bool {
        self.ends.last().is_none_or(|(until, _)| *until <= now)
    }
}
