//! `auth` and `admin`: closed for the first half hour of an outage, and not for ever.

use super::*;

fn admin() -> Node {
    Node::new(Protects::Admin, FailureMode::FailClosed)
}

fn reopened(told: &[Signal]) -> Vec<Signal> {
    told.iter().filter(|signal| matches!(signal, Signal::Reopened { .. })).copied().collect()
}

#[test]
fn p14_a35_what_guards_administrators_is_closed_for_half_an_hour_and_then_held_to_caps() {
    for protects in [Protects::Auth, Protects::Admin] {
        let mut node = Node::new(protects, FailureMode::FailClosed);
        let ada = Account::new("ada");
        let admin = || someone().account(&ada);
        node.down(at(0));
        for secs in [0, 1, 300, 1_799] {
            node.fail_until(at(secs));
            let denied = node.asks(&admin(), at(secs)).unwrap();
            assert_eq!((denied.mode, denied.guarded), (Mode::FailClosed, None), "{secs} s");
            assert_eq!((denied.verdict == Verdict::Admit, denied.alarm), (false, None));
            assert_eq!(denied.prolonged, secs > 300);
        }
        node.fail_until(before(at(1_800)));
        let last = node.asks(&admin(), before(at(1_800))).unwrap();
        assert_eq!((last.mode, wait(&last)), (Mode::FailClosed, Some(TICK)));
        // By account two in a quarter of an hour, exactly.
        for _ in 0..2 {
            let passed = node.asks(&admin(), at(1_800)).unwrap();
            assert_eq!((passed.verdict, passed.mode), (Verdict::Admit, Mode::Degraded));
            assert_eq!(passed.alarm, Some(Alarm::Reopened), "P81: in every decision");
        }
        let refused = node.asks(&admin(), at(1_800)).unwrap();
        assert_eq!((refused.mode, refused.alarm), (Mode::Degraded, Some(Alarm::Reopened)));
        assert_eq!(wait(&refused), Some(Span::from_secs(900)));
        assert!(node.asks(&admin(), before(at(2_700))).unwrap().verdict != Verdict::Admit);
        assert_eq!(node.asks(&admin(), at(2_700)).unwrap().verdict, Verdict::Admit);
        // By address prefix ten, whoever they are.
        let passed = (0..20).filter(|nth| {
            let name = format!("u{nth}");
            let account = Account::new(&name);
            node.asks(&someone().account(&account), at(9_000)).unwrap().verdict == Verdict::Admit
        });
        assert_eq!(passed.count(), 10);
    }
}

#[test]
fn p79_p81_a35_the_end_of_the_half_hour_is_told_once_and_is_critical() {
    let mut node = admin();
    node.down(at(0));
    assert_eq!(reopened(&node.fail_until(before(at(1_800)))), []);
    let told = reopened(&node.fail_until(at(9_000)));
    assert_eq!(told, [Signal::Reopened { since: at(0), epoch: 1, at: at(1_800) }]);
    assert_eq!((told[0].severity(), told[0].name()), (Severity::Critical, "closed_reopened"));
    for protects in [Protects::Login, Protects::Otp, Protects::StepUp] {
        let mut node = Node::new(protects, FailureMode::FailClosed);
        node.down(at(0));
        assert_eq!(reopened(&node.fail_until(at(9_000))), [], "{protects:?} was never closed");
    }
}

#[test]
fn p88_a35_while_closed_the_wait_is_the_earliest_instant_at_which_something_may_pass() {
    // Every probe is bad: two good minutes are the least, and from 1,680 s on the half hour ends first.
    let mut node = admin();
    node.down(at(0));
    for (secs, told) in [(1, 299), (100, 200), (176, 124), (181, 124), (200, 125), (1_678, 122)] {
        node.fail_until(at(secs));
        let denied = node.asks(&someone(), at(secs)).unwrap();
        assert_eq!(wait(&denied), Some(Span::from_secs(told)), "after {secs} s");
    }
    for secs in [1_680, 1_700, 1_799] {
        node.fail_until(at(secs));
        let denied = node.asks(&someone(), at(secs)).unwrap();
        assert_eq!(wait(&denied), Some(Span::from_secs(1_800 - secs)), "after {secs} s");
    }
    // Every probe is good: it is over after five minutes.
    let mut node = admin();
    node.down(at(0));
    for (secs, told) in [(1, 299), (200, 100), (299, 1)] {
        node.heal_until(at(secs));
        assert_eq!(wait(&node.asks(&someone(), at(secs)).unwrap()), Some(Span::from_secs(told)));
    }
    node.heal_until(at(300));
    assert_eq!(node.asks(&someone(), at(300)), None, "the store decides");
}

