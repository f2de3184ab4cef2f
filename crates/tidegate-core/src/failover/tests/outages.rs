//! How long an outage lasts: not too short, not too long, and without any traffic.

use super::*;

fn left(node: &Driven) -> Option<Timestamp> {
    node.changes().into_iter().find(|change| change.cause == Cause::Recovered).map(|left| left.at)
}

#[test]
fn p53_local_caps_decide_for_five_minutes_even_if_the_store_heals_at_once() {
    let mut node = Driven::degraded();
    node.heal_until(before(at(300)));
    assert_eq!(node.mode(), Mode::Degraded);
    node.heal_until(at(310));
    assert_eq!(left(&node), Some(at(300)));
    assert_eq!(node.machine.degraded_since(), None);
}

#[test]
fn p54_one_bad_probe_restarts_the_two_minutes() {
    for bad in [185, 200, 250, 295, 300] {
        let mut node = Driven::degraded();
        let store = |now| if now == at(bad) { Err(Failure::Backend) } else { Ok(()) };
        node.probe_until(at(500), store);
        assert_eq!(left(&node), Some(at(bad + 125)), "bad at {bad} s, good since five later");
    }
    let mut node = Driven::degraded();
    let store = |now| if now == at(175) { Err(Failure::Refused) } else { Ok(()) };
    node.probe_until(at(500), store);
    assert_eq!(left(&node), Some(at(300)), "an early one costs nothing");
}

#[test]
fn p54_a_gap_of_more_than_ten_seconds_restarts_the_two_minutes() {
    // Whoever makes the probes was held up once, between the one at 250 s and the next.
    for (gap, recovers) in [(10_000_000, true), (10_000_001, false)] {
        let mut node = Driven::degraded();
        node.heal_until(at(250));
        let next = at(250).after(Span::from_micros(gap));
        let probe = node.poll(next).unwrap();
        node.step(Input::Probed(probe, Ok(())), next);
        node.heal_until(at(310));
        assert_eq!(left(&node).is_some(), recovers, "{gap}");
        node.heal_until(at(390));
        assert!(left(&node).is_some(), "but it does in the end");
    }
}

#[test]
fn p54_two_healthy_minutes_have_twelve_probes_at_least() {
    // Made as seldom as they may be, every ten seconds.
    let mut node = Driven::degraded();
    let mut good = 0;
    let mut now = at(200);
    while node.mode() == Mode::Degraded {
        let probe = node.poll(now).unwrap();
        node.step(Input::Probed(probe, Ok(())), now);
        (good, now) = (good + 1, now.after(Span::from_secs(10)));
    }
    assert_eq!((good, left(&node)), (13, Some(at(320))));
}

#[test]
fn p55_a_store_that_heals_is_asked_again_in_time_without_any_traffic() {
    for heals in [0, 1, 100, 179, 180, 181, 200, 250, 299, 300, 1_000, 4_321] {
        let mut node = Driven::degraded();
        let store = |now| if now < at(heals) { Err(Failure::Backend) } else { Ok(()) };
        node.probe_until(at(heals + 1_000), store);
        let left = left(&node).expect("it heals");
        let latest = at(300).max(at(heals + 120)).after(Span::from_secs(10));
        assert!(left <= latest, "healed at {heals} s, left at {left:?}");
        assert!(left >= at(300).max(at(heals + 120)), "healed at {heals} s, left at {left:?}");
    }
}

#[test]
fn p57_one_request_and_a_dead_store_degrade_within_ten_seconds() {
    let mut node = Driven::normal();
    node.fail(at(0));
    assert!(matches!(node.told[..], [Signal::Suspected { mode: Mode::FailClosed, .. }]));
    node.fail_until(at(10));
    let [tripped] = node.changes()[..] else { panic!("{:?}", node.told) };
    assert_eq!(tripped.at, at(4), "the request at 0 s, probes at 2 and 4 s");
}

#[test]
fn p57_without_a_failure_nothing_is_done() {
    let mut node = Driven::normal();
    assert_eq!(node.machine.due(), None);
    node.fail_until(at(100_000));
    assert_eq!((node.mode(), node.told.len()), (Mode::Normal, 0));
}

#[test]
fn p57_a_suspicion_that_proves_wrong_ends() {
    let mut node = Driven::normal();
    node.fail(at(0));
    assert_eq!(node.machine.present_mode(), Mode::FailClosed, "that is what requests meet");
    node.heal_until(at(100));
    assert_eq!((node.mode(), node.machine.due()), (Mode::Normal, None));
    assert_eq!(node.machine.present_mode(), Mode::Normal);
    node.fail(at(100));
    let told: Vec<_> = node.told.iter().map(|signal| (signal.name(), signal.at())).collect();
    let suspected = |seconds| ("store_suspected", at(seconds));
    assert_eq!(told, [suspected(0), ("store_cleared", at(2)), suspected(100)]);
    assert_eq!(node.machine.due(), Some(at(102)), "and probed");
}

#[test]
fn p52_while_degraded_there_is_one_probe_in_five_seconds_at_most() {
    let mut node = Driven::degraded();
    let mut probes = Vec::new();
    // Asked every tenth of a second, it is due every five seconds all the same.
    for tenth in 0..3_000 {
        let now = START.after(Span::from_millis(100 * tenth));
        if let Some(probe) = node.poll(now) {
            probes.push(now);
            node.step(Input::Probed(probe, Err(Failure::Backend)), now);
        }
    }
    let expected: Vec<_> = (1..60).map(|nth| at(5 * nth)).collect();
    assert_eq!(probes, expected);
}

#[test]
fn p14_an_outage_that_goes_on_is_told_every_half_hour() {
    let mut node = Driven::degraded();
    node.told.clear();
    node.fail_until(at(6_000));
    assert_eq!(node.mode(), Mode::Degraded, "it does not end, and it does not deny either");
    assert_eq!(node.machine.course(), Course::Guard);
    let expected = [1_800, 3_600, 5_400].map(|secs| Signal::Prolonged {
        since: at(0),
        epoch: 1,
        at: at(secs),
    });
    assert_eq!(node.told, expected);
    assert!(node.told.iter().all(|signal| signal.severity() == Severity::Critical));
}
