//! The policies in force, as one request or one thread sees them.
//!
//! They are swapped whole at a reload, without a lock; how is nobody's business but this file's.

use core::ops::Deref;
use std::sync::Arc;

use arc_swap::{ArcSwap, Cache, Guard};
use tidegate_core::{PolicySet, Store};

use crate::engine::Engine;

/// The policies in force when they were taken; see [`Engine::policies`]. Meant for one request: to
/// keep them for longer, call [`into_arc`](Self::into_arc).
#[derive(Debug)]
pub struct Policies(Guard<Arc<PolicySet>>);

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

// === impl Policies ===

impl Policies {
    #[inline]
    pub(crate) fn of(swapped: &ArcSwap<PolicySet>) -> Self {
        Self(swapped.load())
    }

    /// These policies, for as long as they are kept.
    #[inline]
    #[must_use]
    pub fn into_arc(self) -> Arc<PolicySet> {
        Guard::into_inner(self.0)
    }
}

impl Deref for Policies {
    type Target = Arc<PolicySet>;

    #[inline]
    fn deref(&self) -> &Arc<PolicySet> {
        &self.0
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
