//! In-memory stores to be judged.

use std::sync::Arc;

use tidegate_core::ManualClock;
use tidegate_engine::memory::{Budget, MemoryStore};

/// What everything fits into that a test does.
pub(crate) const BUDGET: Budget =
    Budget { buckets: 2_000, quotas: 2_000, windows: 500, attempts: 100 };

/// A store with the smallest tables there are: one group for each shape, of five buckets or quotas,
/// or of three windows or abuse logs.
pub(crate) fn tight(clock: Arc<ManualClock>) -> MemoryStore<Arc<ManualClock>> {
    MemoryStore::new(Budget { buckets: 1, quotas: 1, windows: 1, attempts: 1 }, clock)
}

/// A store in which everything fits that a test does.
pub(crate) fn roomy(clock: Arc<ManualClock>) -> MemoryStore<Arc<ManualClock>> {
    MemoryStore::new(BUDGET, clock)
}
