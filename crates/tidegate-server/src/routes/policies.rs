//! `/v1/explain/{policy}`: what the limits of a policy say about a subject.

use std::sync::Arc;

use tidegate_core::Case;
use tidegate_engine::DecideError;
use tidegate_tower::serve::Share;

use super::decide::{undecided, unknown_policy};
use crate::answer::{self, Answer};
use crate::state::ServerState;
use crate::wire::listing::ExplainAnswer;
use crate::wire::query;
use tidegate_core::Store;
use tidegate_tower::answer::Problem;

/// Says which limits of a policy apply to a subject, with which numbers, and what they say now.
pub(crate) async fn explain<S: Store + 'static>(
    shared: &ServerState<S>,
    name: &str,
    query: &str,
    share: &Arc<Share>,
) -> Result<Answer, Problem> {
    let (facts, cost) = query::facts(query)?;
    let engine = &shared.engine;
    let set = engine.policies();
    let policy = set.get(name).ok_or_else(|| unknown_policy(&set, name))?;
    let subject = facts.subject();
    let mut case = Case::new(policy, &subject).weighing(cost);
    let decision = match engine.peek(&mut case).await {
        Ok(decision) => Some(decision),
        // The answer says of each limit that it does not apply.
        Err(DecideError::NothingApplies { .. }) => None,
        Err(error @ DecideError::Overloaded) => return Err(undecided(&error)),
    };
    let explained = ExplainAnswer::new(policy, &subject, facts.account(), decision);
    answer::held_document(&explained, share)
}
