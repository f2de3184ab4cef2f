//! A37: the probe is a charge. What a charge may not do, a probe may not do either, on every server; and
//! what a probe leaves behind is nobody's and gone within ten seconds.

use redis::Value;
use tidegate_core::{
    Amendment, Attempts, Backoff, Bucket, Calendar, CounterRef, Counts, Dimension, Ladder, Page,
    Period, PolicySet, Quota, Rate, Secret, Shape, Span, Store as _, StoreError, Threshold,
    Timestamp, Trial, Unit, Window,
};
use tidegate_test::servers::{Flavour, RunningServer};

use crate::node::{Node, PATIENT, bucket, limit, policies, quota, set, window};
use crate::place;

/// Asks for every write that a charge of one key has: new, again, and too often.
const CHARGES: usize = 6;

fn times(count: u64) -> Shape {
    Shape::Window(Window::try_new(count, Span::DAY, Counts::Admitted).unwrap())
}

/// A bucket whose tokens come back so fast that a charge leaves the expiry of its key as it is.
fn fast() -> Shape {
    Shape::Bucket(Bucket::try_new(Rate::per_second(100).unwrap(), 1_000).unwrap())
}

fn calendar() -> Shape {
    let period = Period::Calendar(Calendar::try_new(Unit::Month, "UTC", None).unwrap());
    Shape::Quota(Quota::try_new(9, period, Counts::Admitted).unwrap())
}

fn fixed() -> Shape {
    Shape::Quota(Quota::try_new(9, Period::Fixed(Span::DAY), Counts::Admitted).unwrap())
}

fn threshold(block_at: u16, per: Span) -> Threshold {
    Threshold { block_at, per, block: Span::HOUR }
}

fn log(long: Option<Threshold>) -> Shape {
    Shape::Attempts(Attempts::try_new(threshold(3, Span::MINUTE), long).unwrap())
}

fn ladder() -> Shape {
    Shape::Attempts(Attempts::climbing(3, Span::MINUTE, Ladder::default()).unwrap())
}

fn backoff() -> Shape {
    let counts = Counts::Attempts(Some(Backoff::exponential(Span::SECOND, 2, Span::HOUR)));
    Shape::Window(Window::try_new(3, Span::HOUR, counts).unwrap())
}

