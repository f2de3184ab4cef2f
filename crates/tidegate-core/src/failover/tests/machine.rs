//! The state machine, one property at a time.

use super::*;

#[test]
fn p49_the_first_answer_clears_no_failures() {
    let mut boot = Driven::new(FailureMode::FailClosed);
    boot.fail(at(0));
    boot.fail(at(1));
    boot.answer(at(2));
    assert_eq!(boot.mode(), Mode::Normal);
    assert_eq!(boot.machine.failures(), 2);
    boot.fail(at(10));
    assert_eq!(boot.mode(), Mode::Degraded, "failures at 0, 1 and 10 s");
}

#[test]
fn p48_a_request_that_was_under_way_at_the_first_answer_counts() {
    let mut boot = Driven::new(FailureMode::FailClosed);
    let early = boot.now();
    boot.answer(at(0));
    for _ in 0..3 {
        boot.step(Input::Failed(early, Failure::Backend), at(1));
    }
    assert_eq!(boot.mode(), Mode::Degraded);
}

fn corrupt(driven: &mut Driven, counter: u64, now: Timestamp) -> usize {
    driven.step(Input::Failed(driven.now(), Failure::Corrupt(counter)), now);
    driven.machine.failures()
}

#[test]
fn p50_unreadable_counters_count_from_the_third_distinct_one_on() {
    let mut node = Driven::normal();
    assert_eq!(corrupt(&mut node, 1, at(0)), 0, "one is no fault of the store");
    assert_eq!(corrupt(&mut node, 1, at(1)), 0, "the same again is none either");
    assert_eq!(corrupt(&mut node, 2, at(2)), 0);
    assert_eq!(node.told, [], "and nobody is told");
    assert_eq!(node.machine.due(), None, "and nothing is probed");
    assert_eq!(corrupt(&mut node, 3, at(3)), 1, "three are, and that is one failure");
    assert_eq!(corrupt(&mut node, 3, at(4)), 1);
    assert_eq!(corrupt(&mut node, 1, at(4)), 1);
    assert_eq!(node.mode(), Mode::Normal);
}

#[test]
fn p50_a_counter_seen_again_is_one_of_the_last_ten_seconds() {
    let mut node = Driven::normal();
    corrupt(&mut node, 1, at(0));
    corrupt(&mut node, 1, at(9));
    corrupt(&mut node, 2, at(11));
    assert_eq!(corrupt(&mut node, 3, at(12)), 1, "seen at 9, 11 and 12 s");
    let mut late = Driven::normal();
    corrupt(&mut late, 1, at(0));
    corrupt(&mut late, 2, at(5));
    let just_in_time = corrupt(&mut late.clone(), 3, at(10));
    assert_eq!(just_in_time, 1, "both ends belong to the ten seconds");
    assert_eq!(corrupt(&mut late, 3, at(10).after(TICK)), 0);
}

#[test]
fn p50_unreadable_counters_of_the_last_ten_seconds_would_be_missed() {
    let mut node = Driven::normal();
    corrupt(&mut node, 1, at(5));
    assert!(!node.machine.is_fresh(at(15)));
    assert!(node.machine.is_fresh(at(15).after(TICK)));
}

#[test]
fn p10_at_the_start_nothing_is_known_and_a_probe_is_due_at_once() {
    let modes = [
        (FailureMode::FailClosed, Mode::FailClosed),
        (FailureMode::FailOpen, Mode::FailOpen),
        (FailureMode::Degraded, Mode::Degraded),
    ];
    for (primary, mode) in modes {
        let mut boot = Driven::new(primary);
        assert_eq!((boot.mode(), boot.machine.wants_answers()), (mode, true));
        assert_eq!(boot.machine.due(), Some(START));
        let mut answered = boot.clone();
        answered.answer(at(1));
        assert_eq!((answered.mode(), answered.machine.epoch()), (Mode::Normal, 0));
        let probe = boot.poll(START).expect("it is due");
        boot.step(Input::Probed(probe, Ok(())), START);
        let proven =
            Transition { from: mode, to: Mode::Normal, cause: Cause::Proven, epoch: 0, at: START };
        assert_eq!(boot.changes(), [proven]);
        boot.heal_until(at(60));
        assert_eq!(boot.machine.due(), None, "a store that works is not probed");
    }
}

#[test]
fn p10_a_store_that_is_dead_at_the_start_is_given_up_within_ten_seconds() {
    let mut boot = Driven::new(FailureMode::FailClosed);
    boot.fail_until(at(10));
    let [tripped] = boot.changes()[..] else { panic!("{:?}", boot.told) };
    assert_eq!((tripped.from, tripped.to), (Mode::FailClosed, Mode::Degraded));
    assert_eq!((tripped.cause, tripped.epoch), (Cause::Tripped, 1));
    assert_eq!(tripped.at, at(4), "probes at 0, 2 and 4 s, without any request");
}

#[test]
fn p48_three_failures_trip_within_ten_seconds_and_not_a_tick_later() {
    let after = |times: &[Timestamp]| {
        let mut node = Driven::normal();
        times.iter().for_each(|now| node.fail(*now));
        node.mode()
    };
    let late = at(10).after(TICK);
    assert_eq!(after(&[at(0), at(5), at(10)]), Mode::Degraded);
    assert_eq!(after(&[at(0), at(5), late]), Mode::Normal);
    assert_eq!(after(&[at(0), at(0), at(0)]), Mode::Degraded);
    assert_eq!(after(&[at(0), at(10)]), Mode::Normal, "two never do");
    assert_eq!(after(&[at(0), at(5), late, at(15)]), Mode::Degraded, "those at 5, 10 and 15 s");
}

