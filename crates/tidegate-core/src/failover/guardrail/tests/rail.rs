//! One cap against an oracle that keeps every admitted request of every key.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::super::keyed::Whose;
use super::super::rail::Rail;
use super::super::shares::CallerNetwork;
use super::*;

const CAP: Cap = Cap { count: 3, per: Span::from_secs(10), ..LOGIN[0] };
/// Keys that are this far apart share a cell.
const CELLS: u64 = 1_024;

/// Everything that was admitted.
#[derive(Default)]
struct Oracle(BTreeMap<u64, Vec<Timestamp>>);

impl Oracle {
    fn counting(&self, key: u64, now: Timestamp) -> Vec<Timestamp> {
        let all = self.0.get(&key).into_iter().flatten().copied();
        all.filter(|at| now.since(*at) < CAP.per).collect()
    }

    /// What is left, how long until there is room, and how long until nothing counts.
    fn left(&self, key: u64, now: Timestamp) -> (u64, Span, Span) {
        let counting = self.counting(key, now);
        let ends = |at: &Timestamp| at.after(CAP.per).since(now);
        let full = counting.len() >= 3;
        let wait = if full { ends(&counting[counting.len() - 3]) } else { Span::ZERO };
        let reset = counting.last().map_or(Span::ZERO, ends);
        (3 - counting.len() as u64, wait, reset)
    }
}

/// A key from a network of its own.
fn of(key: u64) -> Whose {
    Whose { key, network: CallerNetwork(Some(key)), limit: 0 }
}

fn left(rail: &mut Rail, key: u64, now: Timestamp) -> (u64, Span, Span) {
    let left = rail.left(of(key), now);
    (left.remaining, left.wait, left.reset)
}

/// Takes if there is room.
fn taken(rail: &mut Rail, key: u64, now: Timestamp) -> bool {
    let admits = rail.left(of(key), now).wait.is_zero();
    if admits {
        rail.take(of(key), now);
    }
    admits
}

fn pauses() -> impl Strategy<Value = Span> {
    let edges = (proptest::sample::select(&[3_u64, 5, 10][..]), 0..3_u64)
        .prop_map(|(secs, off)| Span::from_micros(secs * 1_000_000 + off - 1));
    prop_oneof![
        5 => Just(Span::ZERO),
        5 => (0..1_500_000_u64).prop_map(Span::from_micros),
        1 => edges,
    ]
}

#[test]
fn p44_a_flood_takes_no_more_memory_than_there_is_and_admits_no_more_than_it_may() {
    let mut rail = Rail::new(CAP, 16);
    let mut passed = 0;
    for key in 0..100_000_u64 {
        passed += u64::from(taken(&mut rail, key.wrapping_mul(0x9e37_79b9_7f4a_7c15), at(0)));
    }
    assert!(passed <= 16 + CELLS * CAP.count, "{passed}");
    let (keys, entries) = rail.kept();
    assert!(keys <= 16 && entries <= 16 * 3, "{keys} keys, {entries} entries");
    assert!(!rail.is_fresh(before(at(10))) && rail.is_fresh(at(10)));
}

#[test]
fn p44_a_wait_is_true_for_who_will_have_to_share() {
    let (mut rail, key, other) = (Rail::new(CAP, 1), 7, 7 + CELLS);
    (0..3).for_each(|_| assert!(taken(&mut rail, key, at(0))));
    (0..3).for_each(|_| assert!(taken(&mut rail, other, at(5))));
    assert_eq!(left(&mut rail, key, at(5)).1, Span::from_secs(5), "its place is free by then");
    assert!(taken(&mut rail, other + CELLS, at(10)), "but somebody else takes it");
    assert_eq!(left(&mut rail, key, at(10)).1, Span::from_secs(5), "until the cell has room");
    assert!(!taken(&mut rail, key, before(at(15))) && taken(&mut rail, key, at(15)));
}

