//! Traces that nobody would think of: policies, requests, clocks and reloads, generated from a
//! seed.
//!
//! A trace is plain data. `proptest` generates it, shrinks it when it fails, and prints what is
//! left. The times that matter most (the wait that was told, one tick less, the edge of a period)
//! are steps of their own, because chance would not hit them.

mod attempts;
mod limits;
mod plan;
mod strategy;

pub use attempts::{MannerPlan, WindowPlan};
pub use plan::{
    CountsPlan, LimitPlan, OverridePlan, PeriodPlan, PolicyPlan, ScopePlan, ShapePlan, StagePlan,
};
pub use strategy::{attempts, overflowing, policies, shapes, traces, traces_of, with_reloads};

use std::sync::Arc;

use tidegate_core::{Clock, Cost, ManualClock, Retry, Span, Store, Timestamp, Verdict};

use crate::drive::{ChargeOrPeek, PlainDecision, ask_remote};
use crate::ready;
use limits::LimitsInForce;

/// The start of every trace, 2026-03-28T22:59:57.123457Z: three seconds before a day in Berlin
/// that has 23 hours, and on no round tick.
pub const START: Timestamp = Timestamp::from_micros(1_774_738_797_123_457);

/// The longest wait that [`TraceStep::ToldWait`] waits for, because the range of time is finite.
const LONGEST_WAIT: Span = Span::from_secs(400 * 24 * 3_600);

/// A policy, and the steps that it goes through.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The policy at the beginning.
    pub policy: PolicyPlan,
    /// The steps, in order.
    pub steps: Vec<TraceStep>,
    /// Whether the limits are rows, which are replaced one by one, and not those of a policy.
    pub rows: bool,
}

/// One step of a trace.
#[derive(Clone, Debug)]
pub enum TraceStep {
    /// A subject asks for this many units.
    Ask(Who, u64, ChargeOrPeek),
    /// This many microseconds pass.
    Wait(u64),
    /// Time passes until the next multiple of this many microseconds, or until one tick before it
    /// if true.
    ToEdge(u64, bool),
    /// The wait that the last refusal told passes exactly, or one tick less if true.
    ToldWait(bool),
    /// The clock is set back by this many microseconds.
    Back(u64),
    /// The policy is replaced.
    Reload(PolicyPlan),
    /// Each limit gets the first of these shapes that is of its own kind.
    Renumber(Vec<ShapePlan>),
}

/// The subject that asks: one of a few, so that counters are shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Who {
    /// The index of the organisation.
    pub org: u8,
    /// The index of the user, if the user is known.
    pub user: Option<u8>,
    /// The index of the address.
    pub address: u8,
}

/// One request of a trace, with its answer.
pub struct Moment<'m, S> {
    /// The subject that asked.
    pub who: Who,
    /// The weight of the request.
    pub weight: Cost,
    /// Whether the request was charged or only peeked.
    pub how: ChargeOrPeek,
    /// The answer to the request.
    pub answer: &'m PlainDecision,
    /// The policy in force, as plain data.
    pub policy: &'m PolicyPlan,
    limits: &'m LimitsInForce,
    clock: &'m ManualClock,
    store: &'m S,
}

