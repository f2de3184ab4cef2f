//! A cluster whose slots move and whose masters fail.

use core::time::Duration;

use redis::Value;
use tidegate_core::StoreError;
use tidegate_test::servers::{Flavour, RunningCluster, wait};

use super::super::{Changes, Servers, Topology};
use super::{PATIENT, count, count_at_last, integer, servers, trouble};
use crate::redis::scripts::Script;

async fn start(replicas: usize, timeout: Duration) -> (RunningCluster, Servers) {
    let cluster = RunningCluster::start(3, replicas, Flavour::Redis).await;
    let servers = servers(&format!("redis+cluster://{}", cluster.nodes()[0].addr()), timeout);
    (cluster, servers)
}

/// Two keys of one slot, and the two masters that it is moved between.
const KEY: &str = "{acct}:a";
const OTHER: &str = "{acct}:b";

async fn pair(servers: &Servers) -> Result<i64, StoreError> {
    let both = Script::new("return redis.call('INCR', KEYS[1]) + redis.call('INCR', KEYS[2])");
    servers.run(&both, &[KEY, OTHER], b"", integer).await
}

/// Commands that ran a script, by the word of the server itself.
async fn scripts_run(cluster: &RunningCluster) -> u64 {
    let mut total = 0;
    for node in cluster.masters() {
        let stats = node.text(&["INFO", "commandstats"]).await;
        for line in stats.lines().filter(|line| line.starts_with("cmdstat_incrby:calls=")) {
            total += line[21..].split(',').next().unwrap().parse::<u64>().unwrap();
        }
    }
    total
}

#[tokio::test]
async fn every_slot_finds_its_owner() {
    let (cluster, servers) = start(0, PATIENT).await;
    assert!(servers.is_cluster());
    assert_eq!(servers.check().await, Ok(()));
    for key in 0..300 {
        assert_eq!(count(&servers, &format!("k{key}")).await, Ok(1));
    }
    assert_eq!(scripts_run(&cluster).await, 300);
    for node in cluster.masters() {
        assert_ne!(node.command(&["DBSIZE"]).await, Value::Int(0));
        let redirected = node.text(&["INFO", "errorstats"]).await;
        assert!(!redirected.contains("MOVED"), "{redirected}");
    }
    let across = Script::new("return 1");
    let crossed = servers.run(&across, &["a", "b"], b"", integer).await;
    assert_eq!(crossed, Err(StoreError::Refused));
}

#[tokio::test]
async fn p74_a_slot_on_its_way_is_asked_for_and_then_moved() {
    let (cluster, servers) = start(0, PATIENT).await;
    assert_eq!(count(&servers, KEY).await, Ok(1));
    let slot = cluster.slot_of(KEY).await;
    let from = cluster.node_of_slot(slot).await;
    let to = cluster.masters().iter().find(|node| node.port() != from.port()).unwrap();
    cluster.move_slot_begin(slot, to).await;
    assert_eq!(count(&servers, KEY).await, Ok(2), "still where it was");
    assert_eq!(count(&servers, OTHER).await, Ok(1), "new ones go where the slot goes: ASK");
    assert_eq!(pair(&servers).await, Err(StoreError::Unavailable), "half here, half there");
    cluster.migrate_key(KEY, to).await;
    assert_eq!(count(&servers, KEY).await, Ok(3), "ASK, and its script is not known there");
    assert_eq!(pair(&servers).await, Ok(4 + 2), "both there");
    to.command(&["SCRIPT", "FLUSH"]).await;
    assert_eq!(count(&servers, KEY).await, Ok(5), "ASK and NOSCRIPT");
    cluster.move_slot_end(slot, to).await;
    assert_eq!(count(&servers, KEY).await, Ok(6), "MOVED");
    for round in 7..20 {
        assert_eq!(count(&servers, KEY).await, Ok(round));
    }
    let redirects = from.text(&["INFO", "errorstats"]).await;
    assert!(redirects.contains("errorstat_MOVED:count=1\r\n"), "noted at once: {redirects}");
    assert_eq!(servers.changes(), Changes::default(), "nobody failed");
}

