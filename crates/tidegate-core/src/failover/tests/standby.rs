//! A policy on one node: what its requests are told while the store fails.

mod blocks;
mod closed;
mod spend;

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
    /// What each request weighs.
    cost: Cost,
}

impl Node {
    fn new(protects: Protects, failure: FailureMode) -> Self {
        let scopes = [Scope::of([Dimension::Account]), Scope::of([Dimension::Ip])];
        Self::of(policies(protects, failure, &scopes))
    }

    fn of(policies: PolicySet) -> Self {
        let policy = policies.get("p").unwrap();
        let standby = Standby::new(policy.failure(), policy.fallback(), START);
        Self { policies, standby, digests: Digests::new([3, 5]), cost: Cost::ONE }
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
        let mut case = Case::new(self.policies.get("p").unwrap(), subject).weighing(self.cost);
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
        self.probe_until(end, Ok(()));
    }

    /// Lets time pass with every probe bad, and hands back what was told.
    fn fail_until(&mut self, end: Timestamp) -> Vec<Signal> {
        self.probe_until(end, Err(Failure::Backend))
    }

    fn probe_until(&mut self, end: Timestamp, result: Result<(), Failure>) -> Vec<Signal> {
        let mut told = Vec::new();
        while let Some(due) = self.standby.failover().due().filter(|due| *due <= end) {
            let outputs = self.standby.step(Input::Poll, due);
            told.extend(outputs.signals);
            if let Some(probe) = outputs.probe {
                told.extend(self.standby.step(Input::Probed(probe, result), due).signals);
            }
        }
        told
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
    assert_eq!(
        wait(&next),
        Some(Span::from_micros(599_999_999)),
        "a wait that is told does not grow"
    );
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

const ERRORS: [StoreError; 6] = [
    StoreError::Unavailable,
    StoreError::Timeout,
    StoreError::Contended,
    StoreError::Corrupt { charge: 0 },
    StoreError::Version { charge: 0 },
    StoreError::Refused,
];

#[test]
fn p10_with_a_dead_store_the_first_login_is_denied_and_the_first_request_guarded() {
    for (protects, verdict) in [(Protects::Login, false), (Protects::Otp, false)] {
        let mut boot = Node::new(protects, FailureMode::FailClosed);
        let first = boot.fails(&someone(), StoreError::Unavailable, at(0));
        assert_eq!((first.mode, first.verdict == Verdict::Admit), (Mode::FailClosed, verdict));
    }
    let mut boot = Node::new(Protects::ApiHeavy, FailureMode::FailOpen);
    let first = boot.fails(&someone(), StoreError::Unavailable, at(0));
    assert_eq!((first.mode, first.verdict), (Mode::FailOpen, Verdict::Admit));
    assert_eq!(first.guarded.map(|guarded| guarded.remaining), Some(59), "and it is counted");
}

#[test]
fn p11_a_request_that_the_store_fails_is_denied_at_an_entrance() {
    let entrances =
        [Protects::Login, Protects::Otp, Protects::Auth, Protects::StepUp, Protects::Admin];
    for protects in entrances {
        for error in ERRORS {
            let mut node = Node::new(protects, FailureMode::FailClosed);
            node.heal_until(at(0));
            let failsafe = node.fails(&someone(), error.clone(), at(1));
            assert_eq!(failsafe.mode, Mode::FailClosed);
            assert_eq!(wait(&failsafe), Some(Span::from_secs(10)), "{protects:?} {error}");
            assert_eq!(failsafe.error, Some(error));
        }
    }
}

#[test]
fn p22_what_fails_open_says_so_and_what_is_critical_is_in_every_decision() {
    for error in ERRORS {
        let mut node = Node::new(Protects::ApiHeavy, FailureMode::FailOpen);
        node.heal_until(at(0));
        let failsafe = node.fails(&someone(), error.clone(), at(1));
        assert_eq!((failsafe.mode, failsafe.verdict), (Mode::FailOpen, Verdict::Admit));
        let alarm = match error {
            StoreError::Corrupt { .. } => Some(Alarm::Corrupt),
            StoreError::Refused => Some(Alarm::Refused),
            _ => None,
        };
        assert_eq!(failsafe.alarm, alarm, "{error}");
    }
}

#[test]
fn p16_denials_of_a_closed_policy_leave_no_trace() {
    let mut node = Node::new(Protects::Login, FailureMode::FailClosed);
    let ada = Account::new("ada");
    let login = someone().account(&ada);
    for nth in 0..200 {
        // Too seldom to trip: each is denied by itself.
        let denied = node.fails(&login, StoreError::Timeout, at(11 * nth));
        assert_eq!((denied.block, denied.guarded), (None, None));
    }
    node.down(at(2_200));
    let passed = (0..9).filter(|_| node.asks(&login, at(2_200)).unwrap().verdict == Verdict::Admit);
    assert_eq!(passed.count(), 3);
}

#[test]
fn p23_guardrails_count_on_from_one_mode_to_the_next() {
    let mut node = Node::new(Protects::ApiHeavy, FailureMode::FailOpen);
    let mut admitted = Vec::new();
    let mut modes = Vec::new();
    // Ten requests a second, on a store that fails, heals, and fails again as soon as it may.
    for tenth in 0..12_000 {
        let now = START.after(Span::from_millis(100 * tenth));
        node.heal_until(now);
        let failsafe = node.fails(&someone(), StoreError::Unavailable, now);
        if modes.last() != Some(&failsafe.mode) {
            modes.push(failsafe.mode);
        }
        if failsafe.verdict == Verdict::Admit {
            admitted.push(now);
        }
    }
    for end in &admitted {
        let minute = admitted.iter().filter(|at| **at <= *end && end.since(**at) < Span::MINUTE);
        assert!(minute.count() <= 60, "in the minute until {end:?}");
    }
    let open_and_degraded = [Mode::FailOpen, Mode::Degraded];
    assert_eq!(modes[..4], [open_and_degraded, open_and_degraded].concat());
    assert_eq!(modes.last(), Some(&Mode::FailClosed), "the fourth entry closes it, as any other");
}

#[test]
fn p33_neither_success_nor_recovery_nor_another_outage_resets_a_count() {
    let mut node = Node::new(Protects::Login, FailureMode::FailClosed);
    let ada = Account::new("ada");
    let login = || someone().account(&ada);
    node.heal_until(at(0));
    node.down(at(0));
    for _ in 0..3 {
        assert_eq!(node.asks(&login(), at(1)).unwrap().verdict, Verdict::Admit);
    }
    node.heal_until(at(300));
    assert_eq!(node.asks(&login(), at(300)), None, "the store decides again");
    let Course::Ask(generation) = node.standby.failover().course() else { panic!("it is asked") };
    node.standby.step(Input::Answered(generation), at(300));
    node.down(at(301));
    assert_eq!(node.standby.standing().epoch, 2);
    // Carried along, as a reload does.
    node.standby = node.standby.clone();
    let refused = node.asks(&login(), at(302)).unwrap();
    assert_eq!(wait(&refused), Some(Span::from_secs(299)));
    assert!(node.asks(&login(), before(at(601))).unwrap().verdict != Verdict::Admit);
    assert_eq!(node.asks(&login(), at(601)).unwrap().verdict, Verdict::Admit);
}

#[test]
fn p62_every_denial_of_a_backoff_carries_the_alarm() {
    let (mut node, first) = flapped();
    assert_eq!(first.alarm, Some(Alarm::Flapped));
    for secs in [1_200, 1_500, 1_799] {
        let denied = node.asks(&someone(), at(secs)).unwrap();
        assert_eq!((denied.mode, denied.alarm), (Mode::FailClosed, Some(Alarm::Flapped)));
        assert_eq!(wait(&denied), Some(Span::from_secs(1_800 - secs)));
        assert_eq!(node.standby.standing().denies_for, wait(&denied));
    }
    let after = node.asks(&someone(), at(1_800)).unwrap();
    assert_eq!((after.mode, after.alarm), (Mode::Degraded, None));
}
