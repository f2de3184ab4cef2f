//! The policies in force, as one thread sees them.

use std::sync::Arc;

use arc_swap::{ArcSwap, Cache};
use tidegate_core::{PolicySet, Store};

use crate::engine::Engine;

/// One thread's view of the policies in force; see [`Engine::reader`].
#[derive(Clone, Debug)]
pub struct Reader<'e>(Cache<&'e ArcSwap<PolicySet>, Arc<PolicySet>>);

// === impl Engine ===

impl<S: Store> Engine<S> {
    /// A view of the policies in force for one thread, quicker than [`policies`](Self::policies)
    /// because it only looks whether they have been swapped.
    pub fn reader(&self) -> Reader<'_> {
        Reader(Cache::new(&self.policies))
    }
}

// === impl Reader ===

impl Reader<'_> {
    /// The policies in force.
    #[inline]
    pub fn policies(&mut self) -> &PolicySet {
        self.0.load()
    }
}
