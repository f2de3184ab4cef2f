//! What a set of policies refuses, and what it remembers: regressions found by the model's author.

use tidegate_core::{
    Bucket, Case, Cost, Dimension, FailureMode, KeyNames, Limit, ManualClock, Name, Override,
    PolicyError, PolicySet, PolicySpec, Rate, Scope, Shape, Subject,
};
use tidegate_test::drive::{ChargeOrPeek, ask, digests};

use crate::memory;

fn name(text: &str) -> Name {
    Name::try_new(text).unwrap()
}

fn bucket(per_second: u64, burst: u64) -> Shape {
    Shape::Bucket(Bucket::try_new(Rate::per_second(per_second).unwrap(), burst).unwrap())
}

fn policy(title: &str, limit: Limit) -> PolicySpec {
    PolicySpec::new(name(title), FailureMode::FailOpen).limit(limit)
}

fn text(set: &PolicySet, title: &str, subject: &Subject<'_>) -> String {
    let mut case = Case::new(set.get(title).unwrap(), subject);
    case.resolve(&digests());
    let batch = case.batch();
    KeyNames::new(&[1; 32]).text(&batch.key(&batch.charges()[0]))
}

/// A policy bound to a class and one that is not yield one key for a subject of that class.
#[test]
fn two_limits_with_one_key_are_refused_whatever_class_they_are_bound_to() {
    let by_class = |title| {
        Limit::new(name(title), Scope::of([Dimension::Org, Dimension::Class]), bucket(1, 1))
    };
    let build = |first: Option<&str>, second: Option<&str>| {
        let bound = |title, class: Option<&str>| {
            let spec = policy(title, by_class("l"));
            match class {
                Some(class) => spec.class(name(class)),
                None => spec,
            }
        };
        PolicySet::builder().policy(bound("p1", first)).policy(bound("p2", second)).build(None)
    };
    for (first, second) in
        [(None, None), (None, Some("read")), (Some("read"), None), (Some("read"), Some("read"))]
    {
        let refused = matches!(build(first, second), Err(PolicyError::SameKey { .. }));
        assert!(refused, "{first:?} and {second:?}");
    }
    let set = build(Some("read"), Some("write")).unwrap();
    let subject = Subject::new().org("acme").class("read");
    assert_eq!(text(&set, "p1", &subject), "rl:{acme}:class:read:w1s");
    assert_eq!(text(&set, "p2", &subject), "rl:{acme}:class:write:w1s");
}

/// Its counters are there when it comes back, and are read under the numbers they were written
/// under: a token of one rate is not a million of another.
#[test]
fn a_limit_that_leaves_and_comes_back_finds_its_state() {
    let with = |shape| {
        PolicySet::builder().policy(policy("p", Limit::new(name("l"), Scope::GLOBAL, shape)))
    };
    let without = PolicySet::builder()
        .policy(policy("q", Limit::new(name("l"), Scope::GLOBAL, bucket(1, 1))));
    let clock = std::sync::Arc::new(ManualClock::new(tidegate_test::trace::START));
    let store = memory::roomy(std::sync::Arc::clone(&clock));
    let left = |set: &PolicySet, units| {
        let cost = Cost::try_new(units).unwrap();
        let policy = set.get("p").unwrap();
        ask(&store, policy, &Subject::new(), cost, ChargeOrPeek::Charge).unwrap().of("l").remaining
    };
    let first = with(bucket(1, 10)).build(None).unwrap();
    assert_eq!(left(&first, 8), 2);
    let second = without.build(Some(&first)).unwrap();
    let third = with(bucket(1_000_000, 10)).build(Some(&second)).unwrap();
    assert_eq!(left(&third, 1), 1);
}

#[test]
fn an_override_follows_the_class_a_policy_is_bound_to() {
    let by_class = || {
        let other = Override::exact(Dimension::Class, "read", bucket(1, 50)).unwrap();
        let scope = Scope::of([Dimension::Class]);
        Limit::new(name("l"), scope, bucket(1, 5)).overridden(other).unwrap()
    };
    let set = PolicySet::builder()
        .policy(policy("reading", by_class()).class(name("read")))
        .policy(policy("writing", by_class()).class(name("write")))
        .build(None)
        .unwrap();
    let capacity = |title, subject: &Subject<'_>| {
        let mut case = Case::new(set.get(title).unwrap(), subject);
        case.resolve(&digests());
        case.batch().charges()[0].shape().capacity()
    };
    for subject in [Subject::new(), Subject::new().class("read"), Subject::new().class("write")] {
        assert_eq!(capacity("reading", &subject), 50, "{subject:?}");
        assert_eq!(capacity("writing", &subject), 5, "{subject:?}");
    }
}
