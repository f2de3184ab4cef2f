//! `/admin/quotas`: what an organisation has left of its quotas.
//!
//! Metrics show this for the busiest organisations; here an operator may ask about any. Nothing is
//! charged.

use serde::Serialize;
use tidegate_core::{
    Case, Decision, Dimension, Explanation, Limit, Policy, Shape, ShapeKind, Store,
};
use tidegate_engine::DecideError;

use super::requests;
use crate::answer::{self, Answer};
use crate::routes::undecided;
use crate::state::ServerState;
use crate::wire::answers::WireInstant;
use tidegate_tower::answer::{Code, Problem};

/// The quotas that count a subject, policy by policy.
#[derive(Serialize)]
struct QuotasAnswer {
    quotas: Vec<QuotaAnswer>,
}

/// One quota of a subject, and what is left of it.
#[derive(Serialize)]
struct QuotaAnswer {
    policy: String,
    limit: String,
    /// The facts that the quota counts by.
    by: String,
    /// The most that the quota admits in a period, overrides considered.
    capacity: u64,
    remaining: u64,
    /// When the quota is full again: nothing counted so far counts after that.
    reset_at: WireInstant,
    /// Seconds until `reset_at`, rounded up.
    reset_after: u64,
}

/// Lists what is left of each quota that an organisation has.
pub(crate) async fn quotas<S: Store + 'static>(
    shared: &ServerState<S>,
    query: &str,
) -> Result<Answer, Problem> {
    let facts = requests::quotas(query)?;
    let subject = facts.subject();
    let engine = &shared.engine;
    let set = engine.policies();
    let mut quotas = Vec::new();
    let has_quota = |policy: &&Policy| policy.limits().iter().any(|it| is_quota(it, it.shape()));
    for policy in set.policies().iter().filter(has_quota) {
        let mut case = Case::new(policy, &subject);
        match engine.peek(&mut case).await {
            Ok(decision) if decision.failsafe().is_some() => {
                return Err(Code::StoreFailed.problem("the counters cannot be read"));
            }
            Ok(decision) => quotas.extend(told(&decision)),
            Err(DecideError::NothingApplies { .. }) => {}
            Err(error @ DecideError::Overloaded) => return Err(undecided(&error)),
        }
    }
    Ok(answer::document(&QuotasAnswer { quotas }))
}

/// Whether a limit of this shape is a quota of organisations.
fn is_quota(limit: &Limit, shape: &Shape) -> bool {
    shape.kind() == ShapeKind::Quota && limit.scope().contains(Dimension::Org)
}

fn told(decision: &Decision<'_>) -> impl Iterator<Item = QuotaAnswer> {
    let (policy, at) = (decision.policy().name(), decision.decided_at());
    let is_told =
        |said: &Explanation<'_>| is_quota(said.limit, said.shape) && !said.limit.is_shadow();
    decision.explain().filter(is_told).map(move |said| QuotaAnswer {
        policy: policy.to_string(),
        limit: said.limit.name().to_string(),
        by: said.limit.scope().to_string(),
        capacity: said.shape.capacity(),
        remaining: said.reading.remaining.max(0).unsigned_abs(),
        reset_at: WireInstant(at.after(said.reading.reset_after)),
        reset_after: said.reading.reset_after.as_secs_ceil(),
    })
}
