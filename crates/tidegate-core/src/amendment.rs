//! What an operator does to a counter, and the blocks there are to be seen.

use core::ops::Bound;
use std::collections::BTreeMap;

use crate::block::{Block, BlockScope, Level};
use crate::charge::Charge;
use crate::kept::Kept;
use crate::key::{Key, KeyNames};
use crate::limit::Names;
use crate::record::Record;
use crate::shape::{AttemptsState, Shape};
use crate::time::{Span, Timestamp};

/// What is done to one counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amendment {
    /// Refuse everything for so long. A block that ends later stays as it is.
    Block {
        /// For how long, from now on.
        lasts: Span,
        /// The level it counts as for the next one, if the limit has a ladder; at least the one
        /// that the counter stands on.
        level: Option<Level>,
    },
    /// Lift the block, and forget the attempts that led to it. Its level stands.
    Unblock,
    /// Forget everything.
    Reset,
}

/// Which counter.
#[derive(Clone, Copy, Debug)]
pub enum Counter<'a> {
    /// The one of a subject.
    Of(Charge<'a>, Key<'a>),
    /// One that [`Store::blocks`](crate::Store::blocks) has listed, by its name there.
    Listed(&'a str),
}

/// How a store names its counters.
#[derive(Clone, Debug)]
pub enum Naming {
    /// By their digests, which no other process knows.
    Digests,
    /// By their keys, spelled out as every process of a fleet spells them.
    Keys(KeyNames),
}

/// What came of it.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amended {
    /// Whether there was anything to be changed.
    pub changed: bool,
    /// The block that holds now.
    pub block: Option<Block>,
    /// The time of the store.
    pub at: Timestamp,
}

/// Which blocks to list.
#[derive(Clone, Copy, Debug, Default)]
pub struct Page<'a> {
    /// Where the page before ended; `None` for the first one.
    pub after: Option<&'a str>,
    /// How many counters to look at, about; a store has a bound of its own.
    pub at_most: usize,
}

/// Some of the blocks that hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// The blocks.
    pub list: Vec<Listed>,
    /// Where the next page begins; `None` after the last one.
    pub next: Option<String>,
    /// When they were looked at, by the clock that ends them: the store's.
    pub at: Timestamp,
}

/// One block that holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// What the store calls the counter. Accounts and addresses do not show in it.
    pub key: String,
    /// The [identity](crate::Limit::id) of the limit.
    pub limit: u64,
    /// The block.
    pub block: Block,
}

// === impl Counter ===

impl Counter<'_> {
    /// The names of the counter: the one it was listed by, or those it has by this naming.
    #[must_use]
    pub fn names(&self, naming: &Naming) -> Names {
        match (self, naming) {
            (Self::Listed(name), _) => Names::only((*name).to_owned()),
            (Self::Of(_, key), Naming::Keys(names)) => names.names(key),
            (Self::Of(charge, _), Naming::Digests) => Names::only(charge.digest().to_string()),
        }
    }
}

// === impl Blocks ===

impl Blocks {
    /// A page of the blocks that hold at `now` among records in the order of their names. The cursor
    /// is the last name that was looked at.
    #[must_use]
    pub fn among(records: &BTreeMap<String, Record>, page: Page<'_>, now: Timestamp) -> Self {
        let after = page.after.map_or(Bound::Unbounded, Bound::Excluded);
        let mut rest = records.range::<str, _>((after, Bound::Unbounded));
        let looked: Vec<_> = rest.by_ref().take(page.at_most.max(1)).collect();
        let next = rest.next().and(looked.last()).map(|(name, _)| (*name).clone());
        let list = looked.iter().filter_map(|(name, record)| record.listed(name, now));
        Self { list: list.collect(), next, at: now }
    }
}

// === impl Amendment ===

impl Amendment {
    /// What is kept of a counter once it is amended, if that is anything else than before.
    ///
    /// Only abuse logs can be blocked, everything can be reset.
    #[must_use]
    pub fn apply(self, kept: Option<&Kept>, shape: Option<&Shape>, now: Timestamp) -> Outcome {
        let state = match kept {
            Some(Kept::Attempts(state)) => Some(AttemptsState::clone(state)),
            _ => None,
        };
        let is_log = shape.is_none_or(|shape| matches!(shape, Shape::Attempts(_)));
        match (self, state) {
            (Self::Reset, _) if kept.is_some() => Outcome::Gone,
            (Self::Block { lasts, level }, state)
                if is_log && (state.is_some() || shape.is_some()) =>
            {
                // Time does not go back for a counter, and what it has climbed is not forgotten.
                let now = state.as_ref().map_or(now, |state| state.now(now));
                let last = state.as_ref().and_then(AttemptsState::block);
                let level = level.max(last.and_then(|block| block.standing(now)));
                let block = Block { until: now.after(lasts), scope: BlockScope::Operator, level };
                Outcome::changed(state, |state| state.blocked(block))
            }
            (Self::Unblock, Some(state)) => {
                Outcome::changed(Some(state), |state| state.unblocked(now))
            }
            _ => Outcome::Same,
        }
    }
}

/// What becomes of a counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It stays as it is.
    Same,
    /// It is forgotten.
    Gone,
    /// It becomes this.
    Kept(Box<AttemptsState>),
}

// === impl Outcome ===

impl Outcome {
    fn changed(
        state: Option<AttemptsState>,
        change: impl FnOnce(AttemptsState) -> AttemptsState,
    ) -> Self {
        let before = state.unwrap_or_default();
        let after = change(before.clone());
        if after == before { Self::Same } else { Self::Kept(Box::new(after)) }
    }
}
