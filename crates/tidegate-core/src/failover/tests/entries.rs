//! The guard against flapping: the fourth entry within half an hour closes for ten minutes.

use super::*;

/// A login that trips at these times and heals as soon as it may in between.
fn entered(times: &[u64]) -> Driven {
    let mut node = Driven::normal();
    for entry in times {
        node.heal_until(before(at(*entry)));
        assert_eq!(node.mode(), Mode::Normal, "before {entry} s");
        node.trip(at(*entry));
    }
    node
}

/// In backoff from 1,200 s until 1,800 s.
fn flapped() -> Driven {
    entered(&[0, 400, 800, 1_200])
}

#[test]
fn p61_the_fourth_entry_within_half_an_hour_closes_for_exactly_ten_minutes() {
    let modes: Vec<Mode> = (1..=4).map(|n| entered(&[0, 400, 800, 1_200][..n]).mode()).collect();
    assert_eq!(modes, [Mode::Degraded, Mode::Degraded, Mode::Degraded, Mode::FailClosed]);
    let mut node = flapped();
    assert_eq!(node.machine.course(), Course::Deny(Span::from_secs(600)));
    assert_eq!(node.machine.epoch(), 3, "it was not entered");
    node.step(Input::Tick, before(at(1_800)));
    assert_eq!(node.machine.course(), Course::Deny(TICK));
    node.step(Input::Tick, at(1_800));
    assert_ne!(node.mode(), Mode::FailClosed);
}

#[test]
fn p61_entries_count_for_half_an_hour_both_ends_included() {
    assert_eq!(entered(&[0, 400, 800, 1_800]).mode(), Mode::FailClosed);
    assert_eq!(entered(&[0, 400, 800, 1_801]).mode(), Mode::Degraded);
    let mut node = entered(&[0, 400, 800]);
    node.heal_until(before(at(1_800)));
    node.trip(at(1_800).after(TICK));
    assert_eq!(node.mode(), Mode::Degraded);
}

#[test]
fn p61_the_literal_reading_is_in_force() {
    use super::super::contract::MAX_REENTRIES;
    // "Not re-entered more than twice": the first entry and two more. To count entries instead would
    // refuse the third one, and is not what is written.
    let violates = |allowed: usize| (1..).find(|entry| *entry > allowed);
    let (literal, other) = (violates(1 + MAX_REENTRIES), violates(MAX_REENTRIES));
    assert_eq!((literal, other), (Some(4), Some(3)));
    let first = (1..=4).find(|n| entered(&[0, 400, 800, 1_200][..*n]).mode() == Mode::FailClosed);
    assert_eq!(first, literal);
}

#[test]
fn p62_one_critical_signal_for_each_violation() {
    let mut node = flapped();
    let critical = |node: &Driven| {
        node.told.iter().filter(|signal| signal.severity() == Severity::Critical).count()
    };
    assert_eq!(critical(&node), 1);
    let last = node.told.last().unwrap();
    assert_eq!((last.name(), last.at()), ("guard_violated", at(1_200)));
    for tenth in 0..6_000 {
        node.step(Input::Tick, at(1_200).after(Span::from_millis(100 * tenth)));
    }
    assert_eq!(critical(&node), 1, "and it is not repeated");
}

#[test]
fn p63_during_the_backoff_a_healthy_store_changes_nothing() {
    let mut node = flapped();
    let told = node.told.len();
    node.heal_until(before(at(1_800)));
    assert_eq!((node.mode(), node.told.len()), (Mode::FailClosed, told));
    let store = |_| Err(Failure::Backend);
    let mut sick = flapped();
    sick.probe_until(before(at(1_800)), store);
    assert_eq!(sick.machine.course(), node.machine.course());
}

#[test]
fn p64_after_the_backoff_a_healthy_store_is_asked_again() {
    let mut node = flapped();
    node.heal_until(at(1_800));
    let last = *node.changes().last().unwrap();
    assert_eq!((last.cause, last.at), (Cause::BackoffOver, at(1_800)));
    assert_eq!((last.from, last.to, last.epoch), (Mode::FailClosed, Mode::Normal, 3));
}

#[test]
fn p64_after_the_backoff_local_caps_decide_if_the_store_is_not_healthy() {
    let mut node = flapped();
    node.fail_until(at(1_800));
    let last = *node.changes().last().unwrap();
    assert_eq!((last.cause, last.at), (Cause::BackoffOverUnhealthy, at(1_800)));
    assert_eq!((last.from, last.to, last.epoch), (Mode::FailClosed, Mode::Degraded, 3));
    node.fail_until(at(100_000));
    assert_eq!(node.mode(), Mode::Degraded, "and not a second backoff");
    let store = |now| if now <= at(1_681) { Err(Failure::Backend) } else { Ok(()) };
    let mut late = flapped();
    late.probe_until(at(1_800), store);
    assert_eq!(late.mode(), Mode::Degraded, "a hundred and fifteen healthy seconds are too few");
}

#[test]
fn p64_a_completed_backoff_clears_the_history() {
    let mut node = flapped();
    node.heal_until(at(1_800));
    let mut violated = None;
    for entry in (1_800..).step_by(300).take(4) {
        node.heal_until(at(entry));
        assert_eq!(node.mode(), Mode::Normal, "{entry}");
        node.trip(at(entry));
        violated = (node.mode() == Mode::FailClosed).then_some(entry);
    }
    assert_eq!(violated, Some(2_700), "fifteen minutes later at the earliest, as the fourth again");
}

#[test]
fn p14_denials_before_local_caps_decide_are_bounded() {
    // A dead store and requests as seldom or often as one likes: denied for ten seconds at most.
    for pause in [1, 100, 999, 2_000, 3_333, 6_000, 9_999] {
        let mut node = Driven::normal();
        let mut now = at(0);
        while node.mode() == Mode::Normal {
            node.fail_until(now);
            if node.mode() == Mode::Normal {
                node.fail(now);
            }
            now = now.after(Span::from_millis(pause));
        }
        let [tripped] = node.changes()[..] else { panic!("{:?}", node.told) };
        assert!(tripped.at <= at(10), "a request every {pause} ms: {tripped:?}");
    }
}

#[test]
fn p15_the_wait_of_a_backoff_falls_and_is_never_zero() {
    let mut node = flapped();
    let mut last = Span::from_secs(601);
    for now in (1_200_000..1_800_000).step_by(333) {
        node.step(Input::Tick, START.after(Span::from_millis(now)));
        let Course::Deny(wait) = node.machine.course() else { panic!("it denies until the end") };
        assert!(!wait.is_zero() && wait < last);
        assert_eq!(wait, at(1_800).since(START.after(Span::from_millis(now))));
        last = wait;
    }
}
