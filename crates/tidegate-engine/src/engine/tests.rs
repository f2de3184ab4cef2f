//! What callers rely on without seeing it.

use tidegate_core::{Name, Policy, Subject};
use tidegate_test::stub::Failing;

use super::*;

/// Compiles only if a decision can be awaited on any thread, with any store.
#[expect(dead_code, reason = "the compiler is the test")]
fn a_decision_can_be_awaited_anywhere<S: Store>(
    engine: &Engine<S>,
    policy: &Policy,
    subject: &Subject<'_>,
) {
    fn sendable<T: Send>(_: T) {}
    sendable(async move { engine.decide(&mut Case::new(policy, subject)).await.is_ok() });
}

#[test]
fn a_decision_or_its_error_fits_into_two_registers() {
    assert_eq!(size_of::<Poll<Result<Decision<'_>, DecideError>>>(), 16);
}

#[test]
fn readings_of_a_store_that_failed_admit_nothing() {
    use tidegate_core::{Bucket, FailureMode, Limit, PolicySpec, Protects, Rate, Scope, Shape};
    let shape = Shape::Bucket(Bucket::try_new(Rate::per_second(1).unwrap(), 1).unwrap());
    let limit = Limit::new(Name::try_new("l").unwrap(), Scope::GLOBAL, shape);
    let spec = PolicySpec::new(Name::try_new("p").unwrap(), FailureMode::FailClosed);
    let spec = spec.protecting(Protects::Auth);
    let set = PolicySet::builder().policy(spec.limit(limit)).build(None).unwrap();
    let store = Failing::failing(StoreError::Timeout);
    store.wire().lie();
    let engine = Engine::new(store, set.clone());
    let subject = Subject::new();
    let mut case = Case::new(set.get("p").unwrap(), &subject);
    let decision = ready(engine.decide(&mut case)).unwrap().unwrap();
    assert_eq!(decision.trouble(), Some(&StoreError::Timeout));
    assert_eq!(decision.mode(), tidegate_core::Mode::FailClosed);
    assert!(!decision.is_admitted());
    assert!(!fold(&mut case).is_admitted());
}

#[test]
fn a_clock_that_goes_back_by_days_is_no_reason_to_fail() {
    use tidegate_core::{
        Calendar, Counts, Dimension, FailureMode, Limit, ManualClock, Period, PolicySpec, Quota,
        Scope, Shape, Span, Timestamp, Unit,
    };
    let daily = |name: &str, dimension| {
        let day = Calendar::try_new(Unit::Day, "UTC", None).unwrap();
        let quota = Quota::try_new(9, Period::Calendar(day), Counts::Admitted).unwrap();
        let scope = Scope::of([dimension]);
        Limit::new(Name::try_new(name).unwrap(), scope, Shape::Quota(quota))
    };
    let spec = PolicySpec::new(Name::try_new("p").unwrap(), FailureMode::FailOpen)
        .limit(daily("org", Dimension::Org))
        .limit(daily("user", Dimension::User));
    let set = PolicySet::builder().policy(spec).build(None).unwrap();
    let start = Timestamp::from_micros(1_800_000_000_000_000);
    let clock = ManualClock::new(start);
    let budget = crate::memory::Budget { buckets: 1, quotas: 100, windows: 1, attempts: 16 };
    let engine = Engine::new(crate::memory::MemoryStore::new(budget, &clock), set.clone());
    let days = |days| start.after(Span::from_micros(days * Span::DAY.as_micros()));
    for (day, user) in [(10, "u1"), (3, "u2"), (3, "u1"), (10, "u2")] {
        clock.set(days(day));
        let subject = Subject::new().org("acme").user(user);
        let mut case = Case::new(set.get("p").unwrap(), &subject);
        let decision = ready(engine.decide(&mut case)).unwrap();
        assert!(decision.is_ok_and(|decision| decision.is_admitted()), "day {day}, {user}");
    }
}
