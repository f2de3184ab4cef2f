//! Rows that come, change, go and come back while requests are decided.

use std::sync::Arc;

use tidegate_core::{
    Bucket, Case, Clock as _, Counts, Dimension, FailureMode, Limit, LimitError, ManualClock, Name,
    Period, PolicySet, PolicySpec, Protects, Quota, Rate, RowId, Scope, Shape, Span, Subject,
    Timestamp, Verdict,
};

use super::{Rows, RowsError};
use crate::memory::{Budget, MemoryStore};
use crate::{Engine, ready};

const START: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);
const A: RowId = RowId::from_u128(1);
const B: RowId = RowId::from_u128(2);

fn name(text: &str) -> Name {
    Name::try_new(text).unwrap()
}

/// A bucket that fills in a day.
fn bucket(burst: u64) -> Shape {
    Shape::Bucket(Bucket::try_new(Rate::try_new(burst, Span::DAY).unwrap(), burst).unwrap())
}

fn quota(count: u64, period: Span) -> Shape {
    Shape::Quota(Quota::try_new(count, Period::Fixed(period), Counts::Admitted).unwrap())
}

fn row(id: RowId, shape: Shape) -> Limit {
    let limit = Limit::new(name("row"), Scope::of([Dimension::Org]), shape).settling();
    limit.as_row(id, &"top".into()).unwrap()
}

struct World {
    clock: Arc<ManualClock>,
    engine: Engine<MemoryStore<Arc<ManualClock>>>,
    rows: Rows,
}

impl World {
    fn new(rows: impl IntoIterator<Item = Limit>) -> Self {
        let clock = Arc::new(ManualClock::new(START));
        let store = MemoryStore::new(Budget::default(), Arc::clone(&clock));
        let stance =
            PolicySpec::stance(name("calls"), FailureMode::Degraded).protecting(Protects::Outbound);
        let policies = PolicySet::builder().policy(stance).build(None).unwrap();
        Self { clock, engine: Engine::new(store, policies), rows: Rows::of(rows) }
    }

    fn put(&self, row: Limit) {
        self.rows.put(row, self.clock.now()).unwrap();
    }

    /// Whether a request that is charged to these rows may pass, and how many units it found.
    fn admits(&self, ids: &[RowId]) -> bool {
        let bundle = self.rows.bundle(ids).unwrap();
        let (set, subject) = (self.engine.policies(), Subject::new().org("acme"));
        let mut case = Case::over(set.get("calls").unwrap(), &bundle, &subject);
        let decision = ready(self.engine.decide(&mut case)).unwrap().unwrap();
        decision.verdict() == Verdict::Admit
    }

    /// How many requests pass, one after the other.
    fn admitted(&self, ids: &[RowId]) -> usize {
        (0..1_000).take_while(|_| self.admits(ids)).count()
    }
}

#[test]
fn g6_a_change_of_numbers_refills_nothing() {
    let world = World::new([row(A, bucket(5))]);
    assert_eq!(world.admitted(&[A]), 5);
    for burst in [50, 5, 500, 3, 5] {
        world.put(row(A, bucket(burst)));
        assert_eq!(world.admitted(&[A]), 0, "{burst}");
    }
    world.clock.advance(Span::DAY);
    assert_eq!(world.admitted(&[A]), 5);
}

#[test]
fn g6_more_changes_than_are_remembered_refill_nothing() {
    for shape in [bucket as fn(u64) -> Shape, |count| quota(count, Span::DAY)] {
        let world = World::new([row(A, shape(5))]);
        assert_eq!(world.admitted(&[A]), 5);
        for burst in 0..200 {
            // Every other change is of the period, or of the rate.
            let next = match burst % 2 {
                0 => shape(10_000 + burst),
                _ => match shape(5) {
                    Shape::Bucket(_) => {
                        let rate = Rate::per_second(1_000 + burst).unwrap();
                        Shape::Bucket(Bucket::try_new(rate, 1_000).unwrap())
                    }
                    _ => quota(10_000, Span::from_secs(1 + burst)),
                },
            };
            world.put(row(A, next));
        }
        world.put(row(A, shape(5)));
        assert_eq!(world.admitted(&[A]), 0);
        // Five in a day, and nothing of what was fast meanwhile.
        world.clock.advance(Span::HOUR);
        assert_eq!(world.admitted(&[A]), 0);
        world.clock.advance(Span::DAY);
        assert_eq!(world.admitted(&[A]), 5);
    }
}

