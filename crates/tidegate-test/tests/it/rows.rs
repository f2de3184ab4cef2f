//! Limits that are rows: every store counts them alike, and no change of a row grants anything.

use std::sync::Arc;

use proptest::prelude::*;
use tidegate_core::{
    Bucket, Bundle, Case, Clock as _, Cost, Counts, Dimension, FailureMode, Limit, ManualClock,
    Name, Overflow, Period, PolicySet, PolicySpec, Protects, Quota, Rate, Reading, RowId, Scope,
    Shape, Span, Subject,
};
use tidegate_engine::memory::MemoryStore;
use tidegate_engine::{Engine, Rows, ready};
use tidegate_stores::redis::RedisStore;
use tidegate_test::lua::{Expired, secret, store};
use tidegate_test::model::ModelStore;
use tidegate_test::plain::PlainStore;
use tidegate_test::trace::{START, answers, overflowing, with_reloads};

use crate::differential::same;
use crate::{cases, memory};

/// On a server that forgets nothing.
fn remembering(clock: Arc<ManualClock>) -> RedisStore {
    store(clock, Expired::Stays, false)
}

/// The same, where only counters with the same hash tag are charged together. All rows of a trace have
/// the same.
fn grouped(clock: Arc<ManualClock>) -> RedisStore {
    store(clock, Expired::Stays, true)
}

fn by_name(clock: Arc<ManualClock>) -> PlainStore<Arc<ManualClock>> {
    PlainStore::by_name(clock, secret().names())
}

proptest! {
    #![proptest_config(cases(2_000))]

    #[test]
    fn p96_the_rules_agree_with_the_model_over_rows(trace in overflowing(with_reloads(50))) {
        let trace = trace.over_rows();
        let model = answers(&trace, ModelStore::new);
        same(&answers(&trace, PlainStore::new), &model)?;
        same(&answers(&trace, by_name), &model)?;
    }

    #[test]
    fn p96_the_memory_agrees_with_the_model_over_rows(trace in overflowing(with_reloads(50))) {
        let trace = trace.over_rows();
        same(&answers(&trace, memory::roomy), &answers(&trace, ModelStore::born_now))?;
    }

    #[test]
    fn p96_the_scripts_agree_with_the_model_over_rows(trace in overflowing(with_reloads(20))) {
        let trace = trace.over_rows().forward();
        let model = answers(&trace, ModelStore::new);
        same(&answers(&trace, remembering), &model)?;
        same(&answers(&trace, grouped), &model)?;
    }
}

const ID: RowId = RowId::from_u128(7);

/// One row over one store in memory.
struct World {
    clock: Arc<ManualClock>,
    engine: Engine<MemoryStore<Arc<ManualClock>>>,
    rows: Rows,
}

/// Something that happens to a row.
#[derive(Clone, Debug)]
enum Happening {
    Ask(u64),
    Wait(u64),
    Change(u64, u64),
    Renew(u64, u64),
}

fn happenings() -> impl Strategy<Value = Vec<Happening>> {
    let wait = prop_oneof![Just(1), 1..2_000_000_u64, Just(60_000_000), 1..100_000_000_000_u64];
    let numbers = || (1..40_u64, prop_oneof![Just(1), 1..100_u64, Just(86_400)]);
    let one = prop_oneof![
        4 => (1..6_u64).prop_map(Happening::Ask),
        2 => wait.prop_map(Happening::Wait),
        4 => numbers().prop_map(|(count, secs)| Happening::Change(count, secs)),
        1 => numbers().prop_map(|(count, secs)| Happening::Renew(count, secs)),
    ];
    prop::collection::vec(one, 1..120)
}

fn bucket(count: u64, secs: u64) -> Shape {
    let rate = Rate::try_new(count, Span::from_secs(secs)).unwrap();
    Shape::Bucket(Bucket::try_new(rate, count).unwrap())
}

fn quota(count: u64, secs: u64) -> Shape {
    let period = Period::Fixed(Span::from_secs(secs));
    Shape::Quota(Quota::try_new(count, period, Counts::Admitted).unwrap())
}

fn name(text: &str) -> Name {
    Name::try_new(text).unwrap()
}

fn stance() -> PolicySet {
    let stance =
        PolicySpec::stance(name("calls"), FailureMode::Degraded).protecting(Protects::Outbound);
    PolicySet::builder().policy(stance).build(None).unwrap()
}

fn row(id: RowId, shape: Shape) -> Limit {
    let limit = Limit::new(name("row"), Scope::of([Dimension::Org]), shape);
    limit.as_row(id, &"top".into()).unwrap()
}

impl World {
    fn new() -> Self {
        let clock = Arc::new(ManualClock::new(START));
        let store = memory::roomy(Arc::clone(&clock));
        Self { clock, engine: Engine::new(store, stance()), rows: Rows::new() }
    }

    fn put(&self, shape: Shape) {
        self.rows.put(row(ID, shape), self.clock.now()).unwrap();
    }

    /// What the row says to a request of this weight, and whether it passes.
    fn ask(&self, weight: u64) -> (Reading, bool) {
        let bundle = self.rows.bundle(&[ID]).unwrap();
        let (set, subject) = (self.engine.policies(), Subject::new().org("acme"));
        let case = Case::over(set.get("calls").unwrap(), &bundle, &subject);
        let mut case = case.weighing(Cost::try_new(weight).unwrap());
        let decision = ready(self.engine.decide(&mut case)).unwrap().unwrap();
        (*decision.explain().next().unwrap().reading, decision.is_admitted())
    }

