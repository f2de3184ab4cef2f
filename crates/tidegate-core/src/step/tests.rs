//! P96: a step is taken as a whole, and what it says is what it writes.

use super::*;
use crate::case::Case;
use crate::key::Digests;
use crate::limit::Limit;
use crate::name::Name;
use crate::policy::{FailureMode, PolicySet, PolicySpec, Protects};
use crate::shape::{
    Attempts, Bucket, BucketState, Calendar, Counts, Period, Quota, QuotaState, Rate, Unit,
};
use crate::subject::{Scope, Subject};
use crate::time::Span;

const NOW: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);

fn bucket(burst: u64) -> Shape {
    Shape::Bucket(Bucket::try_new(Rate::per_second(1).unwrap(), burst).unwrap())
}

fn month() -> Shape {
    let calendar = Calendar::try_new(Unit::Month, "UTC", None).unwrap();
    Shape::Quota(Quota::try_new(9, Period::Calendar(calendar), Counts::Admitted).unwrap())
}

fn log() -> Shape {
    let ladder = crate::block::Ladder::default();
    Shape::Attempts(Attempts::climbing(2, Span::HOUR, ladder).unwrap())
}

fn policies(shapes: impl IntoIterator<Item = Shape>) -> PolicySet {
    let spec = PolicySpec::new(Name::try_new("p").unwrap(), FailureMode::FailClosed)
        .protecting(Protects::Auth);
    let spec = shapes.into_iter().zip(0..).fold(spec, |spec, (shape, place)| {
        let name = Name::try_new(&format!("l{place}")).unwrap();
        spec.limit(Limit::new(name, Scope::GLOBAL, shape).with_named_key())
    });
    PolicySet::builder().policy(spec).build(None).unwrap()
}

/// Asks about one request: what a charge comes to over what was found, with its readings.
fn charged(set: &PolicySet, found: &[Option<Record>]) -> (Stepped<()>, Vec<i64>) {
    let subject = Subject::new();
    let mut case = Case::new(&set.policies()[0], &subject);
    case.resolve(&Digests::new([7, 11]));
    let (batch, readings) = case.ask();
    let stepped = batch.charge(found, NOW, readings);
    let left = readings.list().iter().map(|reading| reading.remaining).collect();
    (stepped, left)
}

fn record(kept: Kept, expires_at_ms: u64) -> Record {
    Record { kept, limit: 0, expires_at_ms }
}

fn of_bucket(burst: u64, level: u64, expires_at_ms: u64) -> Record {
    let Shape::Bucket(numbers) = bucket(burst) else { unreachable!() };
    record(Kept::Bucket(BucketState { level, last: NOW }, numbers), expires_at_ms)
}

#[test]
fn p96_a_charge_writes_all_counters_or_none() {
    let set = policies([bucket(3), bucket(5)]);
    let (stepped, left) = charged(&set, &[None, None]);
    // Full after a second, three or five seconds of slack, and the next millisecond.
    let writes = [(3, 2_000_000, 1_800_000_004_001), (5, 4_000_000, 1_800_000_006_001)];
    let writes: Vec<Write> = (0..)
        .zip(writes)
        .map(|(place, (burst, level, expiry))| Write {
            place,
            record: Some(of_bucket(burst, level, expiry)),
        })
        .collect();
    assert_eq!((stepped, left), (Ok(((), writes)), vec![2, 4]));

    let empty = Some(of_bucket(5, 0, 1_800_000_010_001));
    let (stepped, left) = charged(&set, &[None, empty]);
    assert_eq!((stepped, left), (Ok(((), Vec::new())), vec![3, 0]), "refused");
}

#[test]
fn an_expiry_that_still_covers_stays_and_another_is_set_anew() {
    let set = policies([bucket(3)]);
    let after = |expires_at_ms| {
        let found = of_bucket(3, 2_000_000, expires_at_ms);
        let (_, mut writes) = charged(&set, &[Some(found)]).0.unwrap();
        writes.remove(0).record.unwrap().expires_at_ms
    };
    assert_eq!(after(1_800_000_002_000), 1_800_000_002_000, "two seconds until it is full");
    assert_eq!(after(1_800_000_001_999), 1_800_000_005_001, "one millisecond short");
}

