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
