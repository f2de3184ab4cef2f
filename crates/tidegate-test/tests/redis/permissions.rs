//! T42: the user of `docs/stores.md` can do what is needed, and nothing else.

use redis::aio::MultiplexedConnection;
use tidegate_core::{
    Amendment, Attempts, Case, CounterRef, Ladder, Page, PolicySet, Shape, Span, Store as _,
    StoreError, Subject,
};
use tidegate_engine::SettleError;
use tidegate_test::drive::digests;
use tidegate_test::servers::{Flavour, RunningServer};

use crate::node::{Node, PATIENT, policies, quota};
use crate::place;

/// Everything the store does: on new keys and on old ones, looking, giving back, taking more.
async fn exercise(node: &Node) -> Result<(), StoreError> {
    node.store().check().await.map_err(|_| StoreError::Refused)?;
    node.probe().await?;
    for org in ["a", "b", "a"] {
        let (set, subject) =
            (std::sync::Arc::clone(&node.engine().policies()), Subject::new().org(org));
        let mut case = Case::new(&set.policies()[0], &subject);
        let decision = node.engine().decide_by_store(&mut case).await?;
        let ticket = node.engine().ticket(&decision).expect("its limits settle");
        node.left(org).await?;
        for (weight, again) in [(if org == "b" { 0 } else { 3 }, false), (1, true)] {
            match node.engine().settle(ticket.as_str(), weight).await {
                Err(SettleError::Store(error)) => return Err(error),
                settled => assert_eq!(settled.is_err(), again, "{settled:?}"),
            }
        }
    }
    operate(node).await
}

/// What operators do: blocks one, sees it in the list, lifts it, and forgets it.
async fn operate(node: &Node) -> Result<(), StoreError> {
    let set = log();
    let subject = Subject::new().org("a");
    let mut case = Case::new(&set.policies()[0], &subject);
    case.resolve(&digests());
    let charge = case.batch().charges()[0];
    let counter = CounterRef::Of(charge, case.batch().key(&charge));
    let block = Amendment::Block { lasts: Span::MINUTE, level: None };
    for (amendment, count) in [(block, 1), (Amendment::Unblock, 0), (Amendment::Reset, 0)] {
        assert!(
            node.store().amend(counter, amendment, Span::SECOND).await?.changed,
            "{amendment:?}"
        );
        let (mut listed, mut after) = (0, None::<String>);
        loop {
            let page = Page { after: after.as_deref(), at_most: 1_000 };
            let blocks = node.store().blocks(page, Span::SECOND).await?;
            listed += blocks.list.len();
            match blocks.next {
                Some(next) => after = Some(next),
                None => break,
            }
        }
        assert_eq!(listed, count, "{amendment:?}");
    }
    Ok(())
}

fn log() -> PolicySet {
    let log = Attempts::climbing(5, Span::MINUTE, Ladder::default()).unwrap();
    policies([("login", Shape::Attempts(log))])
}

/// A server whose user lacks one of the rights.
async fn without(right: &str) -> RunningServer {
    let rules = place::rules().iter().filter(|rule| *rule != right).cloned();
    RunningServer::builder().args(["--user", "tidegate"]).args(rules).start().await
}

fn rights() -> impl Iterator<Item = &'static String> {
    place::rules().iter().filter(|rule| rule.starts_with('+'))
}

/// Those that only a cluster needs.
fn is_of_cluster(right: &str) -> bool {
    ["+cluster|slots", "+asking"].contains(&right)
}

#[tokio::test]
async fn t42_the_line_of_the_document_is_enough() {
    for flavour in Flavour::ALL {
        let server = place::builder().flavour(flavour).start().await;
        for database in ["", "/1"] {
            let url = format!("{}{database}", place::url(server.addr()));
            assert_eq!(exercise(&Node::new(&url, PATIENT)).await, Ok(()), "{flavour:?}");
        }
    }
    let cluster = place::cluster(3, 0, Flavour::Redis).await;
    assert_eq!(exercise(&Node::new(&place::cluster_url(&cluster), PATIENT)).await, Ok(()));
}

#[tokio::test]
async fn t42_every_right_of_the_line_is_needed() {
    for right in rights().filter(|right| !is_of_cluster(right)) {
        let server = without(right).await;
        let node = Node::new(&format!("{}/1", place::url(server.addr())), PATIENT);
        assert_eq!(exercise(&node).await, Err(StoreError::Refused), "{right}");
    }
    let server = without("+select").await;
    let node = Node::new(&place::url(server.addr()), PATIENT);
    assert_eq!(exercise(&node).await, Ok(()), "database 0 need not be selected");
}

#[tokio::test]
async fn t42_a_cluster_needs_two_more() {
    let cluster = place::cluster(3, 0, Flavour::Redis).await;
    let url = place::cluster_url(&cluster);
    let change = async |rule: &str| {
        for node in cluster.nodes() {
            node.command(&["ACL", "SETUSER", "tidegate", rule]).await;
        }
    };
    change("-cluster|slots").await;
    let refused = Node::new(&url, PATIENT).store().check().await.unwrap_err();
    assert!(refused.is_refusal() && refused.to_string().contains("+cluster|slots"), "{refused}");
    change("+cluster|slots").await;
    // ASKING is said where a slot is on its way and the key is not there any more.
    let slot = cluster.slot_of("{a}").await;
    let from = cluster.node_of_slot(slot).await;
    let to = cluster.masters().iter().find(|node| node.port() != from.port()).unwrap();
    cluster.move_slot_begin(slot, to).await;
    // With one limit: several new keys would have to wait until the slot has moved.
    let node = Node::with(&url, PATIENT, policies([("quota", quota(9))]));
    assert_eq!(node.decide("a").await, Ok(true));
    change("-asking").await;
    assert!(node.decide("a").await.is_err(), "{}", node.trouble());
    change("+asking").await;
    assert_eq!(node.decide("a").await, Ok(true));
}

/// A connection of the user, to do what the store never does.
async fn as_the_user(server: &RunningServer) -> MultiplexedConnection {
    let client = redis::Client::open(place::url(server.addr())).unwrap();
    client.get_multiplexed_async_connection().await.unwrap()
}

#[tokio::test]
async fn t42_nothing_else_is_allowed() {
    let server = place::server().await;
    server.command(&["SET", "other", "1"]).await;
    let mut user = as_the_user(&server).await;
    for line in [
        "GET other",
        "SET other 2",
        "DEL other",
        "GETRANGE other 0 1",
        "KEYS *",
        "HSCAN other 0",
        "FLUSHALL",
        "CONFIG GET *",
        "ACL LIST",
        "SCRIPT FLUSH",
        "DEBUG SLEEP 0",
        "MONITOR",
        "REPLICAOF NO ONE",
        "PUBLISH a b",
        "CLIENT LIST",
        "EVAL return(redis.call('GET','other')) 0",
        "EVAL return(redis.call('GET',KEYS[1])) 1 other",
        "EVAL return(redis.call('KEYS','*')) 0",
    ] {
        let mut command = redis::Cmd::new();
        line.split(' ').for_each(|word| {
            command.arg(word);
        });
        let answer = command.query_async::<redis::Value>(&mut user).await;
        let error = answer.expect_err(line).to_string();
        let refused = ["NOPERM", "permission", "can't"].iter().any(|word| error.contains(word));
        assert!(refused, "{line}: {error}");
    }
    assert_eq!(server.text(&["GET", "other"]).await, "1");
}
