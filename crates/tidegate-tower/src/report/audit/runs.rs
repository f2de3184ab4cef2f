//! Rows of refusals: which actors have been refused in a row, and how often.
//!
//! A row begins with a refusal and ends when a request passes; most actors have none. So a request that
//! passes costs little: one load if no actor has a row, two if only others have. The table is bounded,
//! and actors that find no room in it are counted together rather than not at all.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU16, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tidegate_core::{Span, Timestamp};

/// The rows of all actors, by a keyed hash of each.
#[derive(Debug)]
pub(super) struct Runs {
    shards: [Mutex<Shard>; SHARDS],
    /// A filter: how many rows have hashes that end alike. Changed only under the lock of their shard.
    present: Box<[AtomicU16]>,
    /// The number of rows in all shards.
    live: AtomicUsize,
    /// The number of refusals of actors without a row of their own.
    beyond: AtomicU64,
    /// The most rows of one shard.
    most: usize,
}

/// Some of the rows: those in the same part of the filter.
#[derive(Debug)]
struct Shard {
    rows: HashMap<u64, Row>,
    /// When this shard was last searched for idle rows.
    swept: Timestamp,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    length: u64,
    last: Timestamp,
}

/// The number of shards, so that actors do not wait for one another.
const SHARDS: usize = 16;
/// The number of counters in the filter; all those of one shard are next to each other.
const PRESENT: usize = 1 << 14;
/// The time after which an idle row gives way to another, if there is no room.
const IDLE: Span = Span::HOUR;
/// The least time between two searches of a shard for idle rows.
const SWEEP: Span = Span::MINUTE;

// === impl Runs ===

impl Runs {
    /// An empty table for at most `most` rows, rounded up to equal shards.
    pub(super) fn new(most: NonZeroUsize) -> Self {
        let shard = || Mutex::new(Shard { rows: HashMap::new(), swept: Timestamp::ZERO });
        // Nor more than a counter of the filter can hold.
        let most = most.get().div_ceil(SHARDS).min(usize::from(u16::MAX));
        Self {
            shards: core::array::from_fn(|_| shard()),
            present: (0..PRESENT).map(|_| AtomicU16::new(0)).collect(),
            live: AtomicUsize::new(0),
            beyond: AtomicU64::new(0),
            most,
        }
    }

    /// Whether no actor has a row.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.live.load(Relaxed) == 0
    }

    /// Adds a refusal to the row of an actor. Returns the length of the row and the actor; no actor if the
    /// row is that of all actors that have none of their own.
    pub(super) fn extend(&self, actor: u64, at: Timestamp) -> (u64, Option<u64>) {
        let mut shard = self.shard(actor);
        if let Some(row) = shard.rows.get_mut(&actor) {
            *row = Row { length: row.length.saturating_add(1), last: row.last.max(at) };
            return (row.length, Some(actor));
        }
        if shard.rows.len() >= self.most {
            self.sweep(&mut shard, at);
        }
        if shard.rows.len() >= self.most {
            return (self.beyond.fetch_add(1, Relaxed).saturating_add(1), None);
        }
        shard.rows.insert(actor, Row { length: 1, last: at });
        self.slot(actor).fetch_add(1, Relaxed);
        self.live.fetch_add(1, Relaxed);
        (1, Some(actor))
    }

    /// Ends the row of an actor, if there is one.
    #[inline]
    pub(super) fn end(&self, actor: u64) {
        if self.slot(actor).load(Relaxed) > 0 {
            self.end_surely(actor);
        }
    }

    #[inline(never)]
    fn end_surely(&self, actor: u64) {
        if self.shard(actor).rows.remove(&actor).is_some() {
            self.forget(actor);
        }
    }

    /// Removes the rows that have been idle for long.
    fn sweep(&self, shard: &mut Shard, at: Timestamp) {
        if at.since(shard.swept) < SWEEP {
            return;
        }
        shard.swept = at;
        shard.rows.retain(|actor, row| {
            let stays = at.since(row.last) < IDLE;
            if !stays {
                self.forget(*actor);
            }
            stays
        });
    }

    fn forget(&self, actor: u64) {
        self.slot(actor).fetch_sub(1, Relaxed);
        self.live.fetch_sub(1, Relaxed);
    }

    fn shard(&self, actor: u64) -> MutexGuard<'_, Shard> {
        self.shards[index(actor) * SHARDS / PRESENT].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn slot(&self, actor: u64) -> &AtomicU16 {
        &self.present[index(actor)]
    }
}

/// The index of an actor in the filter, from which its shard follows.
#[expect(clippy::cast_possible_truncation, reason = "smaller than the filter")]
const fn index(actor: u64) -> usize {
    (actor % PRESENT as u64) as usize
}