/// Of each form one limit, and the rights without which it cannot be charged.
fn forms() -> Vec<(&'static str, Shape, &'static [&'static str])> {
    const RATE: &[&str] =
        &["~rl:*", "+eval", "+evalsha", "+info", "+get", "+set", "+setrange", "+time", "+select"];
    const WINDOW: &[&str] =
        &["~rl:*", "+eval", "+evalsha", "+info", "+get", "+set", "+time", "+select"];
    const QUOTA: &[&str] =
        &["~rq:*", "+eval", "+evalsha", "+info", "+get", "+set", "+setrange", "+time", "+select"];
    const LOG: &[&str] =
        &["~abuse_limiter:*", "+eval", "+evalsha", "+info", "+get", "+set", "+time", "+select"];
    vec![
        ("bucket", fast(), RATE),
        ("times", times(9), WINDOW),
        ("counts", window(1_000), WINDOW),
        ("backoff", backoff(), WINDOW),
        ("fixed", fixed(), QUOTA),
        ("quota", quota(9), QUOTA),
        ("calendar", calendar(), QUOTA),
        ("log", log(None), LOG),
        ("dual", log(Some(threshold(5, Span::HOUR))), LOG),
        ("ladder", ladder(), LOG),
    ]
}

/// The rights of the user without one of them.
fn without(right: &str) -> Vec<&str> {
    let rules = place::rules().iter().map(String::as_str).filter(|rule| *rule != right);
    ["ACL", "SETUSER", "tidegate", "reset"].into_iter().chain(rules).collect()
}

/// Whether a charge fails, in any state of its counter, and whether a probe does; neither finds anything
/// that the other has left.
async fn fail(server: &RunningServer, url: &str, secret: &Secret, set: &PolicySet) -> (bool, bool) {
    let fresh = async || {
        server.command(&["FLUSHALL"]).await;
        server.command(&["SCRIPT", "FLUSH"]).await;
        Node::under(secret, url, PATIENT, set.clone())
    };
    let node = fresh().await;
    let mut charge = false;
    for _ in 0..CHARGES {
        charge |= refused(node.decide("acme").await.map(drop));
    }
    (charge, refused(fresh().await.probe().await))
}

fn refused(asked: Result<(), StoreError>) -> bool {
    match asked {
        Ok(()) => false,
        Err(StoreError::Refused) => true,
        Err(other) => panic!("{other}"),
    }
}

#[tokio::test]
async fn a37_for_each_right_removed_alone_probe_and_charge_fail_both_or_neither() {
    let server = place::server().await;
    let (url, secret) = (format!("{}/1", place::url(server.addr())), tidegate_test::lua::secret());
    let rights = || place::rules().iter().filter(|rule| rule.starts_with(['+', '~']));
    for (form, shape, needed) in forms() {
        let set = policies([(form, shape)]);
        for right in rights() {
            server.command(&without(right)).await;
            let expected = needed.contains(&right.as_str());
            let found = fail(&server, &url, &secret, &set).await;
            assert_eq!(found, (expected, expected), "{form} without {right}: (charge, probe)");
        }
        assert!(needed.iter().all(|right| rights().any(|known| known == right)), "{form}");
    }
}

#[tokio::test]
async fn a37_while_the_secret_is_changed_a_probe_needs_what_a_charge_needs() {
    let server = place::server().await;
    let url = place::url(server.addr());
    let before = Secret::try_new("the secret before the change").unwrap();
    let after = Secret::try_new("the secret after the change").unwrap();
    let changing = after.replacing(&before).unwrap();
    for (by, needs) in [(Dimension::Account, true), (Dimension::Org, false)] {
        let set = set(vec![limit(by, "quota", quota(9))]);
        assert_eq!(fail(&server, &url, &changing, &set).await, (needs, needs), "{by:?}");
    }
    let more: Vec<&str> = place::more_rules().iter().map(String::as_str).collect();
    server.command(&[&["ACL", "SETUSER", "tidegate"], &more[..]].concat()).await;
    let set = set(vec![limit(Dimension::Account, "quota", quota(9))]);
    assert_eq!(fail(&server, &url, &changing, &set).await, (false, false));
}

#[tokio::test]
async fn a37_on_a_cluster_every_master_is_probed_with_every_group() {
    let cluster = place::cluster(3, 0, Flavour::Redis).await;
    let limits = || {
        vec![limit(Dimension::Org, "org", fixed()), limit(Dimension::Account, "account", bucket(9))]
    };
    let node = Node::with(&place::cluster_url(&cluster), PATIENT, set(limits()));
    assert_eq!(node.probe().await, Ok(()));
    let change = async |server: &RunningServer, rule: &str| {
        server.command(&["ACL", "SETUSER", "tidegate", rule]).await;
    };
    for master in cluster.masters() {
        let keys = names(master).await;
        assert_eq!(keys.len(), 2, "one for each group on {}: {keys:?}", master.addr());
        for right in ["setrange", "set", "get"] {
            change(master, &format!("-{right}")).await;
            // As after the seconds from one probe to the next.
            master.command(&["FLUSHALL"]).await;
            assert_eq!(node.probe().await, Err(StoreError::Refused), "{right}");
            change(master, &format!("+{right}")).await;
            assert_eq!(node.probe().await, Ok(()), "{right}");
        }
    }
}

async fn names(server: &RunningServer) -> Vec<String> {
    redis::from_redis_value(server.command(&["KEYS", "*"]).await).unwrap()
}

#[tokio::test]
async fn a37_nothing_of_a_probe_outlasts_ten_seconds_and_nothing_is_anybodys() {
    let server = place::server().await;
    for (form, shape, _) in forms() {
        server.command(&["FLUSHALL"]).await;
        let set = policies([(form, shape)]);
        let node = Node::with(&place::url(server.addr()), PATIENT, set.clone());
        // By the clock of the server, and by one that has nothing to do with it.
        for now in [node.engine().now(), Timestamp::from_micros(1_000_000_000_000)] {
            let trial = Trial::new(&set.policies()[0], 7, now);
            assert_eq!(node.store().probe(&trial.batch()).await, Ok(()), "{form}");
            let keys = names(&server).await;
            assert_eq!(keys.len(), 1, "{form}: {keys:?}");
            assert!(keys[0].contains(":{!0}:"), "{form}: {keys:?}");
            let left = server.command(&["PTTL", &keys[0]]).await;
            let Value::Int(left) = left else { panic!("{left:?}") };
            assert!((1..=10_000).contains(&left), "{form} is kept for {left} ms");
            let page = Page { after: None, at_most: 1_000 };
            assert_eq!(node.store().blocks(page, Span::SECOND).await.unwrap().list, [], "{form}");
            let named = CounterRef::Listed(&keys[0]);
            let amended = node.store().amend(named, Amendment::Unblock, Span::SECOND).await;
            assert_eq!(amended, Err(StoreError::Refused), "{form}");
        }
        assert_eq!(node.counted("acme").await.iter().sum::<u64>(), 0, "{form}");
    }
}

#[tokio::test]
async fn p52_a_probe_touches_keys_of_its_own_and_no_others() {
    let server = place::server().await;
    let proxy = tidegate_test::proxy::Proxy::start(server.addr()).await;
    let count = forms().len();
    let shapes = forms().into_iter().map(|(form, shape, _)| (form, shape));
    let node = Node::with(&place::url(proxy.addr()), PATIENT, policies(shapes));
    assert_eq!(node.probe().await, Ok(()));
    proxy.clear_record();
    assert_eq!(node.probe().await, Ok(()));
    let sent = proxy.record();
    assert_eq!(sent.len(), 2, "a counter that is new, and one that is not");
    for words in sent {
        assert_eq!(words[0], "EVALSHA");
        assert_eq!(words[2], count.to_string(), "every form has its key");
        let keys = words[3..3 + count].iter().map(|key| String::from_utf8_lossy(key));
        assert!(keys.into_iter().all(|key| key.contains(":{!0}:")), "{words:?}");
    }
}
