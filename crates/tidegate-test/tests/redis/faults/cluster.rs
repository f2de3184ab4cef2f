//! Slots move, and nodes go.

use core::time::Duration;

use redis::Value;
use tidegate_core::{Changes, Store as _, StoreError};
use tidegate_test::servers::{Flavour, RunningCluster, RunningServer, wait};

use crate::node::{Node, PATIENT, policies, quota};
use crate::place;
use crate::table::Row;
use crate::trial::{ORG, Trial};

/// The slot of all counters of [`ORG`].
async fn slot(cluster: &RunningCluster) -> u16 {
    cluster.slot_of(&format!("{{{ORG}}}")).await
}

#[tokio::test]
async fn r25_p74_a_slot_moves() {
    let cluster = place::cluster(3, 0, Flavour::Redis).await;
    let url = place::cluster_url(&cluster);
    let mut trial = Trial::begin(Node::new(&url, PATIENT)).await;
    let slot = slot(&cluster).await;
    let from = cluster.node_of_slot(slot).await;
    let to = cluster.masters().iter().find(|node| node.port() != from.port()).unwrap();
    cluster.move_slot_begin(slot, to).await;
    assert_eq!(trial.call().await, Ok(true), "all still where they were");
    let others = [("one", quota(9)), ("two", quota(9))];
    let new = |count| Node::with(&url, PATIENT, policies(others[..count].iter().cloned()));
    let several = new(2).decide(ORG).await;
    assert_eq!(several, Err(StoreError::Unavailable), "of several new keys none can be set yet");
    assert_eq!(new(1).decide(ORG).await, Ok(true), "one new key is set where the slot goes: ASK");
    let listed = from.command(&["CLUSTER", "GETKEYSINSLOT", &slot.to_string(), "10"]).await;
    let keys: Vec<String> = redis::from_redis_value(listed).unwrap();
    assert_eq!(keys.len(), 3, "{keys:?}");
    cluster.migrate_key(&keys[0], to).await;
    assert_eq!(trial.call().await, Err(StoreError::Unavailable), "half here, half there: TRYAGAIN");
    cluster.migrate_key(&keys[1], to).await;
    assert_eq!(trial.call().await, Err(StoreError::Unavailable));
    cluster.migrate_key(&keys[2], to).await;
    assert_eq!(trial.call().await, Ok(true), "ASK, and a script that is not known there");
    to.command(&["SCRIPT", "FLUSH"]).await;
    assert_eq!(trial.call().await, Ok(true), "ASK and NOSCRIPT");
    cluster.move_slot_end(slot, to).await;
    let back = trial.recovers().await;
    for _ in 0..10 {
        assert_eq!(trial.call().await, Ok(true));
    }
    let redirects = from.text(&["INFO", "errorstats"]).await;
    assert!(redirects.contains("errorstat_MOVED:count=1\r\n"), "noted at once: {redirects}");
    assert_eq!(trial.node.store().changes(), Changes::default(), "nobody has failed");
    let nodes: Vec<&RunningServer> = cluster.nodes().iter().collect();
    trial.balances(&url, &nodes).await;
    assert_eq!(from.command(&["DBSIZE"]).await, Value::Int(0), "nothing is left behind");
    Row {
        id: "R25",
        fault: "Cluster: a slot moves to another node (`ASK`, `TRYAGAIN`, `MOVED`)",
        seen: format!(
            "decisions; {} while the keys of one decision are apart or new",
            trial.seen()
        ),
        then: "redirects are followed within the same deadline; nothing is lost",
        back: Some(back),
    }
    .record();
}

#[tokio::test]
async fn r25b_a_cluster_that_is_down() {
    let cluster = place::cluster(3, 0, Flavour::Redis).await;
    let url = place::cluster_url(&cluster);
    let mut trial = Trial::begin(Node::new(&url, Duration::from_secs(2))).await;
    let owner = cluster.node_of_slot(slot(&cluster).await).await;
    let other = cluster.masters().iter().find(|node| node.port() != owner.port()).unwrap();
    other.kill();
    trial.until_it_fails().await;
    trial.fails(2).await;
    assert!(trial.node.trouble().contains("CLUSTERDOWN"), "{}", trial.node.trouble());
    other.restart().await;
    let back = trial.recovers().await;
    let nodes: Vec<&RunningServer> = cluster.nodes().iter().collect();
    wait::until("every node is well", async || {
        for node in &nodes {
            if !cluster.is_well(node).await {
                return false;
            }
        }
        true
    })
    .await;
    trial.balances(&url, &nodes).await;
    Row {
        id: "R25b",
        fault: "Cluster: a master is gone and has no replica (`CLUSTERDOWN`)",
        seen: trial.seen(),
        then: "when all slots are served again",
        back: Some(back),
    }
    .record();
}
