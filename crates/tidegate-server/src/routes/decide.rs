//! The endpoints for decisions: one, one that charges nothing, and a batch.

use std::borrow::Cow;
use std::sync::Arc;

use tidegate_core::text::nearest;
use tidegate_core::{Case, Decision, PolicySet, Store};
use tidegate_engine::DecideError;
use tidegate_tower::serve::{MemoryUse, Share};

use crate::answer::{self, Answer};
use crate::attempts;
use crate::state::ServerState;
use crate::wire::answers::DecisionAnswer;
use crate::wire::ask::Ask;
use crate::wire::requests;
use tidegate_tower::answer::{Code, Problem};

/// The bytes reserved for an answer: an ordinary one is written without growing.
const USUAL_ANSWER: usize = 1024;

/// Decides a request, and counts it if it is admitted.
///
/// Answers 200 whatever the verdict: a refusal is an answer, not an error.
pub(crate) async fn decide<S: Store + 'static>(
    shared: &ServerState<S>,
    body: &[u8],
) -> Result<Answer, Problem> {
    let mut document = Vec::with_capacity(USUAL_ANSWER);
    charge(shared, &requests::ask(body)?, &mut document).await?;
    Ok(answer::json(document))
}

/// Says what a decision would be, and charges nothing.
pub(crate) async fn peek<S: Store + 'static>(
    shared: &ServerState<S>,
    body: &[u8],
) -> Result<Answer, Problem> {
    let ask = requests::ask(body)?;
    let set = shared.engine.policies();
    let policy = set.get(&ask.policy).ok_or_else(|| unknown_policy(&set, &ask.policy))?;
    let subject = ask.facts.subject();
    let mut case = Case::new(policy, &subject).weighing(ask.cost);
    let decision = shared.engine.peek(&mut case).await.map_err(|error| undecided(&error))?;
    let mut document = Vec::with_capacity(USUAL_ANSWER);
    DecisionAnswer::new(decision, ask.facts.account(), None).write(&mut document);
    Ok(answer::json(document))
}

/// Decides many requests, each by itself. If one of them cannot be read, none is decided.
pub(crate) async fn batch<S: Store + 'static>(
    shared: &ServerState<S>,
    body: &[u8],
    share: &Arc<Share>,
) -> Result<Answer, Problem> {
    let requests = requests::batch(body)?;
    let length = USUAL_ANSWER * requests.len();
    // Held before anything is decided, so that everything that is charged is answered.
    let held = share.hold(MemoryUse::Answers, length).ok_or_else(answer::unread)?;
    let mut document = Vec::with_capacity(length);
    document.extend_from_slice(b"{\"results\":[");
    for (place, request) in requests.into_iter().enumerate() {
        if place > 0 {
            document.push(b',');
        }
        let before = document.len();
        if let Err(problem) = charge(shared, &request, &mut document).await {
            document.truncate(before);
            let problem = problem.under(&format!("/requests/{place}"));
            document.extend_from_slice(&problem.to_json());
        }
    }
    document.extend_from_slice(b"]}");
    Ok(answer::held(document, held))
}

/// Decides a request, counts the decision in metrics, and writes it to `document`.
async fn charge<S: Store + 'static>(
    shared: &ServerState<S>,
    ask: &Ask<'_>,
    document: &mut Vec<u8>,
) -> Result<(), Problem> {
    let engine = &shared.engine;
    let set = engine.policies();
    let place = set.place(&ask.policy).ok_or_else(|| unknown_policy(&set, &ask.policy))?;
    let subject = ask.facts.subject();
    let mut case = Case::new(&set.policies()[place], &subject).weighing(ask.cost);
    let decision = decided(shared, &set, place, &mut case).await;
    let decision = decision.map_err(|error| undecided(&error))?;
    let ticket = engine.ticket(&decision);
    DecisionAnswer::new(decision, ask.facts.account(), ticket.as_ref()).write(document);
    Ok(())
}

/// Decides a case of the policy at index `place` of the set, and counts the decision in metrics.
#[inline]
pub(super) async fn decided<'c, S: Store + 'static>(
    shared: &ServerState<S>,
    set: &Arc<PolicySet>,
    place: usize,
    case: &'c mut Case<'_>,
) -> Result<Decision<'c>, DecideError> {
    let decided = shared.engine.decide(case).await;
    let tally = shared.tallies.mine();
    tally.decided(set, place, &decided);
    if let Ok(decision) = &decided {
        attempts::note(tally, decision);
    }
    decided
}

/// The problem for a request that could not be decided. It says why: its reader is a host, not an end
/// user.
#[cold]
pub(crate) fn undecided(error: &DecideError) -> Problem {
    match error {
        DecideError::NothingApplies { .. } => {
            Code::NothingApplies.problem(error.to_string()).about("/subject")
        }
        DecideError::Overloaded => overloaded(error.to_string()),
    }
}

/// The problem for more requests at once than the store can be asked about in time; nothing was counted.
#[cold]
pub(super) fn overloaded(detail: impl Into<Cow<'static, str>>) -> Problem {
    Code::Overloaded.problem(detail).retry_after(DecideError::RETRY_AFTER)
}

/// The problem for a policy that does not exist; it suggests one with nearly this name.
#[cold]
pub(crate) fn unknown_policy(set: &PolicySet, name: &str) -> Problem {
    // Not all of very many: a misspelt name must not cost more than a good one is worth.
    let names = set.policies().iter().take(200).map(|policy| policy.name().as_str());
    Code::UnknownPolicy
        .problem("no policy in force has this name; `GET /v1/policies` lists them")
        .about("/policy")
        .suggesting(nearest(name, names))
}
