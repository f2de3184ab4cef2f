//! Plans: numbers of callers that come from elsewhere than the policies.

use tidegate_core::Store;
use tracing::warn;

use super::Gate;
use crate::identity::Identity;
use crate::plan::Plan;

// === impl Gate ===

impl<S: Store> Gate<S> {
    /// The plan of a caller, if a source knows one. Numbers that the policies in force do not know yet
    /// are taught to them first.
    pub(super) fn plan(&self, identity: &Identity) -> Option<Plan> {
        let plan = self.0.source.as_ref()?.plan(identity)?;
        if !plan.numbers().is_empty() && !self.0.engine.policies().knows_plan(plan.name()) {
            self.teach(&plan);
        }
        Some(plan)
    }

    /// Teaches the policies the numbers of a plan: once for each set of numbers and reload. If they
    /// cannot be learnt, the usual numbers stay in force.
    #[cold]
    fn teach(&self, plan: &Plan) {
        if let Err(error) = self.0.engine.learn(plan.name(), plan.numbers()) {
            warn!(%error, "the numbers of a plan could not be loaded, so the usual numbers apply");
        }
    }
}
