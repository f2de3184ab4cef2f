//! The answers of the admin listener, as JSON documents.

use serde::Serialize;
use tidegate_core::{Amended, Block, Level, Name, Timestamp};
use tidegate_engine::{BlockList, Change};

use crate::wire::answers::{Displayed, WireInstant};

/// One page of the list of blocks in force.
#[derive(Serialize)]
pub(crate) struct BlocksAnswer {
    blocks: Vec<ListedAnswer>,
    /// The cursor of the next page; null on the last page.
    next: Option<String>,
}

/// A block in force, and the counter that it blocks.
#[derive(Serialize)]
struct ListedAnswer {
    /// The policy of the limit; null if several policies share the limit, or it is no longer in force.
    policy: Option<Displayed<Name>>,
    /// The limit of the counter; null if it is no longer in force.
    limit: Option<Displayed<Name>>,
    key: String,
    #[serde(flatten)]
    block: BlockAnswer,
}

/// The answer to a block, unblock or reset: what became of each counter.
#[derive(Serialize)]
pub(crate) struct ChangesAnswer<'a> {
    /// The policy of the counters; null if the counter was named by its key.
    policy: Option<Displayed<&'a Name>>,
    changes: Vec<ChangeAnswer<'a>>,
}

#[derive(Serialize)]
struct ChangeAnswer<'a> {
    limit: Option<Displayed<&'a Name>>,
    /// Whether there was anything to change.
    changed: bool,
    /// The block in force on the counter now, whether an operator or the limit began it.
    block: Option<BlockAnswer>,
}

/// A block, and how long it still holds.
#[derive(Serialize)]
struct BlockAnswer {
    scope: &'static str,
    level: Option<Displayed<Level>>,
    until: WireInstant,
    /// Seconds until the block ends, rounded up.
    ends_in: u64,
    ends_in_us: u64,
}

// === impl BlocksAnswer ===

impl BlocksAnswer {
    pub(super) fn new(blocks: BlockList) -> Self {
        let list = blocks.list.into_iter().map(|entry| ListedAnswer {
            policy: entry.policy.map(Displayed),
            limit: entry.limit.map(Displayed),
            key: entry.key,
            block: BlockAnswer::new(entry.block, blocks.at),
        });
        Self { blocks: list.collect(), next: blocks.next }
    }
}

// === impl ChangesAnswer ===

impl<'a> ChangesAnswer<'a> {
    pub(super) fn of(policy: &'a Name, changes: &'a [Change]) -> Self {
        let change = |change: &'a Change| ChangeAnswer::new(Some(&change.limit), change.amended);
        Self { policy: Some(Displayed(policy)), changes: changes.iter().map(change).collect() }
    }

    pub(super) fn listed(amended: Amended) -> Self {
        Self { policy: None, changes: vec![ChangeAnswer::new(None, amended)] }
    }
}

impl<'a> ChangeAnswer<'a> {
    fn new(limit: Option<&'a Name>, amended: Amended) -> Self {
        let block = amended.block.map(|block| BlockAnswer::new(block, amended.at));
        Self { limit: limit.map(Displayed), changed: amended.changed, block }
    }
}

// === impl BlockAnswer ===

impl BlockAnswer {
    fn new(block: Block, now: Timestamp) -> Self {
        let rest = block.until.since(now);
        Self {
            scope: block.scope.name(),
            level: block.level.map(Displayed),
            until: WireInstant(block.until),
            ends_in: rest.as_secs_ceil(),
            ends_in_us: rest.as_micros(),
        }
    }
}