#[test]
fn p44_who_moves_from_a_cell_to_a_place_brings_along_what_was_counted() {
    let mut rail = Rail::new(CAP, 1);
    assert!(taken(&mut rail, 1, at(0)));
    assert!(taken(&mut rail, 2, at(5)) && taken(&mut rail, 2, at(6)), "in its cell");
    assert!(taken(&mut rail, 2, at(10)), "in the place that has become free");
    assert!(!taken(&mut rail, 2, before(at(15))), "and that makes three");
    assert_eq!(left(&mut rail, 2, at(14)).1, Span::SECOND);
    assert!(taken(&mut rail, 2, at(15)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn p28_a_cap_counts_every_key_exactly(
        asks in proptest::collection::vec((0..6_u64, pauses(), any::<bool>()), 1..200),
    ) {
        let (mut rail, mut oracle) = (Rail::new(CAP, 64), Oracle::default());
        let mut now = START;
        for (key, pause, wants) in asks {
            now = now.after(pause);
            let said = left(&mut rail, key, now);
            prop_assert_eq!(said, oracle.left(key, now), "key {}", key);
            if wants && said.1.is_zero() {
                rail.take(of(key), now);
                oracle.0.entry(key).or_default().push(now);
            }
            let fresh = (0..6).all(|key| oracle.counting(key, now).is_empty());
            prop_assert_eq!(rail.is_fresh(now), fresh);
        }
    }

    #[test]
    fn p44_with_too_many_keys_nothing_is_counted_too_little(
        asks in proptest::collection::vec((0..4_u64, 0..6_u64, pauses()), 1..300),
    ) {
        // Two keys are there before the flood, which leaves two places to dozens of keys.
        let (mut rail, mut oracle) = (Rail::new(CAP, 4), Oracle::default());
        let mut tracked: BTreeMap<u64, Timestamp> = BTreeMap::new();
        for key in [0, CELLS] {
            prop_assert!(taken(&mut rail, key, START));
            oracle.0.entry(key).or_default().push(START);
            tracked.insert(key, START);
        }
        let mut now = START;
        for (cell, nth, pause) in asks {
            now = now.after(pause);
            let key = cell + CELLS * nth;
            tracked.retain(|_, last| now.since(*last) < CAP.per);
            let (said, known) = (left(&mut rail, key, now), oracle.left(key, now));
            if tracked.contains_key(&key) {
                prop_assert_eq!(said.0, known.0, "key {} was there before", key);
            }
            prop_assert!(said.0 <= known.0, "key {} has {} left, told {}", key, known.0, said.0);
            prop_assert!(said.1 >= known.1);
            prop_assert_eq!(said.0 == 0, !said.1.is_zero());
            if said.1.is_zero() {
                rail.take(of(key), now);
                oracle.0.entry(key).or_default().push(now);
                tracked.entry(key).and_modify(|last| *last = now);
            } else {
                let (mut early, mut then) = (rail.clone(), rail.clone());
                let end = now.after(said.1);
                // Who is counted with others may have a place of its own sooner than they leave room.
                if rail.is_alone(key) {
                    prop_assert!(!taken(&mut early, key, before(end)), "told too long a wait");
                }
                prop_assert!(taken(&mut then, key, end), "told too short a wait");
            }
            let (keys, entries) = rail.kept();
            prop_assert!(keys <= 4 && entries <= 4 * 3 + 1, "{} keys, {} entries", keys, entries);
        }
    }

    #[test]
    fn p59_a_clock_that_goes_back_admits_no_more(
        asks in proptest::collection::vec((0..3_u64, pauses(), 0..5_u32), 1..200),
    ) {
        let (mut rail, mut oracle) = (Rail::new(CAP, 64), Oracle::default());
        let (mut now, mut latest) = (START, START);
        for (key, pause, back) in asks {
            now = match back {
                0 => Timestamp::from_micros(now.as_micros() - pause.as_micros()),
                _ => now.after(pause),
            };
            latest = latest.max(now);
            let counted = oracle.counting(key, latest).len();
            if taken(&mut rail, key, now) {
                prop_assert!(counted < 3, "key {}", key);
                // By a clock that does not go back it was now.
                oracle.0.entry(key).or_default().push(now);
            }
        }
    }
}
