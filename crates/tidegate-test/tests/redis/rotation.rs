//! Another secret: what was counted under the one before is carried over, once, and never added up.

use std::net::IpAddr;
use std::sync::Arc;

use redis::Value;
use tidegate_core::{
    Account, Attempts, Case, Dimension, Ladder, Limit, PolicySet, Scope, Secret, Shape, Span,
    StoreError, Subject, Ticket,
};
use tidegate_test::servers::{Flavour, RunningCluster, RunningServer, wait};

use crate::node::{self, Node, PATIENT, bucket, limit, quota, window};
use crate::place;

/// No key may show one of these.
const LOGIN: &str = "Canary.Name@example.org";
const DEVICE: &str = "canary-device";
const AGENT: &str = "Canary/1.0";

/// How many limits a request is counted by.
const LIMITS: usize = 6;

fn before() -> Secret {
    Secret::try_new("the secret before the change").unwrap()
}

fn after() -> Secret {
    Secret::try_new("the secret after the change").unwrap()
}

/// What a node has while the secret is being changed.
fn changing() -> Secret {
    after().replacing(&before()).unwrap()
}

/// Of each shape one, by what is hashed; and one by what is not.
fn policies(most: u64) -> PolicySet {
    let within = |by, it: &str, shape| {
        Limit::new(node::name(it), Scope::of([Dimension::Org, by]), shape).with_named_key()
    };
    node::set(vec![
        limit(Dimension::Account, "account", window(most)),
        limit(Dimension::Ip, "address", bucket(most)),
        within(Dimension::Account, "both", quota(most)),
        limit(Dimension::Device, "device", bucket(most)),
        within(Dimension::Agent, "agent", window(most)),
        limit(Dimension::Org, "org", quota(most)),
    ])
}

fn node(secret: &Secret, url: &str, most: u64) -> Node {
    Node::under(secret, url, PATIENT, policies(most))
}

