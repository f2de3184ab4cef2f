//! A38, P09, P12: one deadline for a decision, however often the store is asked; and for a settlement
//! and for what an operator does.

use std::sync::Arc;

use tidegate_core::{
    Account, Calendar, Case, Clock as _, Counts, Digests, Dimension, FailureMode, Limit,
    ManualClock, Mode, Page, Period, PolicySet, PolicySpec, Preset, Quota, Scope, Shape, Span,
    StoreError, Subject, Unit,
};
use tidegate_engine::{Engine, OperateError, SettleError, ready};
use tidegate_test::stub::{Call, Waiting};

use crate::world::{START, World, name};

const fn ms(millis: u64) -> Span {
    Span::from_millis(millis)
}

fn stale() -> Option<StoreError> {
    Some(StoreError::Stale { charge: 0, now: START })
}

const CORRUPT: Option<StoreError> = Some(StoreError::Corrupt { charge: 0 });

/// A policy with a quota per day of a calendar, which settles, and 100 ms for a decision.
fn set() -> PolicySet {
    let calendar = Calendar::try_new(Unit::Day, "UTC", None).unwrap();
    calendar.refresh(START);
    let quota = Quota::try_new(9, Period::Calendar(calendar), Counts::Admitted).unwrap();
    let limit = Limit::new(name("day"), Scope::of([Dimension::Account]), Shape::Quota(quota));
    let daily = PolicySpec::new(name("daily"), FailureMode::FailOpen)
        .deadline(ms(100))
        .limit(limit.settling());
    let login = Preset::Login.policy(name("login"), FailureMode::FailClosed);
    PolicySet::builder().policy(daily).policy(login).build(None).unwrap()
}

fn world() -> World {
    let world = World::with(set());
    world.probe();
    world.wire().take_allowed();
    world
}

/// What the store takes and says, in turn.
fn script(world: &World, steps: &[(Call, u64, Option<StoreError>)]) {
    let steps = steps.iter().map(|(op, takes, error)| (*op, ms(*takes), error.clone()));
    world.wire().slow(steps);
}

/// What was allowed since the last time, in milliseconds.
fn allowed(world: &World) -> Vec<(Call, u64)> {
    let allowed = world.wire().take_allowed();
    allowed.into_iter().map(|(op, within)| (op, within.as_micros() / 1_000)).collect()
}

/// How a request is decided, and how long that takes in milliseconds.
fn decide(world: &World) -> (Mode, u64) {
    let began = world.clock.now();
    let told = world.ask("daily", "ada", [192, 0, 2, 1]);
    (told.mode, world.clock.now().since(began).as_micros() / 1_000)
}

#[test]
fn a38_stale_periods_are_sent_again_in_what_is_left_of_the_deadline() {
    let world = world();
    script(
        &world,
        &[(Call::Charge, 60, stale()), (Call::Charge, 30, stale()), (Call::Charge, 9, None)],
    );
    assert_eq!(decide(&world), (Mode::Normal, 99));
    assert_eq!(allowed(&world), [(Call::Charge, 100), (Call::Charge, 40), (Call::Charge, 10)]);
}

#[test]
fn a38_with_nothing_left_of_the_deadline_nothing_is_sent_again() {
    let world = world();
    script(&world, &[(Call::Charge, 100, stale())]);
    assert_eq!(decide(&world), (Mode::FailOpen, 100));
    assert_eq!(allowed(&world), [(Call::Charge, 100)]);
    assert_eq!(world.engine.standing("daily").unwrap().failures, 1, "that is a store too late");
}

#[test]
fn a38_a_corrupt_counter_is_made_anew_in_what_is_left_of_the_deadline() {
    let world = world();
    let steps = [(Call::Charge, 20, CORRUPT), (Call::Amend, 30, None), (Call::Charge, 40, stale())];
    script(&world, &[&steps[..], &[(Call::Charge, 9, None)]].concat());
    assert_eq!(decide(&world), (Mode::Normal, 99));
    let expected = [(Call::Charge, 100), (Call::Amend, 80), (Call::Charge, 50), (Call::Charge, 10)];
    assert_eq!(allowed(&world), expected);
}

