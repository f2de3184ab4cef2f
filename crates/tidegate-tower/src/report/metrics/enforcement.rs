//! The policies and their state, as far as a scrape has to know them.

use std::sync::Arc;

use tidegate_core::{PolicySet, Standing, Store};
use tidegate_engine::{Engine, StoreHistory};

use crate::gate::Gate;
use crate::report::Audit;

/// A source of what a scrape shows besides the counters: which policies are in force, how they stand
/// with their store, and the audit. It is asked once for each scrape.
pub trait Enforcement: Send + Sync + 'static {
    /// The policies in force.
    fn policies(&self) -> Arc<PolicySet>;

    /// How a policy stands with its store, and what has happened between them.
    fn standing(&self, policy: &str) -> (Standing, StoreHistory);

    /// The audit, if one is kept.
    fn audit(&self) -> Option<&Audit> {
        None
    }
}

impl<S: Store + 'static> Enforcement for Arc<Engine<S>> {
    fn policies(&self) -> Arc<PolicySet> {
        Engine::policies(self).into_arc()
    }

    fn standing(&self, policy: &str) -> (Standing, StoreHistory) {
        let standing = Engine::standing(self, policy).unwrap_or(Standing::NORMAL);
        (standing, self.record(policy).unwrap_or_default())
    }
}

impl<S: Store + 'static> Enforcement for Gate<S> {
    fn policies(&self) -> Arc<PolicySet> {
        Enforcement::policies(self.engine())
    }

    fn standing(&self, policy: &str) -> (Standing, StoreHistory) {
        Enforcement::standing(self.engine(), policy)
    }

    fn audit(&self) -> Option<&Audit> {
        self.reporter().audit()
    }
}
