//! A39: what a node sends is answered in time, whatever store it has and however much is asked.

use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;
use crate::failover::Headroom;

const DEADLINE: Span = Span::from_millis(100);

/// A store that answers one call after the other, and a node whose policies are all flooded.
struct Flood {
    headroom: Headroom,
    now: Timestamp,
    /// What the store takes for one call, in microseconds, and the way there and back.
    each: u64,
    way: u64,
    /// When the store is done with all it has.
    free: Timestamp,
    /// The calls under way: whose, since when, and when they are answered.
    calls: VecDeque<(usize, Timestamp, Timestamp)>,
    held: Vec<u64>,
}

// === impl Flood ===

impl Flood {
    fn new(policies: usize, each: u64, way: u64) -> Self {
        let headroom = Headroom::new(DEADLINE);
        let held = vec![0; policies];
        let calls = VecDeque::new();
        Self { headroom, now: START, each, way, free: START, calls, held }
    }

    /// Every policy sends all it may, and has more to send.
    fn fill(&mut self) {
        let mut sent = true;
        while sent {
            sent = false;
            for policy in 0..self.held.len() {
                let (bound, total) = (self.headroom.bound().into(), self.calls.len() as u64);
                let parties = self.held.len() as u64;
                if Headroom::admits(bound, parties, total, self.held[policy]) {
                    self.send(policy);
                    sent = true;
                }
            }
        }
        self.headroom.shed();
    }

    fn send(&mut self, policy: usize) {
        let arrives = self.now.after(Span::from_micros(self.way / 2));
        self.free = arrives.max(self.free).after(Span::from_micros(self.each));
        let back = self.free.after(Span::from_micros(self.way / 2));
        self.calls.push_back((policy, self.now, back));
        self.held[policy] += 1;
    }

    /// The next answer; how long it took.
    fn answer(&mut self) -> Span {
        let (policy, began, at) = self.calls.pop_front().expect("something is under way");
        self.now = at;
        self.held[policy] -= 1;
        self.headroom.answered(began, at);
        at.since(began)
    }
}

proptest! {
    #[test]
    fn a39_no_flood_makes_a_healthy_store_late(
        policies in 1..12_usize, each in 1..300_u64, way in 0..20_000_u64,
    ) {
        let mut flood = Flood::new(policies, each, way);
        for _ in 0..5_000 {
            flood.fill();
            let took = flood.answer();
            prop_assert!(took <= DEADLINE, "{took} with a bound of {}", flood.headroom.bound());
        }
    }

    #[test]
    fn a39_a_flood_leaves_the_store_no_idle_fifth(each in 5..300_u64, calls in 0..50_u64) {
        let mut flood = Flood::new(1, each, each * calls);
        for _ in 0..2_000 {
            flood.fill();
            flood.answer();
        }
        let (began, answers) = (flood.now, 5_000);
        for _ in 0..answers {
            flood.fill();
            flood.answer();
        }
        let (busy, passed) = (answers * each, flood.now.since(began).as_micros());
        prop_assert!(busy * 5 >= passed * 4, "{busy} of {passed} µs");
    }

    #[test]
    fn a39_the_bound_stays_within_its_limits(
        deadline in 1..3_000_000_u64,
        steps in proptest::collection::vec((any::<bool>(), 0..200_000_u64), 0..400),
    ) {
        let mut headroom = Headroom::new(Span::from_micros(deadline));
        let mut now = START;
        for (shed, took) in steps {
            if shed {
                headroom.shed();
            }
            let began = now;
            now = now.after(Span::from_micros(took));
            headroom.answered(began, now);
            prop_assert!((64..=1_024).contains(&headroom.bound()));
        }
    }
}

#[test]
fn a39_the_bound_begins_with_what_a_slow_store_manages() {
    for (millis, bound) in [(1, 64), (25, 64), (100, 250), (250, 625), (2_000, 1_024)] {
        assert_eq!(Headroom::new(Span::from_millis(millis)).bound(), bound, "{millis} ms");
    }
}

#[test]
fn a39_a_slow_answer_halves_the_bound_once_for_all_that_were_sent_with_it() {
    let mut headroom = Headroom::new(DEADLINE);
    let sent = at(0);
    headroom.answered(sent, sent.after(Span::from_millis(25)));
    assert_eq!(headroom.bound(), 250, "a quarter of the deadline is quick");
    let late = sent.after(Span::from_micros(25_001));
    headroom.answered(sent, late);
    assert_eq!(headroom.bound(), 125);
    headroom.answered(sent, late.after(Span::from_millis(50)));
    assert_eq!(headroom.bound(), 125, "it was sent under the bound before");
    headroom.answered(late, late.after(Span::from_millis(50)));
    assert_eq!(headroom.bound(), 64);
    headroom.answered(at(1), at(2));
    assert_eq!(headroom.bound(), 64, "the least");
}

#[test]
fn a39_the_bound_grows_only_while_calls_are_shed() {
    let mut headroom = Headroom::new(DEADLINE);
    (0..1_000).for_each(|_| headroom.answered(at(0), at(0)));
    assert_eq!(headroom.bound(), 250, "nobody wanted more");
    headroom.shed();
    (0..249).for_each(|_| headroom.answered(at(0), at(0)));
    assert_eq!(headroom.bound(), 250);
    headroom.answered(at(0), at(0));
    assert_eq!(headroom.bound(), 312);
    assert!(!headroom.is_wanted(), "until another is shed");
}

#[test]
fn p03_one_flooded_policy_leaves_half_and_each_has_a_part_of_its_own() {
    let share = |parties: u64, others: u64| {
        (0..).take_while(move |held| Headroom::admits(250, parties, others + held, *held)).count()
    };
    assert_eq!(share(5, 0), 125, "alone");
    assert_eq!(share(5, 125), 63, "beside one that has half");
    assert_eq!(share(5, 249), 25, "half of a fifth of all is its own");
    assert_eq!(share(5, 10_000), 25, "whatever the others have");
    assert_eq!(share(1_000, 10_000), 1, "one may always ask");
}
