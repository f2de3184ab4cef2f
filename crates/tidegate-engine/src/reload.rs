//! Changing the policies, or the numbers of a plan, while an engine is running.

use std::sync::Arc;

use tidegate_core::{Name, PolicyError, PolicySetBuilder, Shape, Store, Timestamp};

use crate::engine::Engine;
use crate::event::Event;

// === impl Engine ===

impl<S: Store> Engine<S> {
    /// Puts other policies in force, as successors of the present ones: what was counted so far
    /// stays readable. Plans that were [learnt](Self::learn) are forgotten and have to be taught
    /// again. If the other policies are refused, the present ones stay.
    ///
    /// # Errors
    ///
    /// What is wrong with the policies.
    pub fn reload(&self, policies: &PolicySetBuilder) -> Result<(), PolicyError> {
        loop {
            // Built from the very set it replaces: two reloads at once would otherwise give the
            // same stamp to different numbers.
            let present = self.policies.load();
            let next =
                policies.clone().at(self.now()).build(Some(&present)).inspect_err(|error| {
                    self.emit(|| Event::ReloadRefused { reason: error.to_string() });
                })?;
            let count = next.policies().len();
            if Arc::ptr_eq(&present, &self.policies.compare_and_swap(&present, Arc::new(next))) {
                if S::FALLIBLE {
                    self.posts.renew(&self.policies.load(), self.now());
                    self.traffic.follow(&self.policies.load(), self.store().patience());
                }
                self.emit(|| Event::Reloaded { policies: count });
                return Ok(());
            }
        }
    }

    /// Teaches the policies in force the numbers of a plan, unless they
    /// [know](tidegate_core::PolicySet::knows_plan) it; see
    /// [`PolicySet::learning`](tidegate_core::PolicySet::learning). For numbers that are kept in a
    /// database or come with a claim: a host that meets a plan that is not known teaches it, and
    /// then decides by the policies in force.
    ///
    /// # Errors
    ///
    /// What is wrong with the numbers. Nothing has been changed then.
    pub fn learn(&self, plan: &str, numbers: &[(Name, Shape)]) -> Result<(), PolicyError> {
        loop {
            // Built from the very set it replaces, as a reload is.
            let present = self.policies.load();
            if present.knows_plan(plan) {
                return Ok(());
            }
            let next = present.learning(plan, numbers)?;
            if Arc::ptr_eq(&present, &self.policies.compare_and_swap(&present, Arc::new(next))) {
                return Ok(());
            }
        }
    }

    /// Stops asking the store for counters under their former names, once no such counter is left.
    pub(crate) fn forget_names(&self, now: Timestamp) {
        let present = self.policies.load();
        if let Some(next) = present.forgetting(now) {
            // If a reload comes in between, the next poll does this.
            self.policies.compare_and_swap(&present, Arc::new(next));
        }
    }

    /// Reports that other policies were refused before they could be built, such as those of a file
    /// that cannot be read.
    pub fn refuse_reload(&self, reason: &str) {
        self.emit(|| Event::ReloadRefused { reason: reason.to_owned() });
    }
}
