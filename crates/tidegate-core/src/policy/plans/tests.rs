//! Whom the numbers of a plan are for, and what a set learns.

use super::*;
use crate::policy::{FailureMode, PolicySpec, Protects};
use crate::{
    Bucket, Case, Cost, Digests, KeyNames, LimitError, OverrideError, Rate, Scope, Span, Subject,
    Window,
};

fn name(text: &str) -> Name {
    Name::try_new(text).unwrap()
}

fn bucket(burst: u64) -> Shape {
    Shape::Bucket(Bucket::try_new(Rate::per_second(1).unwrap(), burst).unwrap())
}

fn window(count: u64) -> Shape {
    Shape::Window(Window::try_new(count, Span::HOUR, crate::Counts::Admitted).unwrap())
}

fn limit(title: &str, shape: Shape) -> Limit {
    Limit::new(name(title), Scope::of([Dimension::Org]), shape).with_named_key()
}

fn spec(title: &str, limits: impl IntoIterator<Item = Limit>) -> PolicySpec {
    let spec = PolicySpec::new(name(title), FailureMode::FailOpen);
    limits.into_iter().fold(spec, PolicySpec::limit)
}

fn set(limits: impl IntoIterator<Item = Limit>) -> PolicySet {
    PolicySet::builder().policy(spec("p", limits)).build(None).unwrap()
}

/// What fits at once for a subject, limit by limit.
fn capacities(set: &PolicySet, policy: &str, subject: &Subject<'_>) -> Vec<u64> {
    let mut case = Case::new(set.get(policy).unwrap(), subject);
    case.resolve(&Digests::new([7, 11]));
    case.batch().charges().iter().map(|charge| charge.shape().capacity()).collect()
}

#[test]
fn exact_values_come_before_plans_and_plans_before_patterns() {
    let exact = |dimension, value, burst| Override::exact(dimension, value, bucket(burst)).unwrap();
    let rules = [
        Override::pattern(Dimension::Org, "a*", bucket(40)).unwrap(),
        Override::pattern(Dimension::Plan, "go*", bucket(50)).unwrap(),
        exact(Dimension::Plan, "gold", 30),
        exact(Dimension::Org, "acme", 20),
    ];
    let limit = rules.into_iter().try_fold(limit("burst", bucket(10)), Limit::overridden).unwrap();
    let set = set([limit]);
    let of = |org, plan| capacities(&set, "p", &Subject::new().org(org).plan(plan))[0];
    assert_eq!(of("acme", "gold"), 20, "an organisation that is named beats its plan");
    assert_eq!(of("ajax", "gold"), 30, "a plan that is named beats a pattern");
    assert_eq!(of("ajax", "goldfish"), 40, "of patterns the first");
    assert_eq!(of("bolt", "goldfish"), 50);
    assert_eq!(of("bolt", "silver"), 10);
    assert_eq!(of("bolt", ""), 10, "an empty plan is none");
}

#[test]
fn a_plan_is_in_no_key_and_no_digest() {
    let set = set([limit("burst", bucket(10))]).learning("gold", &[(name("burst"), bucket(99))]);
    let set = set.unwrap();
    let key = |subject: &Subject<'_>| {
        let mut case = Case::new(set.get("p").unwrap(), subject);
        case.resolve(&Digests::new([7, 11]));
        let charge = case.batch().charges()[0];
        (charge.digest(), KeyNames::new(&[7; 32]).text(&case.batch().key(&charge)))
    };
    let with_plan = key(&Subject::new().org("acme").plan("gold"));
    assert_eq!(with_plan, key(&Subject::new().org("acme")));
    assert_eq!(with_plan.1, "rl:{acme}:limit:burst:w1s");
}

#[test]
fn nothing_counts_by_plan() {
    let refused = |limit: Limit| PolicySet::builder().policy(spec("p", [limit])).build(None);
    let by_plan = Scope::of([Dimension::Org, Dimension::Plan]);
    let attempts = crate::Attempts::climbing(5, Span::MINUTE, crate::Ladder::default()).unwrap();
    for limit in [
        Limit::new(name("l"), by_plan, bucket(1)),
        limit("l", Shape::Attempts(attempts)).distinct(Dimension::Plan),
    ] {
        let error = LimitError::CountsByPlan(name("l"));
        assert_eq!(refused(limit).unwrap_err(), error.into());
    }
}

#[test]
fn a_plan_is_learnt_by_all_limits_of_a_name_and_kind() {
    let set = PolicySet::builder()
        .shared(limit("day", window(100)))
        .policy(spec("p", [limit("burst", bucket(1))]).shared_limit(name("day")))
        .policy(spec("q", [limit("burst", window(2))]).shared_limit(name("day")))
        .policy(spec("r", [limit("burst-r", bucket(3))]))
        .build(None)
        .unwrap();
    let numbers = [(name("burst"), bucket(10)), (name("day"), window(1_000))];
    let taught = set.learning("gold", &numbers).unwrap();
    let gold = Subject::new().org("acme").plan("gold");
    let usual = Subject::new().org("acme").plan("silver");
    for (policy, before, after) in [
        ("p", [1, 100].as_slice(), [10, 1_000].as_slice()),
        ("q", &[2, 100], &[2, 1_000]),
        ("r", &[3], &[3]),
    ] {
        assert_eq!(capacities(&taught, policy, &gold), after, "{policy}");
        assert_eq!(capacities(&taught, policy, &usual), before, "{policy}");
        assert_eq!(capacities(&set, policy, &gold), before, "the set itself has learnt nothing");
    }
    let shared = |policy: &str| Arc::as_ptr(&taught.get(policy).unwrap().limits()[1]);
    assert_eq!(shared("p"), shared("q"), "one limit, still");
    let id = taught.get("p").unwrap().limits()[1].id();
    assert_eq!(
        Arc::as_ptr(taught.limit(id).unwrap()),
        shared("p"),
        "and that is the one settled by"
    );
}

