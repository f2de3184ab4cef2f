//! A policy on one node: what its requests are told while the store fails.

use super::super::{Alarm, Asked, Failsafe, Standby};
use super::*;
use crate::account::Account;
use crate::case::Case;
use crate::cost::Cost;
use crate::decision::{Denial, Retry, Verdict};
use crate::key::Digests;
use crate::limit::Limit;
use crate::name::Name;
use crate::policy::{PolicySet, PolicySpec, Protects};
use crate::shape::{Bucket, Rate, Shape};
use crate::store::StoreError;
use crate::subject::{Dimension, Scope, Subject};

fn name(text: &str) -> Name {
    Name::try_new(text).unwrap()
}

/// A policy of one bucket for each of the scopes.
fn policies(protects: Protects, failure: FailureMode, scopes: &[Scope]) -> PolicySet {
    let bucket = Bucket::try_new(Rate::per_second(1_000).unwrap(), 1_000).unwrap();
    let mut spec = PolicySpec::new(name("p"), failure).protecting(protects);
    for (index, scope) in scopes.iter().enumerate() {
        spec = spec.limit(Limit::new(name(&format!("l{index}")), *scope, Shape::Bucket(bucket)));
    }
    PolicySet::builder().policy(spec).build(None).unwrap()
}

/// One policy with its standby.
struct Node {
    policies: PolicySet,
    standby: Standby,
    digests: Digests,
}

impl Node {
    fn new(protects: Protects, failure: FailureMode) -> Self {
        let scopes = [Scope::of([Dimension::Account]), Scope::of([Dimension::Ip])];
        Self::of(policies(protects, failure, &scopes))
    }

    fn of(policies: PolicySet) -> Self {
        let policy = policies.get("p").unwrap();
        let standby = Standby::new(policy.failure(), policy.fallback(), START);
        Self { policies, standby, digests: Digests::new([3, 5]) }
    }

    /// A request that the store fails, and what becomes of it; nothing if the store is not asked.
    fn fails(&mut self, subject: &Subject<'_>, error: StoreError, now: Timestamp) -> Failsafe {
        self.standby.step(Input::Tick, now);
        let Course::Ask(generation) = self.standby.failover().course() else {
            return self.asks(subject, now).unwrap();
        };
        if let Some(failure) = Failure::of(&error, 1) {
            self.standby.step(Input::Failed(generation, failure), now);
        }
        self.with(subject, |standby, asked| standby.failed(asked, true, error, now))
    }

    /// A request; nothing if the store decides it.
    fn asks(&mut self, subject: &Subject<'_>, now: Timestamp) -> Option<Failsafe> {
        self.standby.step(Input::Tick, now);
        self.with(subject, |standby, asked| standby.decide(asked, true, now))
    }

    fn with<T>(
        &mut self,
        subject: &Subject<'_>,
        act: impl FnOnce(&mut Standby, &Asked<'_>) -> T,
    ) -> T {
        let mut case = Case::new(self.policies.get("p").unwrap(), subject).weighing(Cost::ONE);
        case.resolve(&self.digests);
        let (batch, _) = case.ask();
        act(&mut self.standby, &Asked::new(batch, &self.digests))
    }

    fn down(&mut self, now: Timestamp) {
        for _ in 0..3 {
            self.fails(&someone(), StoreError::Unavailable, now);
        }
    }

    /// Lets time pass with every probe good.
    fn heal_until(&mut self, end: Timestamp) {
        while let Some(due) = self.standby.failover().due().filter(|due| *due <= end) {
            if let Some(probe) = self.standby.step(Input::Poll, due).probe {
                self.standby.step(Input::Probed(probe, Ok(())), due);
            }
        }
    }
}

fn someone() -> Subject<'static> {
    Subject::new().ip([203, 0, 113, 9].into()).agent("a")
}

fn wait(failsafe: &Failsafe) -> Option<Span> {
    match failsafe.verdict {
        Verdict::Deny(Denial { retry: Retry::After(wait), .. }) => Some(wait),
        _ => None,
    }
}

/// A login that has been entered three times and whose fourth entry is refused at 1,200 s.
fn flapped() -> (Node, Failsafe) {
    let mut node = Node::new(Protects::Login, FailureMode::FailClosed);
    node.heal_until(at(0));
    for entry in [0, 400, 800] {
        node.down(at(entry));
        assert_eq!(node.standby.standing().mode, Mode::Degraded);
        node.heal_until(at(entry + 399));
        assert_eq!(node.standby.standing().mode, Mode::Normal);
    }
    node.fails(&someone(), StoreError::Timeout, at(1_200));
    node.fails(&someone(), StoreError::Timeout, at(1_200));
    let last = node.fails(&someone(), StoreError::Timeout, at(1_200));
    (node, last)
}

#[test]
fn p15_the_request_that_begins_a_backoff_is_told_its_length() {
    let (mut node, last) = flapped();
    assert_eq!(wait(&last), Some(Span::from_secs(600)));
    assert_eq!((last.mode, last.alarm), (Mode::FailClosed, Some(Alarm::Flapped)));
    let next = node.asks(&someone(), at(1_200).after(TICK)).unwrap();
    assert!(wait(&next) < wait(&last), "a wait that is told does not grow");
}

#[test]
fn p28_whoever_takes_the_last_place_is_admitted() {
    let mut node = Node::new(Protects::Login, FailureMode::FailClosed);
    node.down(at(0));
    let ada = Account::new("ada");
    let login = || someone().account(&ada);
    let mut admitted = 0;
    for _ in 0..3 {
        let failsafe = node.asks(&login(), at(0)).unwrap();
        assert_eq!((failsafe.verdict, failsafe.mode), (Verdict::Admit, Mode::Degraded));
        assert_eq!(failsafe.block, None);
        admitted += 1;
        assert_eq!(failsafe.guarded.unwrap().remaining, 3 - admitted);
    }
    let refused = node.asks(&login(), at(0)).unwrap();
    assert_eq!(wait(&refused), Some(Span::from_secs(600)));
}
