//! A decision allocates nothing: not when it admits, not when it refuses, not for a new key, not
//! when there is no place for one.
//!
//! `allocation-counter` brings an allocator that counts, for the whole binary; hence one of its own.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test: what cannot be built fails it"
)]

use allocation_counter::measure;
use tidegate_core::{
    Attempts, Backoff, Bucket, Calendar, Case, Counts, Dimension, FailureMode, Ladder, Limit,
    ManualClock, Name, Override, Period, PolicyError, PolicySet, PolicySetBuilder, PolicySpec,
    Quota, Rate, Scope, Shape, Span, Subject, Threshold, Timestamp, Unit, Window,
};
use tidegate_engine::memory::{Budget, MemoryStore};
use tidegate_engine::{Engine, Reader, ready};

type Memory<'c> = MemoryStore<&'c ManualClock>;

/// Decisions that are counted at a time.
const DECISIONS: u64 = 10_000;

const START: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);

fn limit(name: &str, shape: Shape) -> Limit {
    Limit::new(Name::try_new(name).unwrap(), Scope::of([Dimension::User]), shape).with_named_key()
}

fn bucket(burst: u64) -> Shape {
    Shape::Bucket(Bucket::try_new(Rate::per_minute(60).unwrap(), burst).unwrap())
}

fn quota(period: Period, counts: Counts) -> Shape {
    Shape::Quota(Quota::try_new(500, period, counts).unwrap())
}

fn window(count: u64, counts: Counts) -> Shape {
    Shape::Window(Window::try_new(count, Span::MINUTE, counts).unwrap())
}

fn attempts() -> Shape {
    let temp = Threshold { block_at: 10, per: Span::MINUTE, block: Span::from_secs(30) };
    let long = Threshold { block_at: 50, per: Span::HOUR, block: Span::HOUR };
    Shape::Attempts(Attempts::try_new(temp, Some(long)).unwrap())
}

fn ladder() -> Shape {
    Shape::Attempts(Attempts::climbing(10, Span::HOUR, Ladder::default()).unwrap())
}

/// A policy for each shape, and one with all of them.
fn policies() -> PolicySet {
    let backoff = || {
        let backoff = Backoff::exponential(Span::SECOND, 2, Span::MINUTE);
        Counts::Attempts(Some(backoff))
    };
    let calendar = Calendar::try_new(Unit::Day, "Europe/Berlin", None).unwrap();
    let shapes = || {
        [
            ("bucket", bucket(100)),
            ("fixed", quota(Period::Fixed(Span::HOUR), Counts::Admitted)),
            ("first-use", quota(Period::FirstUse(Span::HOUR), Counts::Admitted)),
            ("calendar", quota(Period::Calendar(calendar.clone()), Counts::Admitted)),
            ("tried-quota", quota(Period::Fixed(Span::DAY), backoff())),
            ("times", window(50, Counts::Admitted)),
            ("counts", window(500, Counts::Admitted)),
            ("tried-window", window(50, backoff())),
            ("log", attempts()),
            ("ladder", ladder()),
        ]
    };
    let spec = |name: &str| PolicySpec::new(Name::try_new(name).unwrap(), FailureMode::FailOpen);
    let mut builder = PolicySet::builder();
    for (name, shape) in shapes() {
        builder = builder.policy(spec(name).limit(limit(name, shape)));
    }
    let all = |all: PolicySpec, (name, shape)| all.limit(limit(&format!("all-{name}"), shape));
    let vips = Override::pattern(Dimension::User, "vip*", bucket(1_000)).unwrap();
    let overridden = limit("overridden", bucket(100)).overridden(vips).unwrap();
    builder
        .policy(shapes().into_iter().fold(spec("all"), all))
        .policy(spec("overridden").limit(overridden))
        .build(None)
        .unwrap()
}

fn admits(engine: &Engine<Memory<'_>>, reader: &mut Reader<'_>, place: usize, user: &[u8]) -> bool {
    let subject = Subject::new().user(user);
    let mut case = Case::new(&reader.policies().policies()[place], &subject);
    ready(engine.decide(&mut case)).unwrap().unwrap().is_admitted()
}

/// Counts what is allocated by the decisions about users that `user` names; returns how many were
/// admitted.
fn counted(
    engine: &Engine<Memory<'_>>,
    place: usize,
    what: &str,
    user: impl Fn(u64) -> [u8; 8],
) -> u64 {
    let mut reader = engine.reader();
    // The first touch of a policy computes the periods of its calendars.
    admits(engine, &mut reader, place, b"first touch");
    let mut admitted = 0;
    let info = measure(|| {
        for request in 0..DECISIONS {
            admitted += u64::from(admits(engine, &mut reader, place, &user(request)));
        }
    });
    let policy = reader.policies().policies()[place].name();
    assert_eq!(info.count_total, 0, "`{policy}`, {what}: {info:?}");
    admitted
}

#[test]
fn a_decision_allocates_nothing() {
    let clock = ManualClock::new(START);
    let policies = policies();
    let last = policies.policies().len();
    for place in 0..last {
        let roomy = Budget { buckets: 20_000, quotas: 40_000, windows: 40_000, attempts: 40_000 };
        let engine = Engine::new(MemoryStore::new(roomy, &clock), policies.clone());
        let one = counted(&engine, place, "one user until refused", |_| *b"the user");
        assert!((1..DECISIONS).contains(&one), "{one} admitted");
        let vip = counted(&engine, place, "one user with other numbers", |_| *b"vip user");
        assert!((1..DECISIONS).contains(&vip), "{vip} admitted");
        let new = counted(&engine, place, "new users", u64::to_le_bytes);
        assert!(new > DECISIONS / 2, "{new} admitted");
        let tight = Budget { buckets: 1, quotas: 1, windows: 1, attempts: 1 };
        let engine = Engine::new(MemoryStore::new(tight, &clock), policies.clone());
        let over = counted(&engine, place, "users without a place", u64::to_le_bytes);
        assert!(over > 0, "nobody was admitted");
    }
}

/// A set of so many policies, of one limit each.
fn wide(count: usize) -> PolicySet {
    let name = |number| Name::try_new(&format!("name-{number}")).unwrap();
    let spec = |number| PolicySpec::new(name(number), FailureMode::FailOpen);
    let limit = |number: usize| limit(&format!("limit-{number}"), bucket(100));
    let specs = (0..count).map(|number| spec(number).limit(limit(number)));
    specs.fold(PolicySet::builder(), PolicySetBuilder::policy).build(None).unwrap()
}

/// Plans come with requests, so to refuse one must not cost what the set weighs.
#[test]
fn a_plan_is_refused_before_the_set_is_copied() {
    let mut set = wide(200);
    let numbers = |shape| [(Name::try_new("limit-0").unwrap(), shape)];
    let refused = |set: &PolicySet, numbers: &[(Name, Shape)]| {
        let mut refused = None;
        let info = measure(|| refused = set.learning("one more", numbers).err());
        // A set of 200 policies is more than 200 allocations.
        assert!(info.count_total < 50, "{refused:?}: {info:?}");
        refused.unwrap()
    };
    let twice = [numbers(bucket(200)), numbers(bucket(300))].concat();
    assert!(matches!(refused(&set, &twice), PolicyError::Limit(_)));
    for number in 0..256 {
        set = set.learning(&format!("plan {number}"), &numbers(bucket(200))).unwrap();
    }
    assert_eq!(refused(&set, &numbers(bucket(200))), PolicyError::TooManyPlans);
}

#[test]
fn the_counter_counts() {
    assert_eq!(measure(|| drop(std::hint::black_box(Box::new(7)))).count_total, 1);
}