#[test]
fn a35_the_request_that_trips_is_told_how_long_it_is_closed() {
    let mut node = admin();
    node.heal_until(at(0));
    let told = [10, 10, 300].map(|secs| Some(Span::from_secs(secs)));
    let denied = told.map(|_| wait(&node.fails(&someone(), StoreError::Timeout, at(0))));
    assert_eq!(denied, told);
}

#[test]
fn p14_a35_an_outage_that_flaps_does_not_begin_its_half_hour_anew() {
    let mut node = admin();
    node.heal_until(at(0));
    let mut told = Vec::new();
    for entry in [0, 700, 1_400] {
        node.down(at(entry));
        assert_eq!(node.asks(&someone(), at(entry + 1)).unwrap().mode, Mode::FailClosed);
        told.extend(node.probe_until(at(entry + 399), Ok(())));
        assert_eq!(node.standby.standing().mode, Mode::Normal);
    }
    // It trips for the fourth time within half an hour of the second: nothing passes for ten minutes.
    node.down(at(1_799));
    let backoff = node.asks(&someone(), at(1_900)).unwrap();
    assert_eq!((backoff.mode, backoff.alarm), (Mode::FailClosed, Some(Alarm::Flapped)));
    told.extend(node.fail_until(at(2_398)));
    assert_eq!(reopened(&told), []);
    // Ten minutes later its half hour is long over, although this stay has only begun.
    let told = node.fail_until(at(2_399));
    assert_eq!(reopened(&told), [Signal::Reopened { since: at(0), epoch: 3, at: at(2_399) }]);
    let passed = node.asks(&someone(), at(2_399)).unwrap();
    assert_eq!((passed.verdict, passed.mode), (Verdict::Admit, Mode::Degraded));
    assert_eq!(passed.alarm, Some(Alarm::Reopened));
}

#[test]
fn a35_half_an_hour_without_a_trip_ends_an_outage() {
    for (again, closed) in [(300 + 1_800, false), (300 + 1_801, true)] {
        let mut node = admin();
        node.heal_until(at(0));
        node.down(at(0));
        node.heal_until(at(300));
        assert_eq!(node.asks(&someone(), at(300)), None);
        node.down(at(again));
        let denied = node.asks(&someone(), at(again)).unwrap().verdict != Verdict::Admit;
        assert_eq!(denied, closed, "it trips again at {again} s");
    }
}

#[test]
fn p33_a35_a_reload_neither_resets_the_half_hour_nor_the_counts() {
    let mut node = admin();
    node.down(at(0));
    node.fail_until(at(1_800));
    let ada = Account::new("ada");
    let admin = || someone().account(&ada);
    for _ in 0..2 {
        assert_eq!(node.asks(&admin(), at(1_800)).unwrap().verdict, Verdict::Admit);
    }
    use crate::policy::Fallback;
    for fallback in [Fallback::Otp, Fallback::Guarded, Fallback::Closed] {
        node.standby.follow(FailureMode::FailClosed, fallback);
    }
    let refused = node.asks(&admin(), at(1_801)).unwrap();
    assert_eq!((refused.mode, wait(&refused)), (Mode::Degraded, Some(Span::from_secs(899))));
    node.standby.follow(FailureMode::FailClosed, Fallback::Otp);
    assert_eq!(wait(&node.asks(&admin(), at(1_801)).unwrap()), Some(Span::from_secs(899)));
    assert!(!node.standby.is_fresh(at(1_801)));
}
