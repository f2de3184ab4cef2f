//! What the server wants to know about a store beyond charging it.

use tidegate_core::{Clock, Store};
use tidegate_engine::memory::{MemoryStore, Usage};

/// A store that can be named and measured, for `/readyz` and `/metrics`.
pub trait Backend: Store + 'static {
    /// Its name: `memory`, `redis`, …
    fn name(&self) -> &'static str;

    /// What it holds, if it can tell. Asked once per scrape of `/metrics`, away from the threads
    /// that answer, so it may take a while.
    fn usage(&self) -> Option<Usage> {
        None
    }
}

impl<C: Clock + 'static> Backend for MemoryStore<C> {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn usage(&self) -> Option<Usage> {
        Some(Self::usage(self))
    }
}
