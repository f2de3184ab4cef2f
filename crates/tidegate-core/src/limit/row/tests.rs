//! Rows: their names, their stamps, and what is remembered of numbers that are no longer in force.

use std::sync::Arc;

use super::{HALF, MAX_ROW_NUMBERS};
use crate::shape::{Bucket, Counts, Period, Quota, Rate, Shape, Window};
use crate::{
    Attempts, Bundle, Case, Digests, Dimension, FailureMode, KeyNames, Limit, LimitError, Name,
    Outcomes, Override, PolicySet, PolicySpec, Protects, RowId, Scope, Span, Stamp, Subject,
    Threshold, Timestamp,
};

const ID: RowId = RowId::from_u128(0x0189_0a5d_ac96_774b_bcce_b302_099a_8057);

fn name(text: &str) -> Name {
    Name::try_new(text).unwrap()
}

fn tag(text: &str) -> Arc<str> {
    text.into()
}

/// A bucket that is full again after a second.
fn bucket(per_second: u64) -> Shape {
    Shape::Bucket(Bucket::try_new(Rate::per_second(per_second).unwrap(), per_second).unwrap())
}

fn quota(count: u64, days: u64) -> Shape {
    let period = Period::Fixed(Span::from_secs(days * 86_400));
    Shape::Quota(Quota::try_new(count, period, Counts::Admitted).unwrap())
}

fn limit(shape: Shape) -> Limit {
    Limit::new(name("route"), Scope::of([Dimension::Org]), shape)
}

fn row(shape: Shape) -> Limit {
    limit(shape).as_row(ID, &tag("top")).unwrap()
}

fn at(millis: u64) -> Timestamp {
    Timestamp::from_micros(1_800_000_000_000_000 + millis * 1_000)
}

/// The name of the counter that a row has for this organisation.
fn key(limit: Limit, org: &str) -> String {
    let stance =
        PolicySpec::stance(name("s"), FailureMode::Degraded).protecting(Protects::Outbound);
    let set = PolicySet::builder().policy(stance).build(None).unwrap();
    let bundle = Bundle::try_new(vec![Arc::new(limit)]).unwrap();
    let subject = Subject::new().org(org);
    let mut case = Case::over(set.get("s").unwrap(), &bundle, &subject);
    case.resolve(&Digests::new([1, 2]));
    let batch = case.batch();
    KeyNames::new(&[7; 32]).text(&batch.key(&batch.charges()[0]))
}

#[test]
fn the_name_of_a_counter_has_the_tag_the_facts_and_the_id_and_no_number() {
    let text = "rl:{top}:org:acme:row:01890a5d-ac96-774b-bcce-b302099a8057";
    assert_eq!(key(row(bucket(10)), "acme"), text);
    assert_eq!(key(row(bucket(77)), "acme"), text, "other numbers, the same counter");
    assert_eq!(row(bucket(10)).id(), row(bucket(77)).id());
    let global =
        Limit::new(name("all"), Scope::GLOBAL, quota(5, 1)).as_row(ID, &tag("t:1")).unwrap();
    assert_eq!(key(global, "x"), "rq:{t:1}:row:01890a5d-ac96-774b-bcce-b302099a8057");
    let other = limit(bucket(10)).as_row(RowId::from_u128(1), &tag("top")).unwrap();
    assert_ne!(other.id(), row(bucket(10)).id());
}

#[test]
fn what_cannot_be_a_row_is_refused() {
    let block = Threshold { block_at: 5, per: Span::MINUTE, block: Span::MINUTE };
    let log = Shape::Attempts(Attempts::try_new(block, None).unwrap());
    let other = Override::exact(Dimension::Org, "acme", bucket(5)).unwrap();
    let no_row = Err(LimitError::NoRow(name("route")));
    let made = |limit: Limit, text: &str| limit.as_row(ID, &tag(text)).map(drop);
    assert_eq!(made(limit(log), "top"), no_row);
    assert_eq!(made(limit(bucket(1)).overridden(other).unwrap(), "top"), no_row);
    let counting = limit(bucket(1)).counting_outcomes(Outcomes::try_new([401]).unwrap());
    assert_eq!(made(counting, "top"), no_row);
    for bad in ["", "a{b", "a}b", "a b", "é", &"x".repeat(129)] {
        assert_eq!(made(limit(bucket(1)), bad), Err(LimitError::RowTag(name("route"))), "{bad}");
    }
    assert_eq!(made(limit(bucket(1)), &"x".repeat(128)), Ok(()));
}

#[test]
fn a_row_succeeds_only_itself() {
    let earlier = row(bucket(10));
    let stranger = limit(bucket(10)).as_row(RowId::from_u128(1), &tag("top")).unwrap();
    let moved = limit(bucket(10)).as_row(ID, &tag("other")).unwrap();
    let other_row = LimitError::OtherRow(name("route"));
    assert_eq!(stranger.replacing(&earlier, at(0)).unwrap_err(), other_row);
    assert_eq!(moved.replacing(&earlier, at(0)).unwrap_err(), other_row);
    let (limit, expected, found) = (name("route"), "bucket", "quota");
    let other_kind = LimitError::OtherKind { limit, expected, found };
    assert_eq!(row(quota(5, 1)).replacing(&earlier, at(0)).unwrap_err(), other_kind);
    let no_row = limit_of_policy().replacing(&earlier, at(0)).unwrap_err();
    assert_eq!(no_row, LimitError::NoRow(name("route")));
}

/// The rate and the burst under which state of unknown numbers is read.
fn slowest(row: &Limit) -> (u64, u64) {
    let Some(Shape::Bucket(slowest)) = row.slowest() else { panic!("a bucket that was changed") };
    assert_eq!(slowest.rate().per(), Span::SECOND);
    (slowest.rate().tokens(), slowest.burst())
}