#[test]
fn a_plan_that_is_written_is_known_and_its_numbers_stay() {
    let rule = Override::exact(Dimension::Plan, "gold", bucket(30)).unwrap();
    let pattern = Override::pattern(Dimension::Plan, "trial-*", bucket(1)).unwrap();
    let burst = limit("burst", bucket(10)).overridden(rule).unwrap().overridden(pattern).unwrap();
    let set = set([burst, limit("day", window(100))]);
    assert!(set.knows_plan("gold"));
    assert!(["", "gol", "golden", "trial-*", "trial-1"].iter().all(|plan| !set.knows_plan(plan)));
    let numbers = [(name("burst"), bucket(99)), (name("day"), window(500))];
    let taught = set.learning("gold", &numbers).unwrap();
    assert_eq!(capacities(&taught, "p", &Subject::new().org("a").plan("gold")), [30, 500]);
}

#[test]
fn a_plan_without_numbers_is_known_and_has_the_usual_ones() {
    let set = set([limit("burst", bucket(10))]).learning("free", &[]).unwrap();
    assert!(set.knows_plan("free"));
    assert_eq!(capacities(&set, "p", &Subject::new().org("a").plan("free")), [10]);
}

#[test]
fn numbers_that_no_limit_would_take_are_named() {
    let set = set([limit("burst", bucket(10)), limit("day", window(100))]);
    let numbers =
        [(name("brust"), bucket(1)), (name("day"), bucket(2)), (name("burst"), bucket(3))];
    let refused = set.learning("gold", &numbers).unwrap_err();
    let text = refused.to_string();
    assert!(text.contains("the bucket `brust` and the bucket `day`, but no limit"), "{text}");
    let limits = vec![(name("brust"), ShapeKind::Bucket), (name("day"), ShapeKind::Bucket)];
    assert_eq!(refused, PolicyError::UnmatchedNumbers { plan: "gold".into(), limits });
}

#[test]
fn numbers_that_would_be_refused_in_a_policy_are_refused_in_a_plan() {
    let costly =
        limit("burst", bucket(10)).costing(crate::CostRule::PerUnit(Cost::try_new(5).unwrap()));
    let refused = set([costly]).learning("gold", &[(name("burst"), bucket(4))]).unwrap_err();
    assert!(matches!(refused, PolicyError::Limit(LimitError::CostAboveCapacity { .. })));

    let twice = [(name("burst"), bucket(4)), (name("burst"), bucket(5))];
    let refused = set([limit("burst", bucket(10))]).learning("gold", &twice).unwrap_err();
    let error = OverrideError::Duplicate(Dimension::Plan);
    assert_eq!(refused, LimitError::Override { limit: name("burst"), error }.into());

    let account = Limit::new(name("tries"), Scope::of([Dimension::Account]), window(10));
    let login = PolicySpec::new(name("p"), FailureMode::FailClosed).limit(account);
    let login = login.protecting(Protects::Login);
    let login = PolicySet::builder().policy(login).build(None).unwrap();
    let refused = login.learning("gold", &[(name("tries"), window(3))]).unwrap_err();
    assert!(matches!(refused, PolicyError::NotAboveCap { .. }), "{refused}");
}

#[test]
fn t12_the_number_of_plans_and_their_length_are_bounded() {
    let mut set = set([limit("burst", bucket(10))]);
    for plan in 0..256 {
        set = set.learning(&format!("plan-{plan}"), &[(name("burst"), bucket(20))]).unwrap();
    }
    assert_eq!(set.learning("one-more", &[]).unwrap_err(), PolicyError::TooManyPlans);
    assert!(set.learning("plan-7", &[]).is_ok(), "one that is known is none more");
    for plan in [String::new(), "p".repeat(257)] {
        let refused = PolicyError::PlanText { bytes: plan.len() };
        assert_eq!(set.learning(&plan, &[]).unwrap_err(), refused);
    }
}

#[test]
fn a_successor_forgets_what_was_learnt_and_reads_what_was_counted_under_it() {
    let first = set([limit("burst", bucket(10))]);
    let taught = first.learning("gold", &[(name("burst"), bucket(99))]).unwrap();
    let next = PolicySet::builder().policy(spec("p", [limit("burst", bucket(10))]));
    let next = next.build(Some(&taught)).unwrap();
    assert!(!next.knows_plan("gold"));
    let subject = Subject::new().org("acme").plan("gold");
    let stamp = |set: &PolicySet| {
        let mut case = Case::new(set.get("p").unwrap(), &subject);
        case.resolve(&Digests::new([7, 11]));
        case.batch().charges()[0].stamp().get()
    };
    assert_eq!((stamp(&taught), stamp(&next)), (1, 0));
    let mut case = Case::new(next.get("p").unwrap(), &subject);
    case.resolve(&Digests::new([7, 11]));
    assert_eq!(case.batch().charges()[0].written_under(1), Some(&bucket(99)));
}
