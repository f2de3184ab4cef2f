//! The counters of one thread.

use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::{ArcSwapOption, Guard};
use http::StatusCode;
use tidegate_core::{
    Alarm, BlockScope, Decision, Explanation, Mode, Name, Policy, PolicySet, Span, Verdict,
};
use tidegate_engine::DecideError;
use tidegate_tower::metrics::{Counter, Histogram};

use crate::route::ServerRoute;

/// The counters of one thread.
#[derive(Debug, Default)]
pub(crate) struct ThreadCounters {
    /// Answers by route and class of status.
    pub(super) answers: [[Counter; CLASSES.len()]; ServerRoute::ALL.len()],
    /// How long answers took.
    pub(super) durations: Histogram,
    /// Requests that a block kept out, by its scope.
    pub(super) blocked: [Counter; BlockScope::ALL.len()],
    /// The counters of policies, once a request has asked for one.
    policies: ArcSwapOption<PolicyTallies>,
    /// Held while `policies` is replaced.
    replacing: Mutex<()>,
}

/// The counters of all policies of one set, in the order of the set.
#[derive(Debug)]
struct PolicyTallies {
    set: Arc<PolicySet>,
    list: Vec<Arc<PolicyTally>>,
}

/// The counters of one policy.
#[derive(Debug)]
pub(super) struct PolicyTally {
    name: Name,
    /// Decisions by mode and verdict.
    pub(super) decisions: [[Counter; Verdict::NAMES.len()]; Mode::ALL.len()],
    /// Decisions made under a critical condition, by alarm.
    pub(super) alarms: [Counter; Alarm::ALL.len()],
    pub(super) failures: [Counter; DecideFailure::ALL.len()],
    /// Blocks that began.
    pub(super) begun: Counter,
    /// Refusals by the limit that decided, in the order of the policy.
    refusals: Vec<(Name, Counter)>,
}

/// Why a request could not be decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum DecideFailure {
    NothingApplies,
    Overloaded,
}

tidegate_core::names!(DecideFailure {
    NothingApplies: "nothing_applies",
    Overloaded: "overloaded"
});

/// The classes of HTTP status, as labels of metrics.
pub(super) const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

// === impl ThreadCounters ===

impl ThreadCounters {
    /// Counts an answer.
    #[inline]
    pub(crate) fn answered(&self, route: ServerRoute, status: StatusCode, took: Span) {
        let class = usize::from(status.as_u16() / 100).clamp(1, CLASSES.len()) - 1;
        self.answers[route as usize][class].add_one();
        self.durations.record(took);
    }

    /// Counts a request that a block kept out.
    pub(crate) fn kept_out(&self, scope: BlockScope) {
        self.blocked[scope as usize].add_one();
    }

    /// Counts what became of a request to the policy at index `place` of this set.
    #[inline]
    pub(crate) fn decided(
        &self,
        set: &Arc<PolicySet>,
        place: usize,
        decided: &Result<Decision<'_>, DecideError>,
    ) {
        let present = self.policies.load();
        let present = match &*present {
            Some(policies) if Arc::ptr_eq(&policies.set, set) => present,
            _ => self.replace(set),
        };
        match (present.as_ref().and_then(|policies| policies.list.get(place)), decided) {
            (Some(tally), Ok(decision)) => tally.decided(decision),
            (Some(tally), Err(error)) => tally.failed(error),
            (None, _) => {}
        }
    }

    /// Takes over a new set of policies; counters of policies and limits that are still there go on.
    #[cold]
    fn replace(&self, set: &Arc<PolicySet>) -> Guard<Option<Arc<PolicyTallies>>> {
        let _replacing = self.replacing.lock().unwrap_or_else(PoisonError::into_inner);
        let present = self.policies.load();
        let list = match &*present {
            Some(policies) if Arc::ptr_eq(&policies.set, set) => return present,
            Some(policies) => &policies.list[..],
            None => &[],
        };
        let next = Some(Arc::new(PolicyTallies::succeeding(list, set)));
        self.policies.store(next.clone());
        Guard::from_inner(next)
    }

    /// The counters of the policy of this name.
    pub(super) fn policy(&self, name: &Name) -> Option<Arc<PolicyTally>> {
        let policies = self.policies.load();
        policies.as_ref()?.list.iter().find(|tally| tally.name == *name).cloned()
    }
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
}

// === impl PolicyTally ===

impl PolicyTally {
    fn succeeding(earlier: Option<&Self>, policy: &Policy) -> Self {
        let names = policy.limits().iter().map(|limit| limit.name());
        let tally = Self {
            name: policy.name().clone(),
            decisions: Default::default(),
            alarms: Default::default(),
            failures: Default::default(),
            begun: Counter::default(),
            refusals: names.map(|name| (name.clone(), Counter::default())).collect(),
        };
        if let Some(earlier) = earlier {
            let decisions =
                tally.decisions.iter().flatten().zip(earlier.decisions.iter().flatten());
            let alarms = tally.alarms.iter().zip(&earlier.alarms);
            let failures = tally.failures.iter().zip(&earlier.failures);
            let begun = [(&tally.begun, &earlier.begun)];
            for (to, from) in decisions.chain(alarms).chain(failures).chain(begun) {
                to.add(from.get());
            }
            for (limit, to) in &tally.refusals {
                to.add(earlier.refusals(limit));
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
    fn decided(&self, decision: &Decision<'_>) {
        if decision.policy().counts_attempts() {
            self.counted_attempts(decision);
        }
        let mode = decision.mode() as usize;
        match decision.verdict() {
            Verdict::Admit => self.decisions[mode][0].add_one(),
            verdict => self.refused(verdict, decision),
        }
        if let Some(alarm) = decision.alarm() {
            self.alarms[alarm as usize].add_one();
        }
    }

    fn counted_attempts(&self, decision: &Decision<'_>) {
        let begins = |said: &Explanation<'_>| said.reading.attempts.is_some_and(|it| it.begins);
        for _ in decision.explain().filter(begins) {
            self.begun.add_one();
        }
    }

    fn refused(&self, verdict: Verdict, decision: &Decision<'_>) {
        if let Some(place) = Verdict::NAMES.iter().position(|name| *name == verdict.name()) {
            self.decisions[decision.mode() as usize][place].add_one();
        }
        if let Some(binding) = decision.binding()
            && let Some((_, count)) =
                self.refusals.iter().find(|(name, _)| name == binding.limit.name())
        {
            count.add_one();
        }
    }

    /// Counts a request that could not be decided.
    #[cold]
    fn failed(&self, error: &DecideError) {
        let failure = match error {
            DecideError::NothingApplies { .. } => DecideFailure::NothingApplies,
            DecideError::Overloaded => DecideFailure::Overloaded,
        };
        self.failures[failure as usize].add_one();
    }

    pub(super) fn refusals(&self, limit: &Name) -> u64 {
        let of = self.refusals.iter().find(|(name, _)| name == limit);
        of.map_or(0, |(_, count)| count.get())
    }
}
