//! The verbs of operators: block, unblock, reset, and the list of blocks.
//!
//! Each block, unblock and reset that succeeds is logged with the peer that asked for it, and with the
//! policy and the limit unless the block was named by its key. The subject is in no log.

use std::net::IpAddr;
use std::sync::Arc;

use tidegate_core::text::nearest;
use tidegate_core::{Case, Level, Page, Span};
use tidegate_engine::{Change, OperateError};
use tidegate_tower::serve::Share;

use super::answers::{BlocksAnswer, ChangesAnswer};
use super::requests::{self, Lift, OrderTarget};
use crate::answer::{self, Answer};
use crate::routes::unknown_policy;
use crate::state::ServerState;
use tidegate_core::Store;
use tidegate_tower::answer::{Code, Problem};

/// An operation on the counters of a subject.
#[derive(Clone, Copy, Debug)]
enum Verb {
    Block(Span, Option<Level>),
    Unblock,
    Reset,
}

/// Lists the blocks that hold, a page at a time.
pub(crate) async fn blocks<S: Store + 'static>(
    shared: &ServerState<S>,
    query: &str,
    share: &Arc<Share>,
) -> Result<Answer, Problem> {
    let listing = requests::listing(query)?;
    let page = Page { after: listing.after.as_deref(), at_most: listing.at_most };
    let blocks = shared.engine.blocks(page).await;
    let blocks = blocks.map_err(|error| undone(&error, "/after", &[]))?;
    answer::held_document(&BlocksAnswer::new(blocks), share)
}

/// Blocks a subject: it is refused for a while.
pub(crate) async fn block<S: Store + 'static>(
    shared: &ServerState<S>,
    peer: IpAddr,
    body: &[u8],
) -> Result<Answer, Problem> {
    let (target, lasts, level) = requests::block(body)?;
    operated(shared, peer, Verb::Block(lasts, level), &target).await
}

/// Lifts the blocks of a subject, or one from the list.
pub(crate) async fn unblock<S: Store + 'static>(
    shared: &ServerState<S>,
    peer: IpAddr,
    body: &[u8],
) -> Result<Answer, Problem> {
    match requests::unblock(body)? {
        Lift::Of(target) => operated(shared, peer, Verb::Unblock, &target).await,
        Lift::Listed(key) => {
            let amended = shared.engine.unblock_listed(&key).await;
            let amended = amended.map_err(|error| undone(&error, "/key", &[]))?;
            let (verb, changed) = (Verb::Unblock.name(), amended.changed);
            tracing::info!(%peer, verb, changed, "operator changed a block, chosen from the list");
            Ok(answer::document(&ChangesAnswer::listed(amended)))
        }
    }
}

/// Resets the counters of a subject: what was counted is forgotten.
pub(crate) async fn reset<S: Store + 'static>(
    shared: &ServerState<S>,
    peer: IpAddr,
    body: &[u8],
) -> Result<Answer, Problem> {
    operated(shared, peer, Verb::Reset, &requests::reset(body)?).await
}

/// Applies a verb to the counters of a subject, logs the changes, and answers with them.
async fn operated<S: Store + 'static>(
    shared: &ServerState<S>,
    peer: IpAddr,
    verb: Verb,
    target: &OrderTarget<'_>,
) -> Result<Answer, Problem> {
    let engine = &shared.engine;
    let set = engine.policies();
    let policy = set.get(&target.policy).ok_or_else(|| unknown_policy(&set, &target.policy))?;
    let subject = target.facts.subject();
    let mut case = Case::new(policy, &subject);
    let limit = target.limit.as_deref();
    let changes = match verb {
        Verb::Block(lasts, level) => {
            engine.block(&mut case, limit, lasts, level).await.map(|change| vec![change])
        }
        Verb::Unblock => engine.unblock(&mut case, limit).await,
        Verb::Reset => engine.reset(&mut case, limit).await,
    };
    let changes = changes.map_err(|error| {
        let names: Vec<_> = policy.limits().iter().map(|limit| limit.name().as_str()).collect();
        undone(&error, "/limit", &names)
    })?;
    if changes.is_empty() {
        return Err(nobody(verb));
    }
    for Change { limit, amended } in &changes {
        let (verb, policy, changed) = (verb.name(), policy.name(), amended.changed);
        tracing::info!(
            %peer, verb, %policy, %limit, changed, "operator changed the counters of a subject"
        );
    }
    Ok(answer::document(&ChangesAnswer::of(policy.name(), &changes)))
}

/// The problem when no limit of the policy counts the subject.
#[cold]
fn nobody(verb: Verb) -> Problem {
    let detail = match verb {
        Verb::Reset => {
            "no limit of the action counts this subject; pass the facts that they count by, or name \
             a global limit"
        }
        Verb::Block(..) | Verb::Unblock => {
            "no limit of this policy that can be blocked, one with `attempts`, counts this subject; \
             pass the facts that it counts by"
        }
    };
    Code::NothingApplies.problem(detail).about("/subject")
}

/// The problem for a verb that failed. `field` is the field that named the limit or the place in the
/// list; `limits` are the names to suggest from.
#[cold]
fn undone(error: &OperateError, field: &'static str, limits: &[&str]) -> Problem {
    match error {
        OperateError::NoSuchLimit { limit, .. } => {
            let meant = nearest(limit, limits.iter().copied());
            Code::InvalidField.problem(error.to_string()).about(field).suggesting(meant)
        }
        OperateError::NotCounted { .. } => {
            Code::NothingApplies.problem(error.to_string()).about("/subject")
        }
        OperateError::Ambiguous(0, _) => nobody(Verb::Unblock),
        OperateError::NotBlockable { .. }
        | OperateError::Ambiguous(..)
        | OperateError::NotListed => Code::InvalidField.problem(error.to_string()).about(field),
        OperateError::Store(_) => Code::StoreFailed.problem(error.to_string()),
    }
}

// === impl Verb ===

impl Verb {
    const fn name(self) -> &'static str {
        match self {
            Self::Block(..) => "block",
            Self::Unblock => "unblock",
            Self::Reset => "reset",
        }
    }
}
