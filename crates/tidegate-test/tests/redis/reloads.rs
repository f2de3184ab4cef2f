//! Counters that a reload has renamed, on a real server: found under their former names, and with no
//! right that a charge does not have.

use tidegate_core::{
    Bucket, Case, Counts, Dimension, FailureMode, Limit, Period, PolicySet, PolicySetBuilder,
    PolicySpec, Protects, Quota, Rate, Scope, Shape, Span, Subject, Window,
};
use tidegate_test::servers::RunningServer;

use crate::node::{LONGEST, Node, PATIENT, name};
use crate::place;

/// A bucket, two windows and a quota that hold so many per so many days.
fn four(days: u64) -> PolicySetBuilder {
    let per = Span::from_secs(days * 86_400);
    let window = |count| Shape::Window(Window::try_new(count, per, Counts::Admitted).unwrap());
    let bucket = Bucket::try_new(Rate::try_new(1, per).unwrap(), 10).unwrap();
    let quota = Quota::try_new(10, Period::FirstUse(per), Counts::Admitted).unwrap();
    let shapes = [
        ("bucket", Shape::Bucket(bucket)),
        ("times", window(10)),
        ("counts", window(100)),
        ("quota", Shape::Quota(quota)),
    ];
    let spec = PolicySpec::new(name("p"), FailureMode::FailClosed).protecting(Protects::Auth);
    let limit = |it: &str, shape| {
        let limit = Limit::new(name(it), Scope::of([Dimension::Org]), shape).settling();
        if it == "counts" { limit.with_named_key() } else { limit }
    };
    let add = |spec: PolicySpec, (it, shape)| spec.limit(limit(it, shape));
    PolicySet::builder().policy(shapes.into_iter().fold(spec.deadline(LONGEST), add))
}

#[tokio::test]
async fn p71_p86_a_reload_finds_counters_under_former_names_as_the_user_of_a_charge() {
    // Whoever only charges has no right to delete.
    let rules = place::rules().iter().filter(|rule| *rule != "+del").cloned();
    let server = RunningServer::builder().args(["--user", "tidegate"]).args(rules).start().await;
    let url = place::url(server.addr());
    let node = Node::with(&url, PATIENT, four(1).build(None).unwrap());
    let mut counted = 0;
    // There, on, back, and there again: the names of the first are still there when it comes back.
    for days in [1, 2, 3, 1, 2] {
        node.engine().reload(&four(days)).unwrap();
        assert_eq!(node.counted("acme").await, [counted; 4], "{days} days, {}", node.trouble());
        for _ in 0..2 {
            assert_eq!(node.decide("acme").await, Ok(true), "{days} days");
        }
        counted += 2;
        assert_eq!(node.counted("acme").await, [counted; 4], "{days} days");
    }
    assert_eq!(node.decide("acme").await, Ok(false), "all ten are used");
    let keys =
        server.text(&["EVAL", "return table.concat(redis.call('KEYS', '*'), ' ')", "0"]).await;
    for key in keys.split(' ') {
        let left: i64 = server.text(&["PTTL", key]).await.parse().unwrap();
        assert!(left > 0, "{key} lives for {left} ms");
    }
}

/// Names once showed devices and agents. What was counted under such a name counts on.
async fn an_upgrade_finds_what_was_counted_by(dimension: Dimension) {
    let server = RunningServer::start().await;
    let (scope, by) = (Scope::of([Dimension::Org, dimension]), dimension.name());
    let limits = |per: Span| {
        let shape = Shape::Window(Window::try_new(10, per, Counts::Admitted).unwrap());
        let spec = PolicySpec::new(name("p"), FailureMode::FailClosed).protecting(Protects::Auth);
        let limit = Limit::new(name("l"), scope, shape);
        PolicySet::builder().policy(spec.deadline(LONGEST).limit(limit))
    };
    let url = format!("redis://{}", server.addr());
    let node = Node::with(&url, PATIENT, limits(Span::DAY).build(None).unwrap());
    let decide = async |value: &str| {
        let set = std::sync::Arc::clone(&node.engine().policies());
        let subject = Subject::new().org("acme").with(dimension, value.as_bytes());
        let mut case = Case::new(&set.policies()[0], &subject);
        node.engine().decide_by_store(&mut case).await.unwrap().is_admitted()
    };
    for _ in 0..4 {
        assert!(decide("d/41").await);
    }
    let keys = async |pattern: &str| server.text(&["EVAL", KEYS, "0", pattern]).await;
    let hashed = keys("rl:*").await;
    let begins = format!("rl:{{acme}}:{by}:");
    assert!(hashed.starts_with(&begins) && !hashed.contains("41:sw1d"), "{hashed}");
    // As a node of the release before has left it.
    let shown = format!("{begins}d%2F41:sw1d");
    assert_eq!(server.text(&["RENAME", &hashed, &shown]).await, "OK");
    let six_are_left = async |when: &str| {
        for _ in 0..6 {
            assert!(decide("d/41").await, "{by}, {when}");
        }
        assert!(!decide("d/41").await, "four were counted before: {by}, {when}");
    };
    six_are_left("after the upgrade").await;
    assert_eq!(server.text(&["DEL", &hashed]).await, "1", "it went on under the present name");
    node.engine().reload(&limits(Span::HOUR)).unwrap();
    six_are_left("after a reload with another period").await;
    assert!(decide("d/42").await, "another {by}");
}

#[tokio::test]
async fn p86_an_upgrade_finds_the_counters_whose_names_showed_a_device_or_an_agent() {
    for dimension in [Dimension::Device, Dimension::Agent] {
        an_upgrade_finds_what_was_counted_by(dimension).await;
    }
}

const KEYS: &str = "return table.concat(redis.call('KEYS', ARGV[1]), ' ')";
