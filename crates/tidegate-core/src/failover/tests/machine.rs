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
