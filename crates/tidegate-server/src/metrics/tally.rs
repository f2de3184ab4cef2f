//! The counters of one thread.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::{ArcSwap, Guard};
use http::StatusCode;
use tidegate_core::{
    Alarm, BlockScope, Decision, Explanation, Mode, Name, Policy, PolicySet, Span, Verdict,
};
use tidegate_engine::DecideError;

use crate::route::Route;

/// The counters of one thread. Aligned, so that no two threads share a cache line.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Tally {
    /// Answers by route and class of status.
    answers: [[AtomicU64; CLASSES.len()]; Route::ALL.len()],
    /// Answers by how long they took: at most this one of [`BOUNDS`], and longer than the one before.
    durations: [AtomicU64; BOUNDS.len() + 1],
    /// How long all answers together took, in microseconds.
    duration_sum: AtomicU64,
    /// Requests that a block kept out, by its scope.
    blocked: [AtomicU64; BlockScope::ALL.len()],
    policies: ArcSwap<PolicyTallies>,
    /// Held while `policies` is replaced.
    replacing: Mutex<()>,
}

/// The counters of all policies of one set, in the order of the set.
#[derive(Debug)]
pub(crate) struct PolicyTallies {
    set: Arc<PolicySet>,
    list: Vec<Arc<PolicyTally>>,
}

/// The counters of one policy.
#[derive(Debug)]
pub(crate) struct PolicyTally {
    name: Name,
    /// Decisions by mode and verdict.
    decisions: [[AtomicU64; Verdict::NAMES.len()]; Mode::ALL.len()],
    /// Decisions made under a critical condition, by alarm.
    alarms: [AtomicU64; Alarm::ALL.len()],
    failures: [AtomicU64; Failure::ALL.len()],
    /// Blocks that began.
    begun: AtomicU64,
    /// Refusals by the limit that decided, in the order of the policy.
    refusals: Vec<(Name, AtomicU64)>,
}

/// Why a request could not be decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    NothingApplies,
    Overloaded,
}

/// The classes of HTTP status, as labels of metrics.
pub(crate) const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

/// The upper bounds of the histogram, in microseconds.
pub(crate) const BOUNDS: [u64; 14] =
    [10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 100_000, 500_000, 2_500_000];

// === impl Tally ===

impl Tally {
    pub(crate) fn new(set: &Arc<PolicySet>) -> Self {
        Self {
            answers: Default::default(),
            durations: Default::default(),
            duration_sum: AtomicU64::new(0),
            blocked: Default::default(),
            policies: ArcSwap::from_pointee(PolicyTallies::succeeding(&[], set)),
            replacing: Mutex::new(()),
        }
    }

    /// Counts an answer.
    #[inline]
    pub(crate) fn answered(&self, route: Route, status: StatusCode, took: Span) {
        let class = usize::from(status.as_u16() / 100).clamp(1, CLASSES.len()) - 1;
        add_one(&self.answers[route as usize][class]);
        let micros = took.as_micros();
        let bucket = BOUNDS.iter().position(|bound| micros <= *bound).unwrap_or(BOUNDS.len());
        add_one(&self.durations[bucket]);
        self.duration_sum.fetch_add(micros, Relaxed);
    }

    /// Counts a request that a block kept out.
    pub(crate) fn kept_out(&self, scope: BlockScope) {
        add_one(&self.blocked[scope as usize]);
    }

    pub(crate) fn blocked(&self, scope: BlockScope) -> u64 {
        self.blocked[scope as usize].load(Relaxed)
    }

    /// The counters of the policies of this set.
    #[inline]
    pub(crate) fn policies(&self, set: &Arc<PolicySet>) -> Guard<Arc<PolicyTallies>> {
        let present = self.policies.load();
        if Arc::ptr_eq(&present.set, set) { present } else { self.replace(set) }
    }

    /// Takes over a new set of policies; counters of policies and limits that are still there go on.
    #[cold]
    fn replace(&self, set: &Arc<PolicySet>) -> Guard<Arc<PolicyTallies>> {
        let _replacing = self.replacing.lock().unwrap_or_else(PoisonError::into_inner);
        let present = self.policies.load();
        if !Arc::ptr_eq(&present.set, set) {
            let next = Arc::new(PolicyTallies::succeeding(&present.list, set));
            self.policies.store(Arc::clone(&next));
            return Guard::from_inner(next);
        }
        present
    }

    pub(crate) fn answers(&self, route: Route, class: usize) -> u64 {
        self.answers[route as usize][class].load(Relaxed)
    }

    pub(crate) fn durations(&self) -> impl Iterator<Item = u64> {
        self.durations.iter().map(|count| count.load(Relaxed))
    }

    pub(crate) fn duration_sum(&self) -> u64 {
        self.duration_sum.load(Relaxed)
    }

    /// The counters of the policy of this name.
    pub(crate) fn policy(&self, name: &Name) -> Option<Arc<PolicyTally>> {
        self.policies.load().list.iter().find(|tally| tally.name == *name).cloned()
    }
}

