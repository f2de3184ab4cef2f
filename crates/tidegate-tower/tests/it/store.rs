//! The store of this run of the suite: in memory, where every answer is there at once.

use std::sync::Arc;

use tidegate_core::ManualClock;
use tidegate_engine::memory::{Budget, MemoryStore};

pub(crate) type Store = MemoryStore<Arc<ManualClock>>;

/// Lets the store answer when it is asked, as it does anyway.
pub(crate) fn answer_at_once(_store: &Store) {}

pub(crate) fn store(clock: &Arc<ManualClock>) -> Store {
    MemoryStore::new(Budget::default(), Arc::clone(clock))
}
