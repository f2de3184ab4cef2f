//! Who is in a row of refusals, and how long it is.
//!
//! A row begins with a refusal and ends when something passes; most actors are in none. So the way of a
//! request that passes is short: one load if nobody is, two if somebody else is. The table is bounded,
//! and those who find no room are counted together rather than not at all.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU16, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tidegate_core::{Span, Timestamp};

/// The rows of all actors, by a keyed hash of each.
#[derive(Debug)]
pub(super) struct Runs {
    shards: [Mutex<Shard>; SHARDS],
    /// How many rows there are whose hashes end alike. Changed only under the lock of their shard.
    present: Box<[AtomicU16]>,
    /// How many rows there are.
    live: AtomicUsize,
    /// How many refusals there were of actors without a row of their own.
    beyond: AtomicU64,
    /// The most rows of one shard.
    most: usize,
}

/// Some of the rows: those whose hashes begin alike.
#[derive(Debug)]
struct Shard {
    rows: HashMap<u64, Row>,
    /// When it was last looked for rows that nobody goes on with.
    swept: Timestamp,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    length: u64,
    last: Timestamp,
}

/// How long a row is with the refusal that was just added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Run {
    /// One's own.
    Own(u64),
    /// That of all who have none.
    Other(u64),
}

/// So that actors do not wait for one another.
const SHARDS: usize = 16;
/// Of the filter; all of one shard are next to each other.
const PRESENT: usize = 1 << 14;
/// After how long a row gives way to another one, if there is no room.
const IDLE: Span = Span::HOUR;
/// How often it is looked for such rows.
const SWEEP: Span = Span::MINUTE;

// === impl Runs ===

impl Runs {
    /// At most so many rows at once.
    pub(super) fn new(most: NonZeroUsize) -> Self {
        let shard = || Mutex::new(Shard { rows: HashMap::new(), swept: Timestamp::ZERO });
        // What the filter can count, too.
        let most = most.get().div_ceil(SHARDS).min(usize::from(u16::MAX));
        Self {
            shards: core::array::from_fn(|_| shard()),
            present: (0..PRESENT).map(|_| AtomicU16::new(0)).collect(),
            live: AtomicUsize::new(0),
            beyond: AtomicU64::new(0),
            most,
        }
    }

    /// Whether nobody is in a row.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.live.load(Relaxed) == 0
    }

    /// Adds a refusal.
    pub(super) fn extend(&self, actor: u64, at: Timestamp) -> Run {
        let mut shard = self.shard(actor);
        if let Some(row) = shard.rows.get_mut(&actor) {
            *row = Row { length: row.length.saturating_add(1), last: row.last.max(at) };
            return Run::Own(row.length);
        }
        if shard.rows.len() >= self.most {
            self.sweep(&mut shard, at);
        }
        if shard.rows.len() >= self.most {
            return Run::Other(self.beyond.fetch_add(1, Relaxed).saturating_add(1));
        }
        shard.rows.insert(actor, Row { length: 1, last: at });
        self.slot(actor).fetch_add(1, Relaxed);
        self.live.fetch_add(1, Relaxed);
        Run::Own(1)
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

    /// Lets go of rows that nobody has gone on with for long.
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

/// The place in the filter; the shard follows from it.
#[expect(clippy::cast_possible_truncation, reason = "smaller than the filter")]
const fn index(actor: u64) -> usize {
    (actor % PRESENT as u64) as usize
}
