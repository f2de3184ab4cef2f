//! What each kind of failure means, by its type.

use std::task::{Context, Waker};

use tidegate_core::{
    Account, Alarm, Bucket, Case, Changes, Dimension, Failure, FailureMode, Limit, Mode, PolicySet,
    PolicySpec, Protects, Rate, Scope, Severity, Shape, Signal, Span, StoreError, Subject,
};
use tidegate_engine::{DecideError, Event, ready};

use crate::world::{Op, World, name};

const HERE: [u8; 4] = [203, 0, 113, 9];

fn next(world: &World, error: StoreError) {
    world.wire().fail_next([error]);
}

fn failures(world: &World, policy: &str) -> usize {
    world.engine.standing(policy).unwrap().failures
}

#[test]
fn p50_what_is_no_fault_of_the_store_feeds_nothing() {
    let world = World::proven();
    let version = StoreError::Version { charge: 0 };
    for _ in 0..10 {
        next(&world, version.clone());
        let told = world.ask("login", "ann", HERE);
        assert_eq!(
            (told.admits(), told.mode),
            (false, Mode::FailClosed),
            "whoever could get in waits"
        );
        next(&world, version.clone());
        let told = world.ask("api", "ann", HERE);
        assert_eq!((told.admits(), told.mode), (true, Mode::FailOpen), "within the guardrails");
        assert_eq!((failures(&world, "login"), failures(&world, "api")), (0, 0));
    }
    let set = world.engine.policies();
    let nobody = Subject::new();
    let mut case = Case::new(set.get("login").unwrap(), &nobody);
    let undecided = ready(world.engine.decide(&mut case)).unwrap();
    assert!(matches!(undecided, Err(DecideError::NothingApplies { .. })));
    assert_eq!(failures(&world, "login"), 0);
    assert_eq!(Failure::of(&version, 0), None);
}