#[test]
fn a38_a_counter_that_takes_too_long_to_make_anew_is_not_asked_again() {
    for (charge, amend, expected) in [
        (100, 0, vec![(Call::Charge, 100)]),
        (30, 70, vec![(Call::Charge, 100), (Call::Amend, 70)]),
    ] {
        let world = world();
        script(&world, &[(Call::Charge, charge, CORRUPT), (Call::Amend, amend, None)]);
        assert_eq!(decide(&world), (Mode::FailOpen, 100), "{charge} {amend}");
        assert_eq!(allowed(&world), expected);
    }
}

#[test]
fn a38_a_settlement_has_one_deadline_that_of_its_policy() {
    let world = world();
    let (_, ticket) = world.ask_for("daily", "ada", [192, 0, 2, 1], "agent");
    let ticket = ticket.unwrap();
    allowed(&world);
    script(&world, &[(Call::Settle, 60, stale()), (Call::Settle, 40, stale())]);
    let settled = ready(world.engine.settle(ticket.as_str(), 0)).unwrap();
    assert_eq!(settled, Err(SettleError::Store(StoreError::Timeout)));
    assert_eq!(allowed(&world), [(Call::Settle, 100), (Call::Settle, 40)]);
    assert!(ready(world.engine.settle(ticket.as_str(), 0)).unwrap().is_ok(), "nothing was done");
}

#[test]
fn a38_an_operator_waits_two_seconds_however_many_counters_there_are() {
    let world = world();
    let steps = [(); 3].map(|()| (Call::Amend, 800, None));
    script(&world, &steps);
    let (set, account) = (world.engine.policies(), Account::new("ada"));
    let subject = Subject::new().account(&account).agent("a").ip([192, 0, 2, 1].into());
    let mut case = Case::new(set.get("login").unwrap(), &subject);
    let done = ready(world.engine.unblock(&mut case, None)).unwrap();
    assert_eq!(done, Err(OperateError::Store(StoreError::Timeout)));
    assert_eq!(allowed(&world), [(Call::Amend, 2_000), (Call::Amend, 1_200), (Call::Amend, 400)]);
}

#[test]
fn a38_an_operator_waits_two_seconds_for_a_list() {
    let world = world();
    assert!(ready(world.engine.blocks(Page::default())).unwrap().is_ok());
    assert_eq!(allowed(&world), [(Call::Blocks, 2_000)]);
}

#[test]
fn p09_a_store_that_waits_and_never_fails_has_the_same_deadline() {
    let clock = Arc::new(ManualClock::new(START));
    let engine = Engine::with_digests(Waiting::in_memory(&clock), set(), Digests::new([1, 2]))
        .timed_by(Arc::<ManualClock>::clone(&clock));
    let wire = engine.store().wire();
    wire.wait(0, 0);
    let steps = [(60, stale()), (30, stale()), (9, None)];
    wire.slow(steps.map(|(takes, error)| (Call::Charge, ms(takes), error)));
    let (policies, account) = (engine.policies(), Account::new("ada"));
    let subject = Subject::new().account(&account);
    let mut case = Case::new(policies.get("daily").unwrap(), &subject);
    let decision = ready(engine.decide(&mut case)).unwrap().unwrap();
    let ticket = engine.ticket(&decision).unwrap();
    let charges = [100, 40, 10].map(|left| (Call::Charge, ms(left)));
    assert_eq!(wire.take_allowed(), charges);
    wire.slow([(60, stale()), (40, stale())].map(|(takes, it)| (Call::Settle, ms(takes), it)));
    let settled = ready(engine.settle(ticket.as_str(), 0)).unwrap();
    assert_eq!(settled, Err(SettleError::Store(StoreError::Timeout)));
    assert_eq!(wire.take_allowed(), [100, 40].map(|left| (Call::Settle, ms(left))));
}

#[test]
fn a37_a_probe_has_the_deadline_of_its_policy() {
    let world = World::proven();
    let mut allowed = allowed(&world);
    allowed.sort_by_key(|(_, within)| *within);
    let expected = [100, 100, 250, 250, 250].map(|within| (Call::Probe, within));
    assert_eq!(allowed, expected, "api and read; login, otp and admin");
}