fn limit_of_policy() -> Limit {
    limit(bucket(10))
}

#[test]
fn equal_numbers_have_one_stamp_and_others_the_next() {
    let first = row(bucket(10));
    let second = row(bucket(20)).replacing(&first, at(0)).unwrap();
    let back = row(bucket(10)).replacing(&second, at(10)).unwrap();
    let third = row(bucket(30)).replacing(&back, at(20)).unwrap();
    let stamps = [&first, &second, &back, &third].map(|row| row.current.get());
    assert_eq!(stamps, [0, 1, 0, 2]);
    assert_eq!(third.known_shape(1), Some(&bucket(20)));
    assert_eq!(third.shape(), &bucket(30));
    assert_eq!(third.known_shape(3), None);
}

#[test]
fn a_quota_keeps_its_stamp_while_its_period_stays() {
    let mut row_now = row(quota(1, 30));
    for count in 2..40_000 {
        row_now = row(quota(count, 30)).replacing(&row_now, at(count)).unwrap();
    }
    assert_eq!((row_now.current.get(), row_now.shape().capacity()), (0, 39_999));
    let longer = row(quota(7, 31)).replacing(&row_now, at(50_000)).unwrap();
    assert_eq!(longer.current.get(), 1);
}

/// A bucket of a second is remembered for three.
#[test]
fn numbers_are_forgotten_when_no_counter_of_them_counts() {
    let first = row(bucket(10));
    let second = row(bucket(20)).replacing(&first, at(0)).unwrap();
    let early = row(bucket(30)).replacing(&second, at(2_999)).unwrap();
    assert_eq!((early.known_shape(0), early.shapes.len()), (Some(&bucket(10)), 3));
    let late = row(bucket(30)).replacing(&second, at(3_000)).unwrap();
    assert_eq!((late.known_shape(0), late.shapes.len()), (None, 2));
    assert_eq!((late.base.get(), late.current.get()), (1, 2));
    assert_eq!(late.known_shape(1), Some(&bucket(20)));
    assert_eq!(slowest(&late), (20, 30), "nothing is left of ten a second");
}

#[test]
fn too_many_numbers_leave_their_slowest() {
    let slow = Shape::Bucket(Bucket::try_new(Rate::per_second(50).unwrap(), 500).unwrap());
    let small = Shape::Bucket(Bucket::try_new(Rate::per_second(90).unwrap(), 3).unwrap());
    let mut now = row(slow);
    now = row(small).replacing(&now, at(1)).unwrap();
    for step in 0..100 {
        now = row(bucket(1_000 + step)).replacing(&now, at(2 + step)).unwrap();
        assert!(now.shapes.len() <= MAX_ROW_NUMBERS);
    }
    assert_eq!((now.known_shape(0), now.known_shape(1)), (None, None));
    assert_eq!(slowest(&now), (50, 1_099), "the slow rate, and the largest burst");
    assert_eq!(now.shape(), &bucket(1_099));
    // The slow one takes ten seconds to fill, and is remembered for thirty.
    let later = row(bucket(5_000)).replacing(&now, at(31_000)).unwrap();
    assert_eq!(slowest(&later), (1_099, 5_000));
}

#[test]
fn the_slowest_of_quotas_is_the_longest_and_windows_have_their_own() {
    let first = row(quota(9, 30));
    let second = row(quota(5, 1)).replacing(&first, at(0)).unwrap();
    assert_eq!(second.slowest(), Some(&quota(9, 30)));
    let window =
        |count| Shape::Window(Window::try_new(count, Span::HOUR, Counts::Admitted).unwrap());
    let first = row(window(9));
    let second = row(window(5)).replacing(&first, at(0)).unwrap();
    assert_eq!(second.slowest(), Some(&window(5)));
}

/// Stamps are 14 bits, and are given out in turn.
#[test]
fn stamps_never_run_out_and_are_never_given_out_while_counters_of_theirs_count() {
    let total = u64::from(Stamp::MAX) + 1;
    // Four seconds between two changes: after three, nothing is left of the one before.
    let mut now = row(bucket(1));
    for step in 1..=3 * total {
        now = row(bucket(1 + step % 1_000_000)).replacing(&now, at(4_000 * step)).unwrap();
        assert_eq!(u64::from(now.current.get()), step % total);
    }
    // All at once: the half that was given out before is entered only when it is free.
    let mut now = row(bucket(1));
    let mut refused = None;
    for step in 1..=2 * total {
        match row(bucket(1 + step)).replacing(&now, at(0)) {
            Ok(next) => now = next,
            Err(error) => {
                refused = Some((step, error));
                break;
            }
        }
    }
    let (step, error) = refused.unwrap();
    assert_eq!(step, 2 * u64::from(HALF), "every stamp was given out once");
    let until = at(3_000);
    assert_eq!(error, LimitError::TooManyChanges { limit: name("route"), until });
    assert_eq!(now.shape(), &bucket(step), "the last numbers stay");
    row(bucket(1 + step)).replacing(&now, at(2_999)).unwrap_err();
    row(bucket(1 + step)).replacing(&now, at(3_000)).unwrap();
}

#[test]
fn a_deleted_row_is_remembered_for_as_long_as_any_of_its_counters_count() {
    let day = row(quota(5, 1));
    assert_eq!(day.forgettable_at(at(0)), at(3 * 86_400_000));
    let month = row(quota(5, 30));
    let day = row(quota(5, 1)).replacing(&month, at(0)).unwrap();
    assert_eq!(day.forgettable_at(at(5)), at(90 * 86_400_000), "of the month, too");
}
