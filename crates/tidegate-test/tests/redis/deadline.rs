//! P09: a decision is over by the deadline of its policy, whatever the servers do and however many
//! of them it takes.

use core::time::Duration;

use tidegate_core::{Dimension, Span, StoreError};
use tidegate_test::proxy::Proxy;
use tidegate_test::servers::{Flavour, RunningCluster, RunningServer, wait};

use crate::node::{Node, PATIENT, PLENTY, limit, quota, set_within};
use crate::place;
use crate::trial::Trial;

/// What a busy machine takes to wake a task, and far less than the timeout of the targets here.
const MARGIN: Duration = Duration::from_millis(900);

/// Two counters, which a cluster keeps apart: first that of the organisation.
fn two(url: &str, timeout: Duration, deadline: Duration) -> Node {
    let limits = vec![
        limit(Dimension::Org, "first", quota(PLENTY)),
        limit(Dimension::Account, "second", quota(PLENTY)),
    ];
    Node::with(url, timeout, set_within(Span::from(deadline), limits))
}

#[tokio::test]
async fn p09_a_silent_server_is_waited_for_until_the_deadline_of_the_policy() {
    const DEADLINE: Duration = Duration::from_millis(150);
    let server = place::server().await;
    let proxy = Proxy::start(server.addr()).await;
    let url = place::url(proxy.addr());
    let mut trial = Trial::unproven(two(&url, PATIENT, DEADLINE));
    // Connecting may take longer than that on a busy machine; it goes on by itself.
    trial.recovers().await;
    proxy.blackhole(true);
    for _ in 0..3 {
        let begin = trial.now();
        assert_eq!(trial.call().await, Err(StoreError::Timeout), "it may have been counted");
        let took = trial.since(begin);
        assert!((DEADLINE..DEADLINE + MARGIN).contains(&took), "{took:?}");
        assert!(
            trial.node.trouble().contains("no answer within 150ms"),
            "{}",
            trial.node.trouble()
        );
    }
    let begin = trial.now();
    trial.node.left("acme").await.unwrap_err();
    assert!(trial.since(begin) < DEADLINE + MARGIN, "a look has the same deadline");
    proxy.blackhole(false);
    trial.recovers().await;
    // Nobody who was late has taken the connection along.
    assert_eq!(proxy.connections(), 1);
}

#[tokio::test]
async fn p09_a_connection_that_takes_longer_than_the_deadline_is_there_for_the_next() {
    const DEADLINE: Duration = Duration::from_millis(100);
    let server = place::server().await;
    let proxy = Proxy::start(server.addr()).await;
    proxy.delay_down(DEADLINE * 3);
    let mut trial = Trial::unproven(two(&place::url(proxy.addr()), PATIENT, DEADLINE));
    let begin = trial.now();
    assert_eq!(trial.call().await, Err(StoreError::Timeout));
    assert!(trial.since(begin) < DEADLINE + MARGIN);
    proxy.delay_down(Duration::ZERO);
    trial.recovers().await;
    assert_eq!(proxy.connections(), 1);
}

#[tokio::test]
async fn p09_the_timeout_of_the_target_holds_where_it_is_shorter() {
    const TIMEOUT: Duration = Duration::from_millis(150);
    let server = place::server().await;
    let mut trial = Trial::unproven(two(&place::url(server.addr()), TIMEOUT, PATIENT / 5));
    trial.recovers().await;
    server.pause();
    let begin = trial.now();
    assert_eq!(trial.call().await, Err(StoreError::Timeout));
    assert!(trial.since(begin) < TIMEOUT + MARGIN);
    server.resume();
}

/// An organisation whose two counters lie on different servers, and those.
async fn apart<'c>(
    cluster: &'c RunningCluster,
    node: &Node,
) -> (String, &'c RunningServer, &'c RunningServer) {
    for number in 0..50 {
        let org = format!("o{number}");
        assert_eq!(node.decide(&org).await, Ok(true), "{}", node.trouble());
        let first = cluster.master_of_key(&format!("{{{org}}}")).await;
        let mut second = None;
        for master in cluster.masters() {
            let keys: Vec<String> =
                redis::from_redis_value(master.command(&["KEYS", "*second*"]).await).unwrap();
            if !keys.is_empty() {
                second = Some(master);
            }
            master.command(&["FLUSHALL"]).await;
        }
        let second = second.expect("it was counted somewhere");
        if first.port() != second.port() {
            return (org, first, second);
        }
    }
    unreachable!("fifty organisations, each on one server by chance of one in three")
}

#[tokio::test]
async fn p09_all_groups_of_a_decision_have_one_deadline() {
    const DEADLINE: Duration = Duration::from_millis(1_500);
    let cluster = place::cluster(3, 0, Flavour::Redis).await;
    let url = place::cluster_url(&cluster);
    let node = two(&url, PATIENT, DEADLINE);
    let (org, first, second) = apart(&cluster, &node).await;
    assert_eq!(node.decide(&org).await, Ok(true));

    first.pause();
    second.pause();
    let trial = Trial::unproven(two(&url, PATIENT, DEADLINE));
    let begin = trial.now();
    // The first group takes most of the time there is; the second gets what is left of it.
    let late = async {
        let is_late = async || trial.since(begin) >= DEADLINE * 4 / 5;
        wait::until("most of the deadline has passed", is_late).await;
        first.resume();
    };
    let (outcome, ()) = tokio::join!(node.decide(&org), late);
    let took = trial.since(begin);
    assert_eq!(outcome, Err(StoreError::Timeout));
    assert!((DEADLINE..DEADLINE + MARGIN).contains(&took), "{took:?}");
    second.resume();

    // What the first has taken stays counted: nobody knows what the second has done.
    let counted = Node::counted(&two(&url, PATIENT, PATIENT / 5), &org).await;
    assert_eq!(counted[0], 2, "{counted:?}");
    assert!((1..=2).contains(&counted[1]), "{counted:?}");
    assert_eq!(node.decide(&org).await, Ok(true), "{}", node.trouble());
}
