//! What an operator can do to a counter, and the list of blocks that he sees.

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

/// A change that an operator makes to one counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amendment {
    /// Refuse everything for some time. A block that ends later stays as it is.
    Block {
        /// How long the block lasts, from now on.
        lasts: Span,
        /// The level from which the next block climbs, if the limit has a ladder. A higher level
        /// that the counter still has is kept.
        level: Option<Level>,
    },
    /// Lift the block, and forget the attempts that led to it. Its level still counts for the next one.
    Unblock,
    /// Forget everything about the counter.
    Reset,
}

/// One counter, given by its subject or by its name in the list of blocks.
#[derive(Clone, Copy, Debug)]
pub enum CounterRef<'a> {
    /// The counter of a subject, by a charge of it and its key.
    Of(Charge<'a>, Key<'a>),
    /// A counter that [`Store::blocks`](crate::Store::blocks) has listed, by its name in the list.
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

/// The result of an [`Amendment`].
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amended {
    /// Whether the counter was changed.
    pub changed: bool,
    /// The block that holds after the change, if there is one.
    pub block: Option<Block>,
    /// The time of the change, by the clock of the store.
    pub at: Timestamp,
}

/// Which page of the list of blocks is asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Page<'a> {
    /// Where the page before ended; `None` for the first one.
    pub after: Option<&'a str>,
    /// About how many counters to look at; a store has a bound of its own.
    pub at_most: usize,
}

/// One page of the list of blocks that hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// The blocks on this page.
    pub list: Vec<Listed>,
    /// Where the next page begins; `None` after the last one.
    pub next: Option<String>,
    /// When the blocks were looked at, by the clock of the store, which also ends them.
    pub at: Timestamp,
}

/// One entry in the list of blocks that hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The name of the counter in the store. Accounts and addresses do not show in it.
    pub key: String,
    /// The [identity](crate::Limit::id) of the limit.
    pub limit: u64,
    /// The block.
    pub block: Block,
}

// === impl CounterRef ===

impl CounterRef<'_> {
    /// The names of the counter: the one it was listed by, or those it has in a store with this naming.
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
    /// A page of the blocks that hold at `now` among `records`, in the order of their names. The cursor
    /// of the next page is the last name that was looked at.
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
    /// What becomes of a counter with this state and shape when it is amended at `now`.
    ///
    /// Only abuse logs can be blocked; every counter can be reset.
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
                // Time does not go back for a counter, and the level it has climbed to is kept.
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

/// What becomes of a counter that is amended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The counter stays as it is.
    Same,
    /// The counter is forgotten.
    Gone,
    /// The counter has this state from now on.
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