#[inline]
fn add_one(counter: &AtomicU64) {
    counter.fetch_add(1, Relaxed);
}

// === impl PolicyTallies ===

impl PolicyTallies {
    fn succeeding(earlier: &[Arc<PolicyTally>], set: &Arc<PolicySet>) -> Self {
        let list = set.policies().iter().map(|policy| {
            match earlier.iter().find(|tally| tally.name == *policy.name()) {
                Some(tally) if tally.is_of(policy) => Arc::clone(tally),
                earlier => Arc::new(PolicyTally::succeeding(earlier.map(|tally| &**tally), policy)),
            }
        });
        Self { list: list.collect(), set: Arc::clone(set) }
    }

    /// The counters of the policy at index `place` of the set.
    #[inline]
    pub(crate) fn at(&self, place: usize) -> Option<&PolicyTally> {
        self.list.get(place).map(|tally| &**tally)
    }
}

// === impl PolicyTally ===

impl PolicyTally {
    fn succeeding(earlier: Option<&Self>, policy: &Policy) -> Self {
        let tally = Self {
            name: policy.name().clone(),
            decisions: Default::default(),
            alarms: Default::default(),
            failures: Default::default(),
            begun: AtomicU64::new(earlier.map_or(0, Self::begun)),
            refusals: policy
                .limits()
                .iter()
                .map(|limit| {
                    let before = earlier.map_or(0, |earlier| earlier.refusals(limit.name()));
                    (limit.name().clone(), AtomicU64::new(before))
                })
                .collect(),
        };
        if let Some(earlier) = earlier {
            let decisions =
                tally.decisions.iter().flatten().zip(earlier.decisions.iter().flatten());
            let alarms = tally.alarms.iter().zip(&earlier.alarms);
            let failures = tally.failures.iter().zip(&earlier.failures);
            for (to, from) in decisions.chain(alarms).chain(failures) {
                to.store(from.load(Relaxed), Relaxed);
            }
        }
        tally
    }

    fn is_of(&self, policy: &Policy) -> bool {
        let names = policy.limits().iter().map(|limit| limit.name());
        self.refusals.iter().map(|(name, _)| name).eq(names)
    }

    /// Counts a decision.
    #[inline]
    pub(crate) fn decided(&self, decision: &Decision<'_>) {
        if decision.policy().counts_attempts() {
            self.counted_attempts(decision);
        }
        let mode = decision.mode() as usize;
        match decision.verdict() {
            Verdict::Admit => add_one(&self.decisions[mode][0]),
            verdict => self.refused(verdict, decision),
        }
        if let Some(alarm) = decision.alarm() {
            add_one(&self.alarms[alarm as usize]);
        }
    }

    fn counted_attempts(&self, decision: &Decision<'_>) {
        let begins = |said: &Explanation<'_>| said.reading.attempts.is_some_and(|it| it.begins);
        for _ in decision.explain().filter(begins) {
            add_one(&self.begun);
        }
    }

    fn refused(&self, verdict: Verdict, decision: &Decision<'_>) {
        if let Some(place) = Verdict::NAMES.iter().position(|name| *name == verdict.name()) {
            add_one(&self.decisions[decision.mode() as usize][place]);
        }
        if let Some(binding) = decision.binding()
            && let Some((_, count)) =
                self.refusals.iter().find(|(name, _)| name == binding.limit.name())
        {
            add_one(count);
        }
    }

    /// Counts a request that could not be decided.
    #[cold]
    pub(crate) fn failed(&self, error: &DecideError) {
        add_one(&self.failures[Failure::of(error) as usize]);
    }

    /// Decisions in `mode` with the verdict at this index of [`Verdict::NAMES`].
    pub(crate) fn decisions(&self, mode: Mode, verdict: usize) -> u64 {
        self.decisions[mode as usize][verdict].load(Relaxed)
    }

    pub(crate) fn alarms(&self, alarm: Alarm) -> u64 {
        self.alarms[alarm as usize].load(Relaxed)
    }

    pub(crate) fn failures(&self, failure: Failure) -> u64 {
        self.failures[failure as usize].load(Relaxed)
    }

    pub(crate) fn begun(&self) -> u64 {
        self.begun.load(Relaxed)
    }

    pub(crate) fn refusals(&self, limit: &Name) -> u64 {
        let of = self.refusals.iter().find(|(name, _)| name == limit);
        of.map_or(0, |(_, count)| count.load(Relaxed))
    }
}

// === impl Failure ===

impl Failure {
    pub(crate) const ALL: [Self; 2] = [Self::NothingApplies, Self::Overloaded];

    const fn of(error: &DecideError) -> Self {
        match error {
            DecideError::NothingApplies { .. } => Self::NothingApplies,
            DecideError::Overloaded => Self::Overloaded,
        }
    }

    /// The label in metrics.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::NothingApplies => "nothing_applies",
            Self::Overloaded => "overloaded",
        }
    }
}