#[test]
fn g6_a_row_that_is_deleted_and_created_again_goes_on_where_it_was() {
    let world = World::new([row(A, bucket(5)), row(B, bucket(9))]);
    assert_eq!(world.admitted(&[A, B]), 5);
    assert!(world.rows.delete(A, world.clock.now()));
    assert!(!world.rows.delete(A, world.clock.now()), "it is gone already");
    assert_eq!(world.rows.bundle(&[A]).unwrap_err(), RowsError::Unknown(A));
    assert_eq!(world.admitted(&[B]), 4, "the other row has its own count");
    world.clock.advance(Span::HOUR);
    world.put(row(A, bucket(7)));
    assert_eq!(world.admitted(&[A]), 0, "an hour brings a quarter of five");
    assert!(world.rows.delete(A, world.clock.now()));
    // Once nothing of it can count it is forgotten, and another kind of limit may have its id.
    let other_kind = row(A, quota(3, Span::DAY));
    let refused = world.rows.put(other_kind.clone(), world.clock.now()).unwrap_err();
    assert!(matches!(refused, LimitError::OtherKind { .. }));
    world.clock.advance(Span::from_secs(4 * 86_400));
    world.put(other_kind);
    assert_eq!(world.admitted(&[A]), 3);
}

#[test]
fn one_bad_row_refuses_itself_and_no_other() {
    let world = World::new([row(A, bucket(5)), row(B, bucket(5))]);
    world.rows.put(row(A, quota(5, Span::DAY)), START).unwrap_err();
    let no_row = Limit::new(name("x"), Scope::GLOBAL, bucket(5));
    assert_eq!(world.rows.put(no_row, START).unwrap_err(), LimitError::NoRow(name("x")));
    assert_eq!(world.rows.len(), 2);
    assert_eq!(world.admitted(&[A, B]), 5, "what was in force is in force");
}

#[test]
fn what_is_held_is_settled_by_the_row_that_is_in_force_by_then() {
    let world = World::new([row(A, bucket(5))]);
    assert_eq!(world.admitted(&[A]), 5);
    world.clock.advance(Span::DAY);
    let bundle = world.rows.bundle(&[A]).unwrap();
    let (set, subject) = (world.engine.policies(), Subject::new().org("acme"));
    let mut case = Case::over(set.get("calls").unwrap(), &bundle, &subject);
    let decision = ready(world.engine.decide(&mut case)).unwrap().unwrap();
    let held = world.engine.held(&decision).unwrap();
    assert!(world.engine.ticket(&decision).is_some(), "a ticket is made, too");
    assert_eq!(world.admitted(&[A]), 4);
    // The row gets other numbers, and is used under them; then the first request is given back.
    world.put(row(A, bucket(50)));
    assert_eq!(world.admitted(&[A]), 0);
    let held = held.under(|limit| world.rows.get(limit.row_id()?));
    let settled = ready(world.engine.settle_held(&held, 0)).unwrap().unwrap();
    assert_eq!(settled.returned, 1);
    assert_eq!(world.admitted(&[A]), 1);
    let again = ready(world.engine.settle_held(&held, 0)).unwrap();
    assert!(again.is_err(), "at most once");
}

#[test]
fn ten_thousand_rows_are_found_each_under_its_id() {
    let ids = || (1..=10_000_u128).map(RowId::from_u128);
    let rows = Rows::of(ids().map(|id| row(id, bucket(5))));
    assert_eq!((rows.len(), rows.is_empty()), (10_000, false));
    assert!(ids().all(|id| rows.get(id).and_then(|row| row.row_id()) == Some(id)));
    assert!(rows.get(RowId::from_u128(0)).is_none());
}
