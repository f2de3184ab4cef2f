//! P95: forgetting an entry changes no decision, and what does not fit is still counted.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use tidegate_core::{
    Clock, Cost, Dimension, FailureMode, Limit, ManualClock, Name, PolicySet, PolicySpec, Room,
    Scope, ShapeKind, Span, Store, Subject,
};
use tidegate_engine::memory::{Budget, MemoryStore};
use tidegate_test::drive::{ChargeOrPeek, PlainDecision, ask};
use tidegate_test::model::ModelStore;
use tidegate_test::trace::{MannerPlan, PeriodPlan, START, ShapePlan, WindowPlan, shapes};

use crate::bounds::{Admitted, within};
use crate::{cases, memory};

/// What the smallest tables hold of any shape.
const PLACES: usize = 3;

/// Requests of keys that come and go: which key, how much, and the time before it.
type Visits = Vec<(u8, u64, u64)>;

fn visits(keys: u8) -> impl Strategy<Value = Visits> {
    let gap = prop_oneof![2 => Just(0_u64), 1 => 0..1_000_u64, 2 => 0..5_000_000_u64];
    vec((0..keys, 1..4_u64, gap), 1..200)
}

fn by_user(shape: &ShapePlan) -> PolicySet {
    let limit =
        Limit::new(Name::try_new("l").unwrap(), Scope::of([Dimension::User]), shape.build());
    let spec = PolicySpec::new(Name::try_new("p").unwrap(), FailureMode::FailOpen).limit(limit);
    PolicySet::builder().policy(spec).build(None).unwrap()
}

fn visit<S: Store>(store: &S, set: &PolicySet, key: u8, units: u64) -> PlainDecision {
    let (user, cost) = (format!("u{key}"), Cost::try_new(units).unwrap());
    ask(store, &set.policies()[0], &Subject::new().user(&user), cost, ChargeOrPeek::Charge).unwrap()
}

/// How long a ladder remembers a block that nothing else is left of, in microseconds.
fn remembered(shape: &ShapePlan) -> u64 {
    match shape {
        ShapePlan::Attempts(_, MannerPlan::Ladder(..)) => 6 * Span::HOUR.as_micros(),
        _ => 0,
    }
}

proptest! {
    #![proptest_config(cases(600))]

    /// Sixty keys pass through three places, never more than three of them in use at a time: each
    /// takes the place of one that has become as good as none.
    #[test]
    fn p95_eviction_changes_no_decision(shape in shapes(), visits in visits(60)) {
        let (set, clock) = (by_user(&shape), Arc::new(ManualClock::new(START)));
        let memory = memory::tight(Arc::clone(&clock));
        let model = ModelStore::born_now(Arc::clone(&clock));
        let mut ends: BTreeMap<u8, u64> = BTreeMap::new();
        for (key, units, gap) in visits {
            clock.advance(Span::from_micros(gap));
            ends.retain(|_, end| *end > clock.now().as_micros());
            if ends.len() == PLACES && !ends.contains_key(&key) {
                // An entry may be kept a thirty-second of its life longer than it must.
                let end = *ends.values().max().unwrap();
                let life = end - clock.now().as_micros();
                clock.advance(Span::from_micros(2 * life));
                ends.clear();
            }
            let (found, expected) = (visit(&memory, &set, key, units), visit(&model, &set, key, units));
            prop_assert_eq!(&found, &expected);
            let reset = found.of("l").reset_after.as_micros();
            // Sixteen years at once would leave the range of time before long.
            prop_assume!(reset < 1 << 49);
            let life = reset + remembered(&shape);
            ends.insert(key, clock.now().as_micros() + life + life / 16);
        }
    }

    /// Many more keys than places, all in use: those that share a cell may be refused early, but
    /// none gets more than its limit.
    #[test]
    fn p95_what_does_not_fit_is_never_under_counted(
        count in 4..9_u64, kind in 0..7_usize, crowd in crowd(),
    ) {
        let block_at = u16::try_from(count).unwrap();
        let temp = WindowPlan { block_at, per: 1_000, block: 300 };
        let long = WindowPlan { block_at: 2 * block_at, per: 5_000, block: 2_000 };
        stays_within(&[
            ShapePlan::Attempts(temp, MannerPlan::Temp),
            ShapePlan::Attempts(temp, MannerPlan::Dual(long)),
            ShapePlan::Attempts(temp, MannerPlan::Ladder(1, 6)),
            ShapePlan::Bucket(1, 1_000, count),
            ShapePlan::Window(count, 1_000, None),
            ShapePlan::Window(count, 1_000, Some(Some(100))),
            ShapePlan::Quota(count, PeriodPlan::Fixed(1_000), None),
        ][kind], crowd);
    }

    #[test]
    fn p95_a_period_from_first_use_that_does_not_fit_is_never_under_counted(
        count in 4..9_u64, crowd in crowd(),
    ) {
        stays_within(&ShapePlan::Quota(count, PeriodPlan::FirstUse(1_000), None), crowd);
    }
}

/// Many keys at once, of which a few ask often.
fn crowd() -> impl Strategy<Value = Visits> {
    vec((0..=255_u8, 1..5_u64, 0..40_u64), 600).prop_map(|mut visits| {
        let often = |(key, _, gap): &mut (u8, u64, u64)| {
            if *gap % 2 == 0 {
                *key %= 16;
            }
        };
        visits.iter_mut().for_each(often);
        visits
    })
}

fn stays_within(shape: &ShapePlan, visits: Visits) {
    let (set, clock) = (by_user(shape), Arc::new(ManualClock::new(START)));
    let memory = memory::tight(Arc::clone(&clock));
    let mut admitted: BTreeMap<u8, Admitted> = BTreeMap::new();
    for (key, units, gap) in visits {
        clock.advance(Span::from_micros(gap));
        if visit(&memory, &set, key, units).is_admitted() {
            let units = if shape.is_attempts() { 1 } else { units };
            admitted.entry(key).or_default().push((clock.now().as_micros(), units.into()));
        }
    }
    admitted.values().for_each(|list| within(&shape.build(), list));
}

/// The memory of a store is reserved when it is made, whoever comes.
#[test]
fn pitfall_f_the_table_does_not_grow() {
    let (set, clock) =
        (by_user(&ShapePlan::Bucket(1, 1_000_000, 1)), Arc::new(ManualClock::new(START)));
    let memory = MemoryStore::new(
        Budget { buckets: 8, quotas: 8, windows: 8, attempts: 8 },
        Arc::clone(&clock),
    );
    let before = memory.usage().max_bytes;
    let mut admitted = 0;
    for round in 0..20 {
        for key in 0..=255 {
            admitted += usize::from(visit(&memory, &set, key, 1).is_admitted());
        }
        let usage = memory.usage();
        assert!(usage.of(ShapeKind::Bucket) <= 15, "round {round}: {usage:?}");
        assert_eq!(usage.max_bytes, before);
    }
    assert!(admitted >= 8, "the first have places of their own");
    clock.advance(Span::from_secs(3));
    assert_eq!(
        memory.usage().of(ShapeKind::Bucket),
        0,
        "and places are given up without anybody asking"
    );
    let answer = visit(&memory, &set, 0, 1);
    assert_eq!(answer.of("l").room, Room::Now);
}