/// Runs `trace` through `store`, whose clock is `clock`, and calls `see` with each answer.
pub fn walk<S: Store>(
    trace: &Trace,
    clock: &ManualClock,
    store: &S,
    mut see: impl FnMut(&Moment<'_, S>),
) {
    let mut policy = trace.policy.clone();
    let mut limits = LimitsInForce::of(&policy, trace.rows);
    let mut told = Span::from_micros(1);
    for step in &trace.steps {
        match step {
            TraceStep::Wait(micros) => clock.advance(Span::from_micros(*micros)),
            TraceStep::ToEdge(length, early) => to_edge(clock, *length, *early),
            TraceStep::ToldWait(early) if told <= LONGEST_WAIT => {
                clock.advance(Span::from_micros(told.as_micros() - u64::from(*early)));
            }
            TraceStep::ToldWait(_) => {}
            TraceStep::Back(micros) => {
                let back = clock.now().as_micros().saturating_sub(*micros);
                clock.set(Timestamp::from_micros(back.max(START.as_micros())));
            }
            TraceStep::Reload(plan) => {
                policy = plan.clone();
                limits = limits.replaced_by(&policy);
            }
            TraceStep::Renumber(shapes) => {
                policy.renumber(shapes);
                limits = limits.replaced_by(&policy);
            }
            TraceStep::Ask(who, weight, how) => {
                let (who, how) = (*who, *how);
                let weight = Cost::try_new(*weight).expect("traces have costs from 1 on");
                let Some(answer) = who.ask(store, &limits, weight, how) else { continue };
                told = told_wait(&answer).unwrap_or(told);
                let (policy, limits, answer) = (&policy, &limits, &answer);
                see(&Moment { who, weight, how, answer, policy, limits, clock, store });
            }
        }
    }
}

/// Runs `trace` through a store that is made for it, with a clock that begins at [`START`].
pub fn walk_new<S: Store>(
    trace: &Trace,
    store: impl FnOnce(Arc<ManualClock>) -> S,
    see: impl FnMut(&Moment<'_, S>),
) {
    let clock = Arc::new(ManualClock::new(START));
    let store = store(Arc::clone(&clock));
    walk(trace, &clock, &store, see);
}

/// Runs the requests and reloads of `trace` through a store that has a clock of its own. Returns
/// each answer together with that of `judge`, which is asked at the time that the store reports.
/// Steps of time are left out: time passes by itself.
///
/// # Panics
///
/// If the store fails.
pub async fn judged<S: Store, J: Store>(
    trace: &Trace,
    store: &S,
    clock: &ManualClock,
    judge: &J,
) -> Vec<(PlainDecision, PlainDecision)> {
    let mut answers = Vec::new();
    let mut policy = trace.policy.clone();
    let mut limits = LimitsInForce::of(&policy, trace.rows);
    for step in &trace.steps {
        match step {
            TraceStep::Reload(plan) => policy = plan.clone(),
            TraceStep::Renumber(shapes) => policy.renumber(shapes),
            TraceStep::Ask(who, weight, how) => {
                let weight = Cost::try_new(*weight).expect("traces have costs from 1 on");
                let subject = plan::subject(who);
                let asked = ask_remote(store, limits.case(&subject, weight), *how).await;
                let Some(answer) = asked else { continue };
                clock.set(Timestamp::from_micros(answer.decided_at));
                let expected = who.ask(judge, &limits, weight, *how);
                answers.extend(expected.map(|expected| (answer, expected)));
                continue;
            }
            TraceStep::Wait(_)
            | TraceStep::ToEdge(..)
            | TraceStep::ToldWait(_)
            | TraceStep::Back(_) => continue,
        }
        limits = limits.replaced_by(&policy);
    }
    answers
}

/// Every answer of a store to the requests of `trace`.
pub fn answers<S: Store>(
    trace: &Trace,
    store: impl FnOnce(Arc<ManualClock>) -> S,
) -> Vec<(Who, PlainDecision)> {
    let mut answers = Vec::new();
    walk_new(trace, store, |moment| answers.push((moment.who, moment.answer.clone())));
    answers
}

/// The wait that a refusal tells, if it tells one.
#[must_use]
pub fn told_wait(answer: &PlainDecision) -> Option<Span> {
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
    /// This trace without the steps that set the clock back.
    #[must_use]
    pub fn forward(mut self) -> Self {
        self.steps.retain(|step| !matches!(step, TraceStep::Back(_)));
        self
    }

    /// This trace with only the first `most` reloads.
    #[must_use]
    pub fn with_reloads_up_to(mut self, most: usize) -> Self {
        let mut reloads = 0;
        self.steps.retain(|step| {
            reloads += usize::from(matches!(step, TraceStep::Reload(_) | TraceStep::Renumber(_)));
            reloads <= most || !matches!(step, TraceStep::Reload(_) | TraceStep::Renumber(_))
        });
        self
    }

    /// Every shape that any limit has or gets in the trace.
    pub fn shapes(&self) -> impl Iterator<Item = &ShapePlan> {
        let later = self.steps.iter().flat_map(|step| match step {
            TraceStep::Reload(policy) => policy.limits.iter().flat_map(LimitPlan::shapes).collect(),
            TraceStep::Renumber(shapes) => shapes.iter().collect(),
            _ => Vec::new(),
        });
        self.policy.limits.iter().flat_map(LimitPlan::shapes).chain(later)
    }

    /// This trace over rows. An abuse log cannot be a row, and a row has no overrides: such limits and
    /// overrides are left out.
    #[must_use]
    pub fn over_rows(mut self) -> Self {
        self.rows = true;
        for policy in self.policies_mut() {
            policy.limits.retain(|limit| !limit.shape.is_attempts());
            policy.limits.iter_mut().for_each(|limit| limit.other = None);
            if policy.limits.is_empty() {
                policy.limits.push(LimitPlan::plain(0, ShapePlan::Bucket(1, 1_000_000, 3)));
            }
        }
        self
    }

    /// The policies of the trace: the first one, and those that replace it.
    pub(crate) fn policies_mut(&mut self) -> impl Iterator<Item = &mut PolicyPlan> {
        let later = self.steps.iter_mut().filter_map(|step| match step {
            TraceStep::Reload(policy) => Some(policy),
            _ => None,
        });
        later.chain([&mut self.policy])
    }

    /// This trace with no overrides in its first policy, so that the usual numbers hold for
    /// everybody.
    #[must_use]
    pub fn without_overrides(mut self) -> Self {
        self.policy.limits.iter_mut().for_each(|limit| limit.other = None);
        self
    }

    /// This trace with a peek before and after each charge, and no other peeks.
    #[must_use]
    pub fn considered(self) -> Self {
        let steps = self.steps.into_iter().flat_map(|step| match step {
            TraceStep::Ask(who, weight, ChargeOrPeek::Charge) => {
                [ChargeOrPeek::Peek, ChargeOrPeek::Charge, ChargeOrPeek::Peek]
                    .map(|how| TraceStep::Ask(who, weight, how))
                    .to_vec()
            }
            TraceStep::Ask(..) => Vec::new(),
            other => vec![other],
        });
        Self { steps: steps.collect(), ..self }
    }
}

// === impl Moment ===

impl<S: Store> Moment<'_, S> {
    /// The answer that the same request would get `span` after this moment, if nobody else asks.
    /// The clock is put back afterwards: a peek changes nothing.
    ///
    /// # Panics
    ///
    /// If no limit applies any more, which does not depend on time.
    #[must_use]
    pub fn after(&self, span: Span) -> PlainDecision {
        self.at(self.clock.now().after(span))
    }

    /// The answer that the same request would get if the clock were set back by `span`.
    ///
    /// # Panics
    ///
    /// As [`after`](Self::after).
    #[must_use]
    pub fn before(&self, span: Span) -> PlainDecision {
        let back = self.clock.now().as_micros().saturating_sub(span.as_micros());
        self.at(Timestamp::from_micros(back))
    }

    fn at(&self, then: Timestamp) -> PlainDecision {
        let now = self.clock.now();
        self.clock.set(then);
        let answer = self.who.ask(self.store, self.limits, self.weight, ChargeOrPeek::Peek);
        self.clock.set(now);
        answer.expect("the limits that applied still do")
    }
}

// === impl Who ===

impl Who {
    /// Asks `store` on behalf of this subject. `None` if no limit applies.
    fn ask<S: Store>(
        &self,
        store: &S,
        limits: &LimitsInForce,
        weight: Cost,
        how: ChargeOrPeek,
    ) -> Option<PlainDecision> {
        ready(ask_remote(store, limits.case(&plan::subject(self), weight), how))
    }
}
