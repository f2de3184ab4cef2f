//! The store of this run of the suite: it comes back once before each answer.

use std::sync::Arc;

use tidegate_core::ManualClock;
use tidegate_test::stub::Waiting;

pub(crate) type Store = Waiting;

/// Lets the store answer when it is asked, for tests that count polls.
pub(crate) fn answer_at_once(store: &Store) {
    store.wire().wait(0, 0);
}

pub(crate) fn store(clock: &Arc<ManualClock>) -> Store {
    Waiting::in_memory(clock)
}
