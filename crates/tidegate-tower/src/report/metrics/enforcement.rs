//! The policies and their state, as far as a scrape has to know them.

use std::sync::Arc;

use arc_swap::Guard;
use tidegate_core::{PolicySet, Standing, Store};
use tidegate_engine::{Engine, Record};

use crate::gate::Gate;
use crate::report::Audit;

/// A source of what a scrape shows besides the counters: which policies are in force, how they stand
/// with their store, and the audit. It is asked once for each scrape.
pub trait Enforcement: Send + Sync + 'static {
    /// The policies in force.
    fn policies(&self) -> Arc<PolicySet>;

    /// How a policy stands with its store.
    fn standing(&self, policy: &str) -> Standing;

    /// What has happened between a policy and its store.
    fn record(&self, policy: &str) -> Record;

    /// The audit, if one is kept.
    fn audit(&self) -> Option<&Audit> {
        None
    }
}

impl<S: Store + 'static> Enforcement for Engine<S> {
    fn policies(&self) -> Arc<PolicySet> {
        Guard::into_inner(Engine::policies(self))
    }

    fn standing(&self, policy: &str) -> Standing {
        Engine::standing(self, policy).unwrap_or(Standing::NORMAL)
    }

    fn record(&self, policy: &str) -> Record {
        Engine::record(self, policy).unwrap_or_default()
    }
}

impl<S: Store + 'static> Enforcement for Gate<S> {
    fn policies(&self) -> Arc<PolicySet> {
        Enforcement::policies(&**self.engine())
    }

    fn standing(&self, policy: &str) -> Standing {
        Enforcement::standing(&**self.engine(), policy)
    }

    fn record(&self, policy: &str) -> Record {
        Enforcement::record(&**self.engine(), policy)
    }

    fn audit(&self) -> Option<&Audit> {
        self.reporter().audit()
    }
}

impl<T: Enforcement + ?Sized> Enforcement for Arc<T> {
    fn policies(&self) -> Arc<PolicySet> {
        (**self).policies()
    }

    fn standing(&self, policy: &str) -> Standing {
        (**self).standing(policy)
    }

    fn record(&self, policy: &str) -> Record {
        (**self).record(policy)
    }

    fn audit(&self) -> Option<&Audit> {
        (**self).audit()
    }
}
