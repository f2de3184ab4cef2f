//! What a request holds of its limits until it is settled, kept by the caller who was admitted.

use std::sync::Arc;

use arrayvec::ArrayVec;
use tidegate_core::{Claim, Decision, Hold, Limit, MAX_LIMITS, Name, Settled, Store};

use crate::engine::Engine;
use crate::settle::{SettleError, weight_of};

/// What was taken for one request that may pass, with the very limits it was taken from.
///
/// A [ticket](tidegate_core::Ticket) is text that anybody can keep, and its limits are looked up among the
/// policies in force. Rows are in no policy, so whoever charges them keeps this value instead, in the same
/// process, and [settles](Engine::settle_held) it when the request is over.
#[derive(Clone, Debug)]
pub struct Held {
    pub(crate) claim: Claim,
    /// The policy under which the request was decided.
    pub(crate) policy: Name,
    /// The limits of the holds, in the same order.
    limits: ArrayVec<Arc<Limit>, MAX_LIMITS>,
}

// === impl Held ===

impl Held {
    /// Replaces each limit by its successor, if `next` knows one: a row may have been changed since the
    /// request was decided, and its counters be written under numbers that the earlier row does not know.
    #[must_use]
    pub fn under(mut self, next: impl Fn(&Limit) -> Option<Arc<Limit>>) -> Self {
        for limit in &mut self.limits {
            if let Some(next) = next(limit).filter(|next| next.id() == limit.id()) {
                *limit = next;
            }
        }
        self
    }

    pub(crate) fn limit(&self, hold: &Hold) -> Option<&Limit> {
        self.limits.iter().find(|limit| limit.id() == hold.limit).map(|limit| &**limit)
    }
}

// === impl Engine ===

impl<S: Store> Engine<S> {
    /// What a request that may pass holds of limits that [settle](Limit::settling), to be settled later in
    /// this process; `None` if there is nothing to settle.
    pub fn held(&self, decision: &Decision<'_>) -> Option<Held> {
        let claim = self.tickets.claim(decision)?;
        let all = decision.case().bundle().limits().iter();
        let is_held = |limit: &&Arc<Limit>| claim.holds.iter().any(|it| it.limit == limit.id());
        let limits = all.filter(is_held).cloned().collect();
        Some(Held { claim, policy: decision.policy().name().clone(), limits })
    }

    /// Settles what a request holds, as [`settle`](Self::settle) settles a ticket.
    ///
    /// # Errors
    ///
    /// As [`settle`](Self::settle).
    pub async fn settle_held(&self, held: &Held, weight: u64) -> Result<Settled, SettleError> {
        let weight = weight_of(weight)?;
        let policies = self.policies.load_full();
        let concerned = policies.get(held.policy.as_str());
        self.settle_claim(&held.claim, |hold| held.limit(hold), concerned, weight).await
    }
}