#[test]
fn p49_answers_between_failures_clear_nothing() {
    let mut node = Driven::normal();
    for now in [0, 4, 8] {
        node.fail(at(now));
        (0..100).for_each(|_| node.step(Input::Tick, at(now)).signals.clear());
        if node.mode() == Mode::Normal {
            (0..100).for_each(|_| node.answer(at(now)));
        }
    }
    assert_eq!(node.mode(), Mode::Degraded);
}

#[test]
fn p50_only_failures_of_the_store_are_failures() {
    use crate::store::StoreError;
    let of = |error: StoreError| Failure::of(&error, 7);
    assert_eq!(of(StoreError::Unavailable), Some(Failure::Backend));
    assert_eq!(of(StoreError::Timeout), Some(Failure::Backend));
    assert_eq!(of(StoreError::Contended), None, "a39: too many at once");
    assert_eq!(of(StoreError::Refused), Some(Failure::Refused));
    assert_eq!(of(StoreError::Corrupt { charge: 3 }), Some(Failure::Corrupt(7)));
    assert_eq!(of(StoreError::Version { charge: 3 }), None);
    assert_eq!(of(StoreError::Stale { charge: 3, now: START }), None);
}

#[test]
fn p50_a_refusal_counts_and_is_told_once_a_minute() {
    let mut node = Driven::normal();
    let refuse = |node: &mut Driven, now| {
        let mut told = node.step(Input::Failed(node.now(), Failure::Refused), now).signals;
        told.retain(|signal| matches!(signal, Signal::Refused { .. }));
        told.len()
    };
    assert_eq!(refuse(&mut node, at(0)), 1);
    assert_eq!(refuse(&mut node, at(20)), 0);
    assert_eq!(refuse(&mut node, before(at(60))), 0);
    assert_eq!(refuse(&mut node, at(60)), 1);
    assert_eq!(node.machine.failures(), 2);
    assert_eq!(refuse(&mut node, at(61)), 0);
    assert_eq!(node.mode(), Mode::Degraded, "a refusal is a failure");
    node.probe_until(at(600), |_| Err(Failure::Refused));
    let told: Vec<_> = node.told.iter().filter(|signal| signal.name() == "store_refused").collect();
    assert!(told.iter().all(|signal| signal.severity() == Severity::Critical));
    assert_eq!(told.len(), 10, "once for each minute, by probes too");
}

#[test]
fn p51_counts_may_have_been_lost_is_one_failure() {
    let mut node = Driven::normal();
    node.step(Input::Forgot, at(0));
    assert_eq!((node.mode(), node.machine.failures()), (Mode::Normal, 1));
    node.fail(at(1));
    node.fail(at(2));
    assert_eq!(node.mode(), Mode::Degraded);
    let tripped = node.machine.clone();
    node.step(Input::Forgot, at(2));
    assert_eq!(node.machine, tripped, "nobody asks such a store");
}

#[test]
fn p58_answers_of_another_generation_say_nothing() {
    let mut node = Driven::normal();
    let first = node.now();
    node.trip(at(0));
    let tripped = node.machine.clone();
    for input in [Input::Answered(first), Input::Failed(first, Failure::Backend)] {
        assert_eq!(node.step(input, at(0)), Outputs::default());
        assert_eq!(node.machine, tripped);
    }
    node.heal_until(at(310));
    assert_eq!(node.mode(), Mode::Normal);
    assert!(node.now() > first && node.now().number() > first.number());
    for _ in 0..3 {
        node.step(Input::Failed(first, Failure::Backend), at(310));
        node.step(Input::Failed(first, Failure::Refused), at(310));
    }
    assert_eq!((node.mode(), node.machine.failures()), (Mode::Normal, 0));
}

#[test]
fn p59_a_clock_that_goes_back_changes_nothing() {
    let back = [0, 1_000_000, 3_600_000_000, 86_400_000_000, 999_000_000_000];
    for micros in back {
        let earlier = Timestamp::from_micros(START.as_micros() - micros);
        let mut node = Driven::degraded();
        node.heal_until(at(200));
        let before = node.machine.clone();
        for input in [Input::Tick, Input::Poll, Input::Forgot] {
            assert_eq!(node.step(input, earlier), Outputs::default(), "{micros}");
        }
        assert_eq!(node.machine, before, "{micros}");
        node.heal_until(at(310));
        assert_eq!(node.changes().last().map(|change| change.at), Some(at(300)), "{micros}");
    }
    // Failures that are told to be older than they are count as of now.
    let mut node = Driven::normal();
    node.fail(at(10));
    node.fail(at(0));
    node.fail(START);
    assert_eq!(node.changes().last().map(|change| change.at), Some(at(10)));
}

#[test]
fn p65_a_state_is_kept_for_as_long_as_any_of_it_counts() {
    let mut node = Driven::normal();
    node.trip(at(0));
    assert!(!node.machine.is_fresh(at(90_000)), "while the store is not asked");
    node.heal_until(at(310));
    assert!(!node.machine.is_fresh(at(1_800)), "the entry would be missed");
    assert!(!node.machine.is_fresh(at(2_100)), "a trip would continue the outage");
    assert!(node.machine.is_fresh(at(2_100).after(TICK)));
}
