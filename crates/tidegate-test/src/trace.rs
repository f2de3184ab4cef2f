//! Traces nobody would think of: policies, requests, clocks and reloads, made up from a seed.
//!
//! A trace is plain data. `proptest` makes it, shrinks it when it fails, and prints what is left;
//! the times that matter most (the told wait, one tick less, the edge of a period) are steps of
//! their own, because chance would not hit them.

mod attempts;
mod plan;
mod strategy;

pub use attempts::{MannerPlan, WindowPlan};
pub use plan::{
    CountsPlan, LimitPlan, OverridePlan, PeriodPlan, PolicyPlan, ScopePlan, ShapePlan, StagePlan,
};
pub use strategy::{attempts, policies, shapes, traces, traces_of, with_reloads};

use std::sync::Arc;

use tidegate_core::{Clock, Cost, ManualClock, PolicySet, Retry, Span, Store, Timestamp, Verdict};

use crate::drive::{Answer, Ask, ask, ask_remote};

/// The start of every trace, 2026-03-28T22:59:57.123457Z: three seconds before a day in Berlin
/// that has 23 hours, and on no round tick.
pub const START: Timestamp = Timestamp::from_micros(1_774_738_797_123_457);

/// A told wait that is longer is not waited for: the range of time is finite.
const LONGEST_WAIT: Span = Span::from_secs(400 * 24 * 3_600);

/// A policy, and what happens to it.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The policy at first.
    pub policy: PolicyPlan,
    /// What happens, in this order.
    pub steps: Vec<Step>,
}

/// One thing that happens.
#[derive(Clone, Debug)]
pub enum Step {
    /// Somebody asks, for so many units.
    Ask(Who, u64, Ask),
    /// Time passes.
    Wait(u64),
    /// Time passes until the next multiple of so many microseconds, or one tick less.
    ToEdge(u64, bool),
    /// Exactly the wait that the last refusal told passes, or one tick less.
    ToldWait(bool),
    /// The clock is set back.
    Back(u64),
    /// The policy is replaced.
    Reload(PolicyPlan),
    /// The limits get the first of these numbers that are of their shape.
    Renumber(Vec<ShapePlan>),
}

/// Who asks: one of a few, so that counters are shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Who {
    /// One of the organisations.
    pub org: u8,
    /// One of the users, or nobody who is known.
    pub user: Option<u8>,
    /// One of the addresses.
    pub address: u8,
}

/// One request of a trace, answered.
pub struct Moment<'m, S> {
    /// Who asked.
    pub who: Who,
    /// What the request weighs.
    pub weight: Cost,
    /// Whether it was made or only considered.
    pub how: Ask,
    /// The answer.
    pub answer: &'m Answer,
    /// The policy in force, as it was planned.
    pub policy: &'m PolicyPlan,
    set: &'m PolicySet,
    clock: &'m ManualClock,
    store: &'m S,
}

