//! P69, P70: exactly as many as the limit, however many ask at once, and all of a batch or nothing.

use std::sync::Arc;

use tidegate_core::{Dimension, PolicySet, Shape};
use tidegate_test::servers::{Flavour, RunningServer, wait};
use tidegate_test::twelve;

use crate::node::{Node, PATIENT, bucket, limit, policies, quota, set, window};
use crate::place;

/// Processes that ask at once, and how often each does.
const NODES: usize = 32;
const CALLS: usize = 20;

/// Asks from many connections at once; tells how many were admitted.
async fn race(url: &str, policies: impl Fn() -> PolicySet, org: &str) -> u64 {
    let mut nodes = tokio::task::JoinSet::new();
    let start = Arc::new(tokio::sync::Barrier::new(NODES));
    for _ in 0..NODES {
        let (node, start) = (Node::with(url, PATIENT, policies()), Arc::clone(&start));
        let org = org.to_owned();
        nodes.spawn(async move {
            node.store().check().await.unwrap();
            start.wait().await;
            let mut admitted = 0;
            for _ in 0..CALLS {
                admitted += u64::from(node.decide(&org).await.unwrap());
            }
            admitted
        });
    }
    nodes.join_all().await.iter().sum()
}

/// What each limit has counted, by the word of a node that took no part.
async fn counted(url: &str, policies: PolicySet, org: &str) -> Vec<u64> {
    Node::with(url, PATIENT, policies).counted(org).await
}

async fn exactly_the_limit(url: &str) {
    // A window of up to 64 is kept as times, a larger one as counts.
    let shapes: [(&str, Shape, u64); 4] = [
        ("bucket", bucket(100), 100),
        ("window", window(100), 100),
        ("ring", window(64), 64),
        ("quota", quota(100), 100),
    ];
    for (name, shape, limit) in shapes {
        let alone = || policies([(name, shape.clone())]);
        assert_eq!(race(url, alone, "acme").await, limit, "{name}");
        assert_eq!(counted(url, alone(), "acme").await, [limit], "{name}");
    }
}

async fn all_or_nothing(url: &str) {
    let several = || {
        let limits = [("bucket", bucket(500)), ("narrow", window(90)), ("ring", window(64))];
        policies(limits.into_iter().chain([("quota", quota(400))]))
    };
    assert_eq!(race(url, several, "batch").await, 64);
    assert_eq!(counted(url, several(), "batch").await, [64; 4], "the others count what passed");
}

/// As many limits as there can be, of every shape, in both orders: the ninth request is the last.
async fn twelve_limits(url: &str) {
    for (is_reversed, org) in [(false, "twelve"), (true, "reversed")] {
        let node = Node::with(url, PATIENT, twelve::policies(9, is_reversed));
        let mut admitted = Vec::new();
        for _ in 0..11 {
            admitted.push(node.decide(org).await.unwrap());
        }
        assert_eq!(admitted, [[true; 9].as_slice(), &[false; 2]].concat());
        assert_eq!(node.left(org).await.unwrap().len(), 12);
    }
}

async fn holds_on(flavour: Flavour) {
    let server = place::builder().flavour(flavour).start().await;
    let url = place::url(server.addr());
    exactly_the_limit(&url).await;
    all_or_nothing(&url).await;
    twelve_limits(&url).await;
    assert_eq!(place::left_for_ever(&[&server]).await, Vec::<String>::new());
}

#[tokio::test]
async fn p69_p70_exactly_the_limit_on_redis() {
    holds_on(Flavour::Redis).await;
}

#[tokio::test]
async fn p69_p70_exactly_the_limit_on_valkey_8() {
    holds_on(Flavour::Valkey8).await;
}

#[tokio::test]
async fn p69_p70_exactly_the_limit_on_valkey_9() {
    holds_on(Flavour::Valkey9).await;
}

/// Two groups: the first has room for all, and gives back what the second refuses.
async fn nothing_is_kept_of_what_another_group_refuses(url: &str) {
    let groups = || {
        let shapes =
            [("bucket", bucket(5_000)), ("window", window(5_000)), ("quota", quota(5_000))];
        let roomy = shapes.map(|(name, shape)| limit(Dimension::Org, name, shape));
        set(roomy.into_iter().chain([limit(Dimension::Account, "narrow", window(64))]).collect())
    };
    assert_eq!(race(url, groups, "groups").await, 64);
    let node = Node::with(url, PATIENT, groups());
    // In the background, and never more than was taken.
    wait::until("all is given back", async || {
        let counted = node.counted("groups").await;
        assert!(counted.iter().all(|count| *count >= 64), "{counted:?}");
        counted == [64; 4]
    })
    .await;
}

#[tokio::test]
async fn p69_p70_exactly_the_limit_on_a_cluster() {
    let cluster = place::cluster(3, 0, Flavour::Redis).await;
    let url = place::cluster_url(&cluster);
    exactly_the_limit(&url).await;
    all_or_nothing(&url).await;
    nothing_is_kept_of_what_another_group_refuses(&url).await;
    let nodes: Vec<&RunningServer> = cluster.nodes().iter().collect();
    assert_eq!(place::left_for_ever(&nodes).await, Vec::<String>::new());
}
