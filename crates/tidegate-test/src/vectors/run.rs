//! The vectors of limits and attempts, charged through a store.

mod policy;

use std::sync::Arc;

use tidegate_core::{
    Cost, Denial, ManualClock, PolicySet, Reading, Retry, Room, Stage, Store, Subject, Timestamp,
    Verdict,
};

use super::written::{RemainingText, StageText, StepText, Vector, VerdictText};
use super::{Section, Vectors};
use crate::drive::{ChargeOrPeek, PlainDecision, ask};

/// Checks every vector of limits and of attempts, each through a store of its own that `store`
/// makes on the clock it is given. Returns the names of those checked.
///
/// # Errors
///
/// The first step with another outcome.
pub fn check<S: Store>(
    vectors: &Vectors,
    store: impl Fn(Arc<ManualClock>) -> S,
) -> Result<Vec<&str>, String> {
    let run = |vector| check_one(vector, &store);
    let all = vectors.of(Section::Limits).chain(vectors.of(Section::Attempts));
    all.map(|vector| run(vector).map(|()| &*vector.name)).collect()
}

fn check_one<S: Store>(
    vector: &Vector,
    store: &impl Fn(Arc<ManualClock>) -> S,
) -> Result<(), String> {
    let steps = vector.steps.as_deref().unwrap_or_default();
    // Times may go back in a trace, so the store begins at the earliest.
    let start = steps.iter().map(|step| step.at).min().ok_or("a trace without steps")?;
    let clock = Arc::new(ManualClock::new(start.0));
    let store = store(Arc::clone(&clock));
    let mut set = policy::of_vector(vector)?;
    for (index, step) in steps.iter().enumerate() {
        clock.set(step.at.0);
        let told = match &step.reload {
            Some(limits) => {
                set = policy::of_limits(limits, Some(&set))?;
                expects_nothing(step)
            }
            None => check_step(step, &asked(&store, &set, step)?),
        };
        told.map_err(|error| format!("{}, step {}: {error}", vector.name, index + 1))?;
    }
    Ok(())
}

fn asked<S: Store>(store: &S, set: &PolicySet, step: &StepText) -> Result<PlainDecision, String> {
    let cost = Cost::try_new(step.cost.unwrap_or(1)).map_err(|error| error.to_string())?;
    let subject = Subject::new().org("acme").user(step.user.as_deref().unwrap_or("u0"));
    ask(store, &set.policies()[0], &subject, cost, ChargeOrPeek::Charge)
        .ok_or("no limit applies".to_owned())
}

/// Checks that a reload step states no outcome, because a reload has none.
fn expects_nothing(step: &StepText) -> Result<(), String> {
    let mut bare: StepText = serde_saphyr::from_str("{at: 0s}").expect("a step needs only a time");
    (bare.at, bare.reload) = (step.at, step.reload.clone());
    same("what a reload comes to", &format!("{step:?}"), &format!("{bare:?}"))
}

fn check_step(step: &StepText, answer: &PlainDecision) -> Result<(), String> {
    let StepText {
        at: _,
        cost: _,
        user: _,
        reload: _,
        verdict,
        remaining,
        retry_after,
        reset_after,
        backoff,
        never,
        binding,
        source,
        shadow,
        ..
    } = step;
    if !step.of_failures().is_empty() {
        return Err(format!("{:?} go with failures only", step.of_failures()));
    }
    let denial = match answer.verdict {
        Verdict::Deny(denial) => Some(denial),
        Verdict::Admit => None,
        other => return Err(format!("{other:?} is not what a policy that rejects says")),
    };
    let said = if denial.is_some() { VerdictText::Deny } else { VerdictText::Admit };
    same("the verdict", &said, &verdict.ok_or("a step without verdict")?)?;
    check_denial(denial, retry_after.map(|length| Retry::After(length.0)), *never, *source)?;
    if let Some(binding) = binding {
        same("the binding limit", &answer.binding, binding)?;
    }
    match remaining {
        Some(RemainingText::One(left)) => same("remaining", &only(answer)?.remaining, left)?,
        Some(RemainingText::Each(each)) => {
            same("the number of limits", &answer.readings.len(), &each.len())?;
            for (limit, left) in each {
                same(&format!("remaining of {limit}"), &answer.of(limit).remaining, left)?;
            }
        }
        None => {}
    }
    if let Some(length) = reset_after {
        same("reset_after", &only(answer)?.reset_after, &length.0)?;
    }
    if let Some(length) = backoff {
        same("backoff", &only(answer)?.backoff, &length.0)?;
    }
    check_tally(step, answer)?;
    for (limit, verdict) in shadow.iter().flatten() {
        let admits = answer.of(limit).room == Room::Now;
        same(&format!("the shadow {limit}"), &admits, &(*verdict == VerdictText::Admit))?;
    }
    Ok(())
}

/// Checks the counts of an abuse log, and the block it is under.
fn check_tally(step: &StepText, answer: &PlainDecision) -> Result<(), String> {
    let StepText { scope, temp_count, long_count, block_ends_in, .. } = step;
    if scope.is_none() && temp_count.is_none() && long_count.is_none() && block_ends_in.is_none() {
        return Ok(());
    }
    let tally = only(answer)?.attempts.ok_or("the limit counts no attempts")?;
    if let Some(count) = temp_count {
        same("the short count", &tally.temp, count)?;
    }
    if let Some(count) = long_count {
        same("the long count", &tally.long, count)?;
    }
    if let Some(scope) = scope {
        let said = tally.block.map(|block| block.scope.name());
        same("the scope", &said, &Some(scope.as_str()))?;
    }
    if let Some(length) = block_ends_in {
        let now = Timestamp::from_micros(answer.decided_at);
        let ends = tally.block.map(|block| block.until.since(now));
        same("the end of the block", &ends, &Some(length.0))?;
    }
    Ok(())
}

fn check_denial(
    denial: Option<Denial>,
    retry: Option<Retry>,
    never: bool,
    source: Option<StageText>,
) -> Result<(), String> {
    let told = denial.map(|denial| denial.retry);
    let retry = if never { Some(Retry::Never) } else { retry };
    if retry.is_some() || told == Some(Retry::Never) {
        same("the told wait", &told, &retry)?;
    }
    let source = source.map(|source| match source {
        StageText::Global => Stage::Global,
        StageText::Action => Stage::Action,
    });
    match source {
        Some(_) => same("the source", &denial.map(|denial| denial.source), &source),
        None => Ok(()),
    }
}

/// The reading of the only limit.
fn only(answer: &PlainDecision) -> Result<&Reading, String> {
    match &answer.readings[..] {
        [(_, reading)] => Ok(reading),
        all => Err(format!("one number for {} limits", all.len())),
    }
}

pub(super) fn same<T: PartialEq + core::fmt::Debug>(
    what: &str,
    found: &T,
    expected: &T,
) -> Result<(), String> {
    match found == expected {
        true => Ok(()),
        false => Err(format!("{what} is {found:?}, not {expected:?}")),
    }
}