/// Walks `trace` through `store`, whose clock is `clock`, and shows `see` each answer.
pub fn walk<S: Store>(
    trace: &Trace,
    clock: &ManualClock,
    store: &S,
    mut see: impl FnMut(&Moment<'_, S>),
) {
    let mut policy = trace.policy.clone();
    let mut set = policy.build(None);
    let mut told = Span::from_micros(1);
    for step in &trace.steps {
        match step {
            Step::Wait(micros) => clock.advance(Span::from_micros(*micros)),
            Step::ToEdge(length, early) => to_edge(clock, *length, *early),
            Step::ToldWait(early) if told <= LONGEST_WAIT => {
                clock.advance(Span::from_micros(told.as_micros() - u64::from(*early)));
            }
            Step::ToldWait(_) => {}
            Step::Back(micros) => {
                let back = clock.now().as_micros().saturating_sub(*micros);
                clock.set(Timestamp::from_micros(back.max(START.as_micros())));
            }
            Step::Reload(plan) => {
                policy = plan.clone();
                set = policy.build(Some(&set));
            }
            Step::Renumber(shapes) => {
                policy.renumber(shapes);
                set = policy.build(Some(&set));
            }
            Step::Ask(who, weight, how) => {
                let (who, how) = (*who, *how);
                let weight = Cost::try_new(*weight).expect("traces have costs from 1 on");
                let Some(answer) = who.ask(store, &set, weight, how) else { continue };
                told = told_wait(&answer).unwrap_or(told);
                let (policy, set, answer) = (&policy, &set, &answer);
                see(&Moment { who, weight, how, answer, policy, set, clock, store });
            }
        }
    }
}

/// Walks `trace` through a store that is made for it, once its clock has been set.
pub fn walk_new<S: Store>(
    trace: &Trace,
    store: impl FnOnce(Arc<ManualClock>) -> S,
    see: impl FnMut(&Moment<'_, S>),
) {
    let clock = Arc::new(ManualClock::new(START));
    let store = store(Arc::clone(&clock));
    walk(trace, &clock, &store, see);
}

/// Walks the requests and reloads of `trace` through a store that has a clock of its own, and gives each
/// answer beside that of a judge who is asked at the time the store says it was. Steps of time are
/// left out: it passes by itself.
///
/// # Panics
///
/// If the store fails.
pub async fn judged<S: Store, J: Store>(
    trace: &Trace,
    store: &S,
    clock: &ManualClock,
    judge: &J,
) -> Vec<(Answer, Answer)> {
    let mut answers = Vec::new();
    let mut policy = trace.policy.clone();
    let mut set = policy.build(None);
    for step in &trace.steps {
        match step {
            Step::Reload(plan) => policy = plan.clone(),
            Step::Renumber(shapes) => policy.renumber(shapes),
            Step::Ask(who, weight, how) => {
                let weight = Cost::try_new(*weight).expect("traces have costs from 1 on");
                let (policy, subject) = (&set.policies()[0], plan::subject(who));
                let asked = ask_remote(store, policy, &subject, weight, *how).await;
                let Some(answer) = asked else { continue };
                clock.set(Timestamp::from_micros(answer.decided_at));
                let expected = who.ask(judge, &set, weight, *how);
                answers.extend(expected.map(|expected| (answer, expected)));
                continue;
            }
            Step::Wait(_) | Step::ToEdge(..) | Step::ToldWait(_) | Step::Back(_) => continue,
        }
        set = policy.build(Some(&set));
    }
    answers
}

/// Every answer of a store in `trace`.
pub fn answers<S: Store>(
    trace: &Trace,
    store: impl FnOnce(Arc<ManualClock>) -> S,
) -> Vec<(Who, Answer)> {
    let mut answers = Vec::new();
    walk_new(trace, store, |moment| answers.push((moment.who, moment.answer.clone())));
    answers
}

/// The wait a refusal tells.
#[must_use]
pub fn told_wait(answer: &Answer) -> Option<Span> {
    match answer.verdict {
        Verdict::Queue(wait) => Some(wait),
        Verdict::Deny(denial) => match denial.retry {
            Retry::After(wait) => Some(wait),
            Retry::Never => None,
        },
        Verdict::Admit | Verdict::Degrade => None,
    }
}

fn to_edge(clock: &ManualClock, length: u64, early: bool) {
    let now = clock.now().as_micros();
    let edge = (now / length + 1) * length;
    let then = edge - u64::from(early);
    clock.set(Timestamp::from_micros(then.max(now)));
}

// === impl Trace ===

impl Trace {
    /// The same without the steps that set the clock back.
    #[must_use]
    pub fn forward(mut self) -> Self {
        self.steps.retain(|step| !matches!(step, Step::Back(_)));
        self
    }

    /// The same without reloads after the first so many.
    #[must_use]
    pub fn with_reloads_up_to(mut self, most: usize) -> Self {
        let mut reloads = 0;
        self.steps.retain(|step| {
            reloads += usize::from(matches!(step, Step::Reload(_) | Step::Renumber(_)));
            reloads <= most || !matches!(step, Step::Reload(_) | Step::Renumber(_))
        });
        self
    }

    /// Every shape that any limit has or gets.
    pub fn shapes(&self) -> impl Iterator<Item = &ShapePlan> {
        let later = self.steps.iter().flat_map(|step| match step {
            Step::Reload(policy) => policy.limits.iter().flat_map(LimitPlan::shapes).collect(),
            Step::Renumber(shapes) => shapes.iter().collect(),
            _ => Vec::new(),
        });
        self.policy.limits.iter().flat_map(LimitPlan::shapes).chain(later)
    }

    /// The same with the usual numbers for everybody.
    #[must_use]
    pub fn without_overrides(mut self) -> Self {
        self.policy.limits.iter_mut().for_each(|limit| limit.other = None);
        self
    }

    /// The same with each request considered before it is made, and once more after it.
    #[must_use]
    pub fn considered(self) -> Self {
        let steps = self.steps.into_iter().flat_map(|step| match step {
            Step::Ask(who, weight, Ask::Charge) => {
                [Ask::Peek, Ask::Charge, Ask::Peek].map(|how| Step::Ask(who, weight, how)).to_vec()
            }
            Step::Ask(..) => Vec::new(),
            other => vec![other],
        });
        Self { steps: steps.collect(), ..self }
    }
}

// === impl Moment ===

impl<S: Store> Moment<'_, S> {
    /// What the same request would meet so long after this moment, if nobody else asks. The clock
    /// is put back afterwards: looking changes nothing.
    ///
    /// # Panics
    ///
    /// If no limit applies any more, which does not depend on time.
    #[must_use]
    pub fn after(&self, span: Span) -> Answer {
        self.at(self.clock.now().after(span))
    }

    /// What the same request would meet if the clock had gone back so far.
    ///
    /// # Panics
    ///
    /// As [`after`](Self::after).
    #[must_use]
    pub fn before(&self, span: Span) -> Answer {
        let back = self.clock.now().as_micros().saturating_sub(span.as_micros());
        self.at(Timestamp::from_micros(back))
    }

    fn at(&self, then: Timestamp) -> Answer {
        let now = self.clock.now();
        self.clock.set(then);
        let answer = self.who.ask(self.store, self.set, self.weight, Ask::Peek);
        self.clock.set(now);
        answer.expect("the limits that applied still do")
    }
}

// === impl Who ===

impl Who {
    /// Asks `store` on behalf of this one. `None` if no limit applies.
    fn ask<S: Store>(&self, store: &S, set: &PolicySet, weight: Cost, how: Ask) -> Option<Answer> {
        ask(store, &set.policies()[0], &plan::subject(self), weight, how)
    }
}