#[tokio::test]
async fn a_master_that_is_killed_is_followed_by_its_replica() {
    let (cluster, servers) = start(1, Duration::from_secs(1)).await;
    assert_eq!(count(&servers, KEY).await, Ok(1));
    let slot = cluster.slot_of(KEY).await;
    let old = cluster.node_of_slot(slot).await;
    old.kill();
    let lost = count(&servers, KEY).await.unwrap_err();
    assert!(matches!(lost, StoreError::Unavailable | StoreError::Timeout), "{lost:?}");
    let new = cluster.successor(slot, old).await;
    let counted = count_at_last(&servers, KEY).await;
    assert_eq!(new.text(&["GET", KEY]).await, counted.to_string());
    wait::until("the failover is noticed", async || servers.changes().failovers == 1).await;
    // It comes back as a replica, which is no failover.
    old.restart().await;
    for _ in 0..10 {
        count(&servers, KEY).await.unwrap();
        let Topology::Cluster(cluster) = &servers.topology else { unreachable!("a cluster") };
        cluster.look_again();
        wait::pause(Duration::from_millis(50)).await;
    }
    assert_eq!(servers.changes().failovers, 1);
}

#[tokio::test]
async fn a_cluster_that_is_down_says_so_and_comes_back() {
    let (cluster, servers) = start(0, Duration::from_secs(1)).await;
    assert_eq!(count(&servers, KEY).await, Ok(1));
    let owner = cluster.master_of_key(KEY).await;
    let other = cluster.masters().iter().find(|node| node.port() != owner.port()).unwrap();
    other.kill();
    wait::until("CLUSTERDOWN", async || {
        let _ = count(&servers, KEY).await;
        trouble(&servers).contains("CLUSTERDOWN")
    })
    .await;
    assert_eq!(count(&servers, KEY).await, Err(StoreError::Unavailable));
    other.restart().await;
    count_at_last(&servers, KEY).await;
}

#[tokio::test]
async fn a_stopped_node_does_not_stop_the_others() {
    let (cluster, servers) = start(0, Duration::from_millis(500)).await;
    let stopped = cluster.master_of_key(KEY).await;
    let mut key = 0;
    let elsewhere = loop {
        let name = format!("k{key}");
        if cluster.master_of_key(&name).await.port() != stopped.port() {
            break name;
        }
        key += 1;
    };
    assert_eq!(count(&servers, KEY).await, Ok(1));
    assert_eq!(count(&servers, &elsewhere).await, Ok(1));
    stopped.pause();
    assert_eq!(count(&servers, KEY).await, Err(StoreError::Timeout));
    assert_eq!(count(&servers, KEY).await, Err(StoreError::Unavailable));
    assert_eq!(count(&servers, &elsewhere).await, Ok(2));
    stopped.resume();
    count_at_last(&servers, KEY).await;
}

#[tokio::test]
async fn any_node_that_is_left_tells_the_way() {
    let (cluster, _) = start(1, PATIENT).await;
    // A replica and a port where nobody is: enough to find everybody.
    let gone = tidegate_test::servers::port::Port::free();
    let replica = cluster.nodes().last().unwrap();
    let url = format!("redis+cluster://{},{}", gone.addr(), replica.addr());
    let servers = servers(&url, PATIENT);
    for key in 0..50 {
        assert_eq!(count(&servers, &format!("k{key}")).await, Ok(1));
    }
    assert_eq!(servers.changes(), Changes::default());
}

#[tokio::test]
async fn a_node_that_was_restarted_is_noticed() {
    let (cluster, servers) = start(0, PATIENT).await;
    assert_eq!(count(&servers, KEY).await, Ok(1));
    let owner = cluster.master_of_key(KEY).await;
    owner.restart().await;
    assert_eq!(count_at_last(&servers, KEY).await, 1);
    assert_eq!(servers.changes(), Changes { restarts: 1, failovers: 0 });
}

#[tokio::test]
async fn a_server_that_is_no_cluster_is_a_mistake() {
    let server = tidegate_test::servers::RunningServer::start().await;
    let servers = servers(&format!("redis+cluster://{}", server.addr()), PATIENT);
    assert_eq!(count(&servers, "k").await, Err(StoreError::Refused));
    assert!(trouble(&servers).contains("write redis://"), "{}", trouble(&servers));
}

#[tokio::test]
async fn an_evicting_node_is_refused() {
    let (cluster, servers) = start(0, PATIENT).await;
    let node = cluster.master_of_key(KEY).await;
    node.command(&["CONFIG", "SET", "maxmemory-policy", "allkeys-lfu"]).await;
    let trouble = servers.check().await.unwrap_err();
    assert!(trouble.is_refusal() && trouble.to_string().contains("allkeys-lfu"), "{trouble}");
    assert_eq!(count(&servers, KEY).await, Err(StoreError::Refused));
}