/// Runs something with the subject of these tests.
async fn with_case<T>(node: &Node, asked: impl AsyncFnOnce(&mut Case<'_>) -> T) -> T {
    let set = Arc::clone(&node.engine().policies());
    let account = Account::new(LOGIN);
    let address = IpAddr::from([203, 0, 113, 7]);
    let subject = Subject::new().org("acme").account(&account).ip(address);
    let subject = subject.device(DEVICE).agent(AGENT);
    asked(&mut Case::new(&set.policies()[0], &subject)).await
}

/// Whether one request is admitted, and its ticket.
async fn decide(node: &Node) -> Result<(bool, Option<Ticket>), StoreError> {
    with_case(node, async |case| {
        let decision = node.engine().decide_by_store(case).await?;
        Ok((decision.is_admitted(), node.engine().ticket(&decision)))
    })
    .await
}

async fn admitted(node: &Node, calls: usize) -> usize {
    let mut admitted = 0;
    for _ in 0..calls {
        admitted += usize::from(decide(node).await.unwrap().0);
    }
    admitted
}

async fn left(node: &Node) -> Vec<i64> {
    with_case(node, async |case| {
        let decision = node.engine().peek_by_store(case).await.unwrap();
        decision.explain().map(|said| said.reading.remaining).collect()
    })
    .await
}

/// One server or several, as whoever they are.
enum Place {
    One(Box<RunningServer>),
    Many(RunningCluster),
}

impl Place {
    async fn one(flavour: Flavour) -> Self {
        let server = place::builder().args(place::more_rules().to_vec()).flavour(flavour);
        Self::One(Box::new(server.start().await))
    }

    async fn many() -> Self {
        let node = place::builder().args(place::more_rules().to_vec());
        Self::Many(RunningCluster::start_from(3, 0, &node).await)
    }

    fn url(&self) -> String {
        match self {
            Self::One(server) => place::url(server.addr()),
            Self::Many(cluster) => place::cluster_url(cluster),
        }
    }

    fn servers(&self) -> Vec<&RunningServer> {
        match self {
            Self::One(server) => vec![&**server],
            Self::Many(cluster) => cluster.nodes().iter().collect(),
        }
    }

    async fn keys(&self) -> Vec<String> {
        let mut keys = Vec::new();
        for server in self.servers() {
            let found = server.command(&["KEYS", "*"]).await;
            keys.extend(redis::from_redis_value::<Vec<String>>(found).unwrap());
        }
        keys
    }

    async fn counters(&self) -> usize {
        self.keys().await.iter().filter(|key| !key.starts_with("tg:")).count()
    }

    /// Deletes every counter whose key has this in it, as a reset would.
    async fn delete(&self, part: &str) {
        for server in self.servers() {
            let found = server.command(&["KEYS", &format!("r?:*{part}*")]).await;
            for key in redis::from_redis_value::<Vec<String>>(found).unwrap() {
                server.command(&["DEL", &key]).await;
            }
        }
    }

    /// What is always true: everything expires, and nobody shows.
    async fn is_tidy(&self) {
        assert_eq!(place::left_for_ever(&self.servers()).await, Vec::<String>::new());
        for key in self.keys().await {
            let shown = key.to_lowercase();
            for canary in ["canary", "example", "203.0", "cb007107"] {
                assert!(!shown.contains(canary), "{key}");
            }
        }
    }
}

async fn is_carried_over_once(place: &Place) {
    let url = place.url();
    let (old, new) = (node(&before(), &url, 10), node(&changing(), &url, 10));
    assert_eq!(admitted(&old, 4).await, 4);
    assert_eq!(place.counters().await, LIMITS);
    assert_eq!(left(&new).await, [6; LIMITS], "a look sees what was counted");
    assert_eq!(admitted(&new, 1).await, 1);
    assert_eq!(left(&new).await, [5; LIMITS]);
    wait::until("the previous names are forgotten", async || place.counters().await == LIMITS)
        .await;
    place.is_tidy().await;
    assert_eq!(left(&node(&after(), &url, 10)).await, [5; LIMITS], "without the previous one");
    assert_eq!(admitted(&new, 9).await, 5, "what was left, and no more");

    // Reset, it does not come back: not even if a node that was left behind counts on the old name.
    place.delete("account").await;
    assert_eq!(left(&new).await, [10, 0, 10, 0, 0, 0]);
    place.delete("").await;
    assert_eq!(admitted(&old, 3).await, 3);
    assert_eq!(
        left(&new).await,
        [10, 10, 10, 10, 10, 7],
        "only the name that is the same under both"
    );
    place.is_tidy().await;
}

async fn is_never_added_up(place: &Place) {
    let url = place.url();
    // A node that does not know the previous secret has begun anew.
    assert_eq!(admitted(&node(&before(), &url, 10), 4).await, 4);
    assert_eq!(admitted(&node(&after(), &url, 10), 3).await, 3);
    let new = node(&changing(), &url, 10);
    assert_eq!(left(&new).await, [7, 7, 7, 7, 7, 3]);
    wait::until("the previous names are forgotten", async || place.counters().await == LIMITS)
        .await;
    assert_eq!(left(&new).await, [7, 7, 7, 7, 7, 3]);
    place.is_tidy().await;
}

async fn exactly_what_was_left_is_admitted(place: &Place) {
    const CALLERS: usize = 16;
    let url = place.url();
    assert_eq!(admitted(&node(&before(), &url, 64), 30).await, 30);
    let start = Arc::new(tokio::sync::Barrier::new(2 * CALLERS));
    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..2 {
        let node = Arc::new(node(&changing(), &url, 64));
        node.store().check().await.unwrap();
        for _ in 0..CALLERS {
            let (node, start) = (Arc::clone(&node), Arc::clone(&start));
            callers.spawn(async move {
                start.wait().await;
                admitted(&node, 4).await
            });
        }
    }
    let admitted: usize = callers.join_all().await.iter().sum();
    assert_eq!(admitted, 34, "64 less 30");
    let last = node(&after(), &url, 64);
    // On a cluster, what a group took for a request that another refused is given back after it.
    wait::until("all is given back", async || left(&last).await == [0; LIMITS]).await;
    wait::until("the previous names are forgotten", async || place.counters().await == LIMITS)
        .await;
    place.is_tidy().await;
}

async fn holds_at(place: &Place) {
    for test in 0..3 {
        match test {
            0 => is_carried_over_once(place).await,
            1 => is_never_added_up(place).await,
            _ => exactly_what_was_left_is_admitted(place).await,
        }
        for server in place.servers() {
            server.command(&["FLUSHALL"]).await;
        }
    }
}

#[tokio::test]
async fn t09_another_secret_carries_over_what_was_counted() {
    for flavour in Flavour::ALL {
        holds_at(&Place::one(flavour).await).await;
    }
}

#[tokio::test]
async fn t09_another_secret_carries_over_what_was_counted_on_a_cluster() {
    holds_at(&Place::many().await).await;
}

#[tokio::test]
async fn p91_a_ticket_of_the_secret_before_can_be_settled() {
    let place = Place::one(Flavour::Redis).await;
    let url = place.url();
    let (old, new) = (node(&before(), &url, 10), node(&changing(), &url, 10));
    let ticket = decide(&old).await.unwrap().1.unwrap();
    assert!(new.engine().settle(ticket.as_str(), 0).await.is_ok());
    assert!(new.engine().settle(ticket.as_str(), 0).await.is_err(), "once");
    // Before the counters were carried over, everything is given back.
    assert_eq!(left(&new).await[5], 10);
    let ticket = decide(&old).await.unwrap().1.unwrap();
    let stranger = node(&after(), &url, 10);
    assert!(stranger.engine().settle(ticket.as_str(), 0).await.is_err(), "it does not know it");
}

/// The third attempt on an account is blocked, for 15 seconds.
fn log() -> PolicySet {
    let log = Attempts::climbing(3, Span::MINUTE, Ladder::default()).unwrap();
    node::set(vec![limit(Dimension::Account, "log", Shape::Attempts(log))])
}

async fn operators_see_what_was_counted(place: &Place) {
    let url = place.url();
    let under = |secret: &Secret| Node::under(secret, &url, PATIENT, log());
    let (old, new) = (under(&before()), under(&changing()));
    assert_eq!(admitted(&old, 3).await, 2);
    let kept = with_case(&new, async |case| {
        let lasts = Span::from_secs(1);
        new.engine().block(case, None, lasts, None).await.unwrap().amended
    })
    .await;
    let left = kept.block.unwrap().until.since(kept.at);
    assert!(!kept.changed && left > Span::from_secs(5), "P92: {kept:?}");
    assert_eq!(admitted(&new, 1).await, 0);

    for server in place.servers() {
        server.command(&["FLUSHALL"]).await;
    }
    assert_eq!(admitted(&old, 3).await, 2);
    let lifted = with_case(&new, async |case| new.engine().unblock(case, None).await).await;
    assert!(lifted.unwrap()[0].amended.changed);
    assert_eq!(admitted(&new, 3).await, 2, "and the block does not come back");
    let reset = with_case(&new, async |case| new.engine().reset(case, None).await).await;
    assert!(reset.unwrap()[0].amended.changed);
    assert_eq!(admitted(&new, 1).await, 1);
    place.is_tidy().await;
}

#[tokio::test]
async fn p92_operators_see_what_was_counted_under_the_secret_before() {
    operators_see_what_was_counted(&Place::one(Flavour::Redis).await).await;
    operators_see_what_was_counted(&Place::many().await).await;
}

/// How often a script was called.
async fn calls(server: &RunningServer) -> u64 {
    let stats = server.text(&["INFO", "commandstats"]).await;
    let line = stats.lines().find_map(|line| line.strip_prefix("cmdstat_evalsha:calls="));
    line.map_or(0, |line| line.split(',').next().unwrap().parse().unwrap())
}

#[tokio::test]
async fn what_has_the_same_name_under_both_costs_nothing() {
    let Place::One(server) = Place::one(Flavour::Redis).await else { panic!("one server") };
    let url = place::url(server.addr());
    for (policies, more) in [(node::three(9), 0), (policies(9), 1)] {
        for (secret, expected) in [(after(), 1), (changing(), 1 + more)] {
            let node = Node::under(&secret, &url, PATIENT, policies.clone());
            assert_eq!(admitted(&node, 1).await, 1);
            let before = calls(&server).await;
            assert_eq!(admitted(&node, 1).await, 1);
            assert_eq!(calls(&server).await - before, expected);
        }
    }
}

#[tokio::test]
async fn r17_without_the_right_to_look_nothing_is_decided() {
    let server = place::server().await;
    let url = place::url(server.addr());
    assert_eq!(admitted(&node(&before(), &url, 10), 4).await, 4);
    let new = node(&changing(), &url, 10);
    assert!(matches!(decide(&new).await, Err(StoreError::Refused)));
    server.command(&["ACL", "SETUSER", "tidegate", "+pttl"]).await;
    assert_eq!(
        left(&new).await,
        [6; LIMITS],
        "and without the right to delete, both names are there"
    );
    assert_eq!(admitted(&new, 9).await, 6);
    assert_eq!(left(&new).await, [0; LIMITS]);
}

#[tokio::test]
async fn r19_what_cannot_be_read_under_the_previous_name_is_told() {
    let Place::One(server) = Place::one(Flavour::Redis).await else { panic!("one server") };
    let url = place::url(server.addr());
    assert_eq!(admitted(&node(&before(), &url, 10), 4).await, 4);
    let found = server.command(&["KEYS", "r?:{ip:*"]).await;
    let [key] = &redis::from_redis_value::<Vec<String>>(found).unwrap()[..] else { panic!("one") };
    server.command(&["DEL", key]).await;
    assert_eq!(server.command(&["RPUSH", key, "no counter"]).await, Value::Int(1));
    let new = node(&changing(), &url, 10);
    let corrupt = StoreError::Corrupt { charge: 1 };
    assert_eq!(decide(&new).await.unwrap_err(), corrupt);
    server.command(&["DEL", key]).await;
    assert_eq!(left(&new).await, [6, 10, 6, 6, 6, 6], "the others are not concerned");
}

/// What the server keeps of the fleet's secret, and for how long.
async fn kept(server: &RunningServer) -> (String, i64) {
    let value = server.text(&["GET", "tg:secret"]).await;
    let Value::Int(left) = server.command(&["PTTL", "tg:secret"]).await else { panic!("no time") };
    (value, left)
}

#[tokio::test]
async fn a_node_with_another_secret_than_the_fleet_is_noticed() {
    let server = place::server().await;
    let url = place::url(server.addr());
    let shares = async |secret: &Secret| node(secret, &url, 5).store().shares_secret().await;
    assert_eq!(shares(&before()).await, Ok(true), "the first one is right");
    let (value, left) = kept(&server).await;
    assert!(value.len() == 8 && value.bytes().all(|byte| byte.is_ascii_hexdigit()), "{value}");
    assert!((1..=600_000).contains(&left), "{left} ms");
    let other = Secret::try_new("the secret of another fleet").unwrap();
    assert_eq!(shares(&other).await, Ok(false));
    assert_eq!(shares(&before()).await, Ok(true));
    // While the secret is being changed, who knows the one before is right, and who does not is not.
    assert_eq!(shares(&changing()).await, Ok(true));
    assert_eq!(shares(&after()).await, Ok(false));
    assert_eq!(kept(&server).await.0, value, "nobody replaces it");
    // Nobody without the new one has come for ten minutes.
    server.command(&["DEL", "tg:secret"]).await;
    assert_eq!(shares(&changing()).await, Ok(true));
    assert_ne!(kept(&server).await.0, value);
    assert_eq!(shares(&after()).await, Ok(true));
    assert_eq!(shares(&before()).await, Ok(false));
}

#[tokio::test]
async fn secrets_are_compared_on_a_cluster_too() {
    let cluster = place::cluster(3, 0, Flavour::Redis).await;
    let url = place::cluster_url(&cluster);
    assert_eq!(node(&before(), &url, 5).store().shares_secret().await, Ok(true));
    assert_eq!(node(&after(), &url, 5).store().shares_secret().await, Ok(false));
}

#[tokio::test]
async fn a_value_that_is_kept_is_kept_for_longer() {
    let server = place::server().await;
    let node = node(&before(), &place::url(server.addr()), 5);
    assert_eq!(node.store().shares_secret().await, Ok(true));
    let (value, _) = kept(&server).await;
    server.command(&["SET", "tg:secret", &value, "PX", "1000"]).await;
    assert_eq!(node.store().shares_secret().await, Ok(true));
    assert!(kept(&server).await.1 > 500_000);
}
