//! The answers of the admin listener, as JSON documents.

use serde::Serialize;
use tidegate_core::{Amended, Block, Timestamp};
use tidegate_engine::{BlockEntry, BlockList, Change};

use crate::wire::instant::Instant;

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
    policy: Option<String>,
    /// The limit of the counter; null if it is no longer in force.
    limit: Option<String>,
    key: String,
    #[serde(flatten)]
    block: BlockAnswer,
}

/// The answer to a block, unblock or reset: what became of each counter.
#[derive(Serialize)]
pub(crate) struct ChangesAnswer {
    /// The policy of the counters; null if the counter was named by its key.
    policy: Option<String>,
    changes: Vec<ChangeAnswer>,
}

#[derive(Serialize)]
struct ChangeAnswer {
    limit: Option<String>,
    /// Whether there was anything to change.
    changed: bool,
    /// The block in force on the counter now, whether an operator or the limit began it.
    block: Option<BlockAnswer>,
}

/// A block, and how long it still holds.
#[derive(Serialize)]
struct BlockAnswer {
    scope: &'static str,
    level: Option<String>,
    until: Instant,
    /// Seconds until the block ends, rounded up.
    ends_in: u64,
    ends_in_us: u64,
}

// === impl BlocksAnswer ===

impl BlocksAnswer {
    pub(super) fn new(blocks: BlockList) -> Self {
        let list = blocks.list.into_iter().map(|entry| ListedAnswer::new(entry, blocks.at));
        Self { blocks: list.collect(), next: blocks.next }
    }
}

impl ListedAnswer {
    fn new(entry: BlockEntry, now: Timestamp) -> Self {
        Self {
            policy: entry.policy.map(|name| name.to_string()),
            limit: entry.limit.map(|name| name.to_string()),
            key: entry.key,
            block: BlockAnswer::new(entry.block, now),
        }
    }
}

// === impl ChangesAnswer ===

impl ChangesAnswer {
    pub(super) fn of(policy: &str, changes: &[Change]) -> Self {
        let changes = changes
            .iter()
            .map(|change| ChangeAnswer::new(Some(change.limit.to_string()), change.amended));
        Self { policy: Some(policy.to_owned()), changes: changes.collect() }
    }

    pub(super) fn listed(amended: Amended) -> Self {
        Self { policy: None, changes: vec![ChangeAnswer::new(None, amended)] }
    }
}

impl ChangeAnswer {
    fn new(limit: Option<String>, amended: Amended) -> Self {
        let block = amended.block.map(|block| BlockAnswer::new(block, amended.at));
        Self { limit, changed: amended.changed, block }
    }
}

// === impl BlockAnswer ===

impl BlockAnswer {
    fn new(block: Block, now: Timestamp) -> Self {
        let rest = block.until.since(now);
        Self {
            scope: block.scope.name(),
            level: block.level.map(|level| level.to_string()),
            until: Instant(block.until),
            ends_in: rest.as_secs_ceil(),
            ends_in_us: rest.as_micros(),
        }
    }
}