    /// What the row has left.
    fn left(&self) -> u64 {
        let bundle = self.rows.bundle(&[ID]).unwrap();
        let (set, subject) = (self.engine.policies(), Subject::new().org("acme"));
        let mut case = Case::over(set.get("calls").unwrap(), &bundle, &subject);
        let decision = ready(self.engine.peek(&mut case)).unwrap().unwrap();
        decision.explain().next().unwrap().reading.remaining.unsigned_abs()
    }
}

/// The last time that something was counted: under which numbers, what was left of them, and when.
#[derive(Clone, Copy, Debug)]
struct LastCharge {
    count: u64,
    secs: u64,
    left: u64,
    at: u64,
}

/// Plays what happens to a row. After each change, `check` is told what was counted last, the count from
/// now on, what is left of it, and the time.
fn play(
    happenings: &[Happening],
    shape: fn(u64, u64) -> Shape,
    mut check: impl FnMut(LastCharge, u64, u64, u64) -> Result<(), TestCaseError>,
) -> Result<(), TestCaseError> {
    let world = World::new();
    let (mut numbers, mut last) = ((5, 10), None);
    world.put(shape(5, 10));
    for happening in happenings {
        let now = || world.clock.now().as_micros();
        match happening {
            Happening::Ask(weight) => {
                let (reading, admitted) = world.ask(*weight);
                if admitted {
                    let (count, secs) = numbers;
                    let left = reading.remaining.unsigned_abs();
                    last = Some(LastCharge { count, secs, left, at: now() });
                }
                continue;
            }
            Happening::Wait(micros) => {
                world.clock.advance(Span::from_micros(*micros));
                continue;
            }
            Happening::Change(count, secs) => numbers = (*count, *secs),
            Happening::Renew(count, secs) => {
                assert!(world.rows.delete(ID, world.clock.now()));
                numbers = (*count, *secs);
            }
        }
        world.put(shape(numbers.0, numbers.1));
        if let Some(last) = last {
            check(last, numbers.0, world.left(), now())?;
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(1_500))]

    /// However numbers change, a bucket has no more than what was left after the last charge and what has
    /// run in since at the rate of that time; unless it is full by now, and so as good as new.
    #[test]
    fn p86_no_change_of_a_row_refills_its_bucket(all in happenings()) {
        play(&all, bucket, |last, _, left, now| {
            let run_in = (now - last.at) * last.count / (last.secs * 1_000_000);
            // A part of a token may have been left.
            let most = last.left + run_in + 1;
            prop_assert!(most >= last.count || left <= most, "{left} after {last:?}");
            Ok(())
        })?;
    }

    /// What was used of a quota stays used at least to the end of the period it was used in.
    #[test]
    fn p86_no_change_of_a_row_gives_back_what_was_used_of_its_quota(all in happenings()) {
        play(&all, quota, |last, count, left, now| {
            let period = last.secs * 1_000_000;
            let (used, ends) = (last.count - last.left, (last.at / period + 1) * period);
            prop_assert!(now >= ends || count - left >= used.min(count), "{left} after {last:?}");
            Ok(())
        })?;
    }

    /// G6: whatever the rows below it are, an enforcing row admits no more than it would alone.
    #[test]
    fn g6_no_child_admits_more_than_an_enforcing_ancestor_alone(
        children in prop::collection::vec((1..30_u64, 1..60_u64, 0..3_usize, any::<bool>()), 0..4),
        waits in prop::collection::vec(prop_oneof![Just(0), 1..3_000_000_u64], 1..200),
    ) {
        let clock = Arc::new(ManualClock::new(START));
        let engine = Engine::new(memory::roomy(Arc::clone(&clock)), stance());
        let ancestor = bucket(9, 20);
        let Shape::Bucket(alone) = &ancestor else { panic!("it is a bucket") };
        let rows = children.iter().zip(10..).map(|((count, secs, overflow, shadow), id)| {
            let child = row(RowId::from_u128(id), bucket(*count, *secs));
            let child = child.on_overflow(Overflow::ALL[*overflow]);
            Arc::new(if *shadow { child.in_shadow() } else { child })
        });
        let enforcing = Arc::new(row(ID, ancestor.clone()));
        let bundle = Bundle::try_new(rows.chain([enforcing]).collect()).unwrap();
        let (set, subject) = (engine.policies(), Subject::new().org("acme"));
        // By hand: tokens in twentieths of a second of nine.
        let (mut state, mut admitted_alone, mut passed) = (None, 0, 0);
        for wait in waits {
            clock.advance(Span::from_micros(wait));
            let mut case = Case::over(set.get("calls").unwrap(), &bundle, &subject);
            let verdict = ready(engine.decide(&mut case)).unwrap().unwrap().verdict();
            passed += u64::from(verdict.passes());
            if alone.room(state, Cost::ONE, clock.now()).is_now() {
                state = Some(alone.take(state, Cost::ONE, clock.now()).0);
                admitted_alone += 1;
            }
            prop_assert!(passed <= admitted_alone, "{} instead of {}", passed, admitted_alone);
        }
    }
}
