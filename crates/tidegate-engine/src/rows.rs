//! All rows of a process: the limits that are kept in a database, changed one at a time while requests are
//! decided by the others.
//!
//! The rows are spread over shards by their ids. A change copies its shard, and requests that have one in
//! hand keep it; nothing waits for anything. A row that was deleted is remembered until its counters are
//! fresh, so that one which is created again goes on where it was.

use core::hash::BuildHasher as _;
use std::collections::HashMap;
use std::hash::RandomState;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use tidegate_core::{Bundle, BundleError, Limit, LimitError, RowId, Timestamp};

/// The number of shards. A million rows are a thousand for each, which are copied in microseconds.
const SHARDS: usize = 1_024;

/// The rows in force, by their ids.
#[derive(Debug)]
pub struct Rows {
    shards: Box<[ArcSwap<Shard>]>,
    hasher: RandomState,
    /// Held while a row is changed: two changes of one shard must not lose one of them.
    changing: Mutex<()>,
}

type Shard = HashMap<RowId, KnownRow, RandomState>;

/// A row that is in force, or was.
#[derive(Clone, Debug)]
struct KnownRow {
    limit: Arc<Limit>,
    /// When the row can be forgotten; `None` while it is in force.
    forgettable_at: Option<Timestamp>,
}

/// Why some rows are not in force together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RowsError {
    /// There is no row with this id.
    #[error("there is no row {0}")]
    Unknown(RowId),
    /// The rows cannot be charged together.
    #[error(transparent)]
    Bundle(#[from] BundleError),
}

// === impl Rows ===

impl Rows {
    /// No rows.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Many rows at once, as they are read from a database when a process starts; of two with the same id
    /// the later one is in force.
    #[must_use]
    pub fn of(rows: impl IntoIterator<Item = Limit>) -> Self {
        let (empty, mut shards) = (Self::new(), vec![Shard::default(); SHARDS]);
        for row in rows {
            if let Some(id) = row.row_id() {
                let known = KnownRow { limit: Arc::new(row), forgettable_at: None };
                shards[empty.place(id)].insert(id, known);
            }
        }
        let shards = shards.into_iter().map(ArcSwap::from_pointee).collect();
        Self { shards, ..empty }
    }

    /// The row with this id, if it is in force.
    #[must_use]
    pub fn get(&self, id: RowId) -> Option<Arc<Limit>> {
        let shard = self.shards[self.place(id)].load();
        let known = shard.get(&id).filter(|known| known.forgettable_at.is_none())?;
        Some(Arc::clone(&known.limit))
    }

    /// The bundle of these rows, in this order.
    ///
    /// # Errors
    ///
    /// If one of them is not in force, or they cannot be charged together.
    pub fn bundle(&self, ids: &[RowId]) -> Result<Bundle, RowsError> {
        let row = |id: &RowId| self.get(*id).ok_or(RowsError::Unknown(*id));
        let rows = ids.iter().map(row).collect::<Result<_, _>>()?;
        Ok(Bundle::try_new(rows)?)
    }

    /// Puts a row in force at `at`, in place of the one with the same id if there is or was one, and
    /// returns it.
    ///
    /// # Errors
    ///
    /// If the limit is not a row, or cannot [succeed](Limit::replacing) the one that it replaces, which
    /// stays in force.
    pub fn put(&self, row: Limit, at: Timestamp) -> Result<Arc<Limit>, LimitError> {
        let id = row.row_id().ok_or_else(|| LimitError::NoRow(row.name().clone()))?;
        self.change(id, at, |earlier| {
            let next = match earlier {
                Some(earlier) => row.replacing(&earlier.limit, at)?,
                None => row,
            };
            let limit = Arc::new(next);
            Ok((Some(KnownRow { limit: Arc::clone(&limit), forgettable_at: None }), limit))
        })
    }

    /// Deletes a row at `at`. Returns whether it was in force.
    pub fn delete(&self, id: RowId, at: Timestamp) -> bool {
        let deleted = self.change(id, at, |known| {
            let known = known.cloned();
            let was_in_force = known.as_ref().is_some_and(|known| known.forgettable_at.is_none());
            let deleted = known.map(|known| KnownRow {
                forgettable_at: Some(
                    known.forgettable_at.unwrap_or(known.limit.forgettable_at(at)),
                ),
                ..known
            });
            Ok((deleted, was_in_force))
        });
        deleted.unwrap_or(false)
    }

    /// The number of rows in force.
    #[must_use]
    pub fn len(&self) -> usize {
        let in_force = |shard: &ArcSwap<Shard>| {
            shard.load().values().filter(|known| known.forgettable_at.is_none()).count()
        };
        self.shards.iter().map(in_force).sum()
    }

    /// Whether no row is in force.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Replaces one row, and forgets those of its shard that were deleted long enough ago.
    fn change<T>(
        &self,
        id: RowId,
        at: Timestamp,
        change: impl FnOnce(Option<&KnownRow>) -> Result<(Option<KnownRow>, T), LimitError>,
    ) -> Result<T, LimitError> {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let shard = &self.shards[self.place(id)];
        let mut next = Shard::clone(&shard.load());
        next.retain(|_, known| known.forgettable_at.is_none_or(|then| at < then));
        let (known, answer) = change(next.get(&id))?;
        next.extend(known.map(|known| (id, known)));
        shard.store(Arc::new(next));
        Ok(answer)
    }

    fn place(&self, id: RowId) -> usize {
        usize::try_from(self.hasher.hash_one(id) % SHARDS as u64).unwrap_or_default()
    }
}

impl Default for Rows {
    fn default() -> Self {
        let shards = (0..SHARDS).map(|_| ArcSwap::default()).collect();
        Self { shards, hasher: RandomState::default(), changing: Mutex::default() }
    }
}

#[cfg(test)]
mod tests;