#[test]
fn p50_a_caller_that_goes_away_feeds_nothing() {
    let world = World::proven();
    world.wire().hold(true);
    world.fail(Some(StoreError::Unavailable));
    let (set, account) = (world.engine.policies(), Account::new("ann"));
    let subject = Subject::new().account(&account).ip(HERE.into());
    for _ in 0..10 {
        let mut case = Case::new(set.get("login").unwrap(), &subject);
        let mut asked = Box::pin(world.engine.decide(&mut case));
        assert!(asked.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
    assert_eq!((failures(&world, "login"), world.mode("login")), (0, Mode::Normal));
}

#[test]
fn p50_one_unreadable_counter_is_made_anew_and_feeds_nothing() {
    let world = World::proven();
    assert!(world.ask("api", "ann", HERE).admits());
    world.ops();
    for _ in 0..5 {
        next(&world, StoreError::Corrupt { charge: 0 });
        let told = world.ask("api", "ann", HERE);
        assert_eq!((told.admits(), told.mode, told.ticket), (true, Mode::Normal, true));
    }
    assert_eq!(failures(&world, "api"), 0);
    let ops: Vec<Op> = world.ops().into_iter().map(|(_, op)| op).collect();
    assert_eq!(ops, [Op::Charge, Op::Amend, Op::Charge].repeat(5), "p12");
    let recreated = |event: &Event| matches!(event, Event::Recreated { .. });
    assert_eq!(world.events.lock().unwrap().iter().filter(|event| recreated(event)).count(), 5);
}

/// A counter that could not be forgotten is as it was, and nobody is told otherwise.
#[test]
fn p79_a_counter_is_told_to_be_made_anew_only_if_it_was() {
    let world = World::proven();
    assert!(world.ask("api", "ann", HERE).admits());
    world.events.lock().unwrap().clear();
    let recreated = || world.engine.record("api").unwrap().recreated;
    world.wire().fail_next([StoreError::Corrupt { charge: 0 }]);
    world.fail(Some(StoreError::Unavailable));
    let told = world.ask("api", "ann", HERE);
    assert_eq!((told.admits(), told.mode), (true, Mode::FailOpen));
    let events = std::mem::take(&mut *world.events.lock().unwrap());
    let is_told = |event: &Event| matches!(event, Event::Recreated { .. });
    assert_eq!((events.iter().any(is_told), recreated()), (false, 0));
    assert_eq!(world.engine.record("api").unwrap().fail_open_admitted, 1, "p22");
}

#[test]
fn p50_where_somebody_could_get_in_an_unreadable_counter_refuses_once_and_counts_the_attempt() {
    let world = World::proven();
    next(&world, StoreError::Corrupt { charge: 0 });
    let told = world.ask("login", "ann", HERE);
    assert_eq!((told.admits(), told.mode), (false, Mode::FailClosed));
    assert_eq!(told.alarm, Some(Alarm::Corrupt));
    let (set, account) = (world.engine.policies(), Account::new("ann"));
    let subject = Subject::new().account(&account).ip(HERE.into());
    let mut case = Case::new(set.get("login").unwrap(), &subject);
    let decision = ready(world.engine.peek_by_store(&mut case)).unwrap().unwrap();
    let mut counted = decision.explain().filter_map(|said| said.reading.attempts);
    assert!(counted.any(|tally| tally.temp > 0));
    assert_eq!(failures(&world, "login"), 0);
}

#[test]
fn a28_a35_an_unreadable_counter_of_spending_that_fails_closed_refuses_once() {
    let bucket = Bucket::try_new(Rate::per_second(1_000).unwrap(), 9_000).unwrap();
    let limit = Limit::new(name("spend"), Scope::of([Dimension::Ip]), Shape::Bucket(bucket));
    let spec = PolicySpec::new(name("spend"), FailureMode::FailClosed).protecting(Protects::Spend);
    let world = World::with(PolicySet::builder().policy(spec.limit(limit)).build(None).unwrap());
    world.probe();
    next(&world, StoreError::Corrupt { charge: 0 });
    let told = world.ask("spend", "ann", HERE);
    assert_eq!((told.admits(), told.mode), (false, Mode::FailClosed));
    assert_eq!(told.alarm, Some(Alarm::Corrupt));
    assert!(world.ask("spend", "ann", HERE).admits(), "the counter is there again");
    assert_eq!(failures(&world, "spend"), 0);
}

#[test]
fn p50_three_unreadable_counters_are_the_store() {
    let world = World::proven();
    for (place, account) in ["ann", "bob", "cyd", "dan", "eve"].into_iter().enumerate() {
        assert_eq!(failures(&world, "login"), place.saturating_sub(2));
        assert_eq!(world.mode("login"), Mode::Normal);
        let by_account = {
            let (set, account) = (world.engine.policies(), Account::new(account));
            let subject = Subject::new().agent("agent").account(&account).ip(HERE.into());
            let mut case = Case::new(set.get("login").unwrap(), &subject);
            let decision = ready(world.engine.peek_by_store(&mut case)).unwrap().unwrap();
            let of_account = |scope: Scope| scope.to_string() == "account";
            decision.explain().position(|said| of_account(said.limit.scope())).unwrap()
        };
        next(&world, StoreError::Corrupt { charge: by_account });
        assert!(!world.ask("login", account, HERE).admits());
    }
    assert_eq!(world.mode("login"), Mode::Degraded);
}

#[test]
fn p79_a_store_that_refuses_us_counts_and_is_critical_once_a_minute() {
    let world = World::proven();
    let _ = world.signals();
    world.fail(Some(StoreError::Refused));
    assert_eq!(world.ask("login", "ann", HERE).alarm, Some(Alarm::Refused));
    world.pass(Span::from_secs(299));
    assert_eq!(world.mode("login"), Mode::Degraded);
    let refused: Vec<_> = world
        .signals()
        .into_iter()
        .filter(|(_, signal)| matches!(signal, Signal::Refused { .. }))
        .collect();
    assert!(refused.iter().all(|(_, signal)| signal.severity() == Severity::Critical));
    assert_eq!(refused.len(), 5, "{refused:?}");
}

#[test]
fn p75_counts_that_may_be_lost_are_a_failure_where_somebody_could_get_in() {
    let world = World::proven();
    world.wire().change(Changes { restarts: 1, failovers: 0 });
    assert!(world.ask("api", "ann", HERE).admits());
    for (policy, counted) in [("login", 1), ("otp", 1), ("admin", 1), ("api", 0), ("read", 0)] {
        assert_eq!(failures(&world, policy), counted, "{policy}");
    }
    let told = |event: &Event| matches!(event, Event::StoreChanged { .. });
    assert_eq!(world.events.lock().unwrap().iter().filter(|event| told(event)).count(), 1);
}
