//! P75: two nodes on a cluster, and a master that dies under their load.

use core::time::Duration;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tidegate_core::{Clock as _, Store as _};
use tidegate_engine::SystemClock;
use tidegate_test::servers::{Flavour, RunningCluster, RunningServer, wait};

use crate::node::{Node, three};
use crate::place;
use crate::table::Row;

const LIMIT: u64 = 200;
const ORGS: usize = 12;

/// What the two nodes have done, by organisation.
#[derive(Default)]
struct Books {
    admitted: [AtomicU64; ORGS],
    stop: AtomicBool,
}

fn org(number: usize) -> String {
    format!("org{number}")
}

/// Asks for one organisation after the other until it is told to stop.
async fn load(node: Arc<Node>, books: Arc<Books>) {
    while !books.stop.load(Ordering::Relaxed) {
        for number in 0..ORGS {
            if let Ok(true) = node.decide(&org(number)).await {
                books.admitted[number].fetch_add(1, Ordering::Relaxed);
            }
            wait::pause(Duration::from_millis(1)).await;
        }
    }
}

/// Which organisations a master counts.
async fn counted_by(cluster: &RunningCluster, master: &RunningServer) -> Vec<usize> {
    let mut found = Vec::new();
    for number in 0..ORGS {
        let owner = cluster.master_of_key(&format!("{{{}}}", org(number))).await;
        if owner.port() == master.port() {
            found.push(number);
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r25c_p75_a_master_dies_under_the_load_of_two_nodes() {
    let cluster = place::cluster(3, 1, Flavour::Redis).await;
    let url = place::cluster_url(&cluster);
    let node = || Arc::new(Node::with(&url, Duration::from_secs(1), three(LIMIT)));
    let (nodes, books) = ([node(), node()], Arc::new(Books::default()));
    let loads: Vec<_> =
        nodes.iter().map(|node| tokio::spawn(load(Arc::clone(node), Arc::clone(&books)))).collect();
    let admitted = |number: usize| books.admitted[number].load(Ordering::Relaxed);
    wait::until("some of each are admitted", async || (0..ORGS).all(|it| admitted(it) > 20)).await;
    let victim = cluster.master_of_key(&format!("{{{}}}", org(0))).await;
    let affected = counted_by(&cluster, victim).await;
    let (clock, before) = (SystemClock::new(), admitted(0));
    let begin = clock.now();
    victim.kill();
    // Beyond one call of each node that may have been under way.
    wait::until("it is decided again", async || admitted(0) > before + 2).await;
    let back = Duration::from_micros(clock.now().since(begin).as_micros());
    let newcomer = Node::with(&url, Duration::from_secs(1), three(LIMIT));
    wait::until("all are used up", async || {
        for number in 0..ORGS {
            match newcomer.left(&org(number)).await {
                Ok(left) if left.contains(&0) => {}
                _ => return false,
            }
        }
        true
    })
    .await;
    books.stop.store(true, Ordering::Relaxed);
    for load in loads {
        load.await.unwrap();
    }
    for number in 0..ORGS {
        let (all, fresh) = (admitted(number), u64::from(affected.contains(&number)));
        assert!(all <= LIMIT * (1 + fresh), "{}: {all} of {LIMIT}", org(number));
        println!(
            "{}: {all} of {LIMIT}{}",
            org(number),
            [", affected", ""][usize::from(fresh == 0)]
        );
    }
    for node in &nodes {
        wait::until("noticed", async || node.store().changes().failovers == 1).await;
    }
    let left: Vec<&RunningServer> = cluster.nodes().iter().collect();
    assert_eq!(place::left_for_ever(&left).await, Vec::<String>::new());
    println!("two nodes, a master killed: decided again after {back:?}");
    Row {
        id: "R25c",
        fault: "Cluster: a master dies under load, its replica takes over",
        seen: "errors for its keys, then decisions: at most one fresh limit for each of its keys"
            .to_owned(),
        then: "the new master is found by itself; failover noticed by every node",
        back: Some(back),
    }
    .record();
}