#[test]
fn p96_stale_periods_name_their_charge_and_nothing_is_told() {
    let set = policies([bucket(3), month()]);
    let (stepped, left) = charged(&set, &[]);
    assert_eq!(stepped, Err(StoreError::Stale { charge: 1, now: NOW }));
    assert_eq!(left, Vec::<i64>::new());
    for limit in set.policies()[0].limits() {
        if let Shape::Quota(quota) = limit.shape() {
            quota.calendar().unwrap().refresh(NOW);
        }
    }
    // The 15th of January 2027; the month ends with the 31st, and a minute later it may be forgotten.
    let (_, writes) = charged(&set, &[]).0.unwrap();
    let start = Timestamp::from_micros(1_798_761_600_000_000);
    let end = Timestamp::from_micros(1_801_440_000_000_000);
    let state = Kept::Quota(QuotaState { start, used: 1, end });
    assert_eq!(writes[1].record, Some(record(state, 1_801_440_060_000)));
}

#[test]
fn a_peek_tells_what_was_found_and_writes_nothing() {
    let (set, subject) = (policies([bucket(3)]), Subject::new());
    let mut case = Case::new(&set.policies()[0], &subject);
    case.resolve(&Digests::new([7, 11]));
    let (batch, readings) = case.ask();
    assert_eq!(batch.peek(&[None], NOW, readings), Ok(((), Vec::new())));
    assert_eq!(readings.list()[0].remaining, 3);
    assert_eq!(readings.decided_at(), NOW);
}

#[test]
fn p92_an_attempt_under_a_block_writes_nothing() {
    let set = policies([log()]);
    let mut found = None;
    let mut wrote = Vec::new();
    for _ in 0..4 {
        let (_, writes) = charged(&set, &[found.clone()]).0.unwrap();
        wrote.push(writes.len());
        found = writes.into_iter().next().map_or(found, |write| write.record);
    }
    assert_eq!(wrote, [1, 1, 0, 0], "one passes, one begins the block, two meet it");
}

#[test]
fn p92_an_amendment_writes_what_it_tells_and_only_a_change() {
    let until = NOW.after(Span::HOUR);
    let block = Amendment::Block { lasts: Span::HOUR, level: None };
    let listed = CounterRef::Listed("name");
    assert_eq!(
        block.amend(&listed, &[None], NOW),
        Ok((Amended { changed: false, block: None, at: NOW }, Vec::new())),
        "a name alone does not say which limit it is"
    );
    let found = Record { limit: 7, ..record(Kept::Attempts(Box::default()), 1_800_000_060_000) };
    let (amended, writes) = block.amend(&listed, &[Some(found)], NOW).unwrap();
    assert_eq!(amended.block.map(|block| block.until), Some(until));
    let blocked = writes[0].record.clone().unwrap();
    assert_eq!((blocked.limit, blocked.expires_at_ms), (7, 1_800_003_600_001));
    assert_eq!(blocked.block(NOW), amended.block);
    let again = block.amend(&listed, &[Some(blocked.clone())], NOW).unwrap();
    assert_eq!((again.0.changed, again.1), (false, Vec::new()));
    let gone = Amendment::Reset.amend(&listed, &[Some(blocked)], NOW).unwrap();
    assert_eq!(gone.0, Amended { changed: true, block: None, at: NOW });
    assert_eq!(gone.1, [Write { place: 0, record: None }]);
}

#[test]
fn a_counter_is_carried_over_as_it_is_and_never_added_up() {
    let (old, new) = (of_bucket(3, 5, 77), of_bucket(3, 6, 88));
    assert_eq!(carry_over(None, None), []);
    assert_eq!(carry_over(None, Some(&new)), []);
    let moved = [Write { place: 0, record: None }, Write { place: 1, record: Some(old.clone()) }];
    assert_eq!(carry_over(Some(old.clone()), None), moved);
    assert_eq!(carry_over(Some(old), Some(&new)), [Write { place: 0, record: None }]);
}
