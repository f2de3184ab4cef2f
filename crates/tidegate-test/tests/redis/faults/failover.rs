//! Another server takes over, and may not know the latest counts.

use core::time::Duration;

use tidegate_core::{Changes, Store as _};
use tidegate_test::servers::{Sentinel, wait};

use crate::node::{Node, three};
use crate::place;
use crate::table::Row;
use crate::trial::Trial;

const TIMEOUT: Duration = Duration::from_secs(1);
const LIMIT: u64 = 60;

fn node(set: &Sentinel) -> Node {
    Node::with(&place::sentinel_url(set), TIMEOUT, three(LIMIT))
}

/// Spends what is left; tells how much was admitted.
async fn spend(trial: &mut Trial) -> u64 {
    let mut admitted = 0;
    while trial.call().await == Ok(true) {
        admitted += 1;
    }
    admitted
}

/// Waits until every replica has everything.
async fn in_step(set: &Sentinel) {
    wait::until("the replicas have caught up", async || {
        let offset = set.primary().info("master_repl_offset").await;
        for replica in set.replicas() {
            if replica.info("slave_repl_offset").await != offset {
                return false;
            }
        }
        true
    })
    .await;
}

#[tokio::test]
async fn r22_p75_a_replica_takes_over_without_the_latest_counts() {
    let set = place::sentinel(1, 3).await;
    let (primary, replica) = (set.primary(), &set.replicas()[0]);
    let mut trial = Trial::begin(node(&set)).await;
    for _ in 1..20 {
        assert_eq!(trial.call().await, Ok(true));
    }
    in_step(&set).await;
    replica.pause();
    // Or the kernel would still deliver what was written since.
    primary.command(&["CLIENT", "KILL", "TYPE", "replica"]).await;
    assert_eq!(spend(&mut trial).await, LIMIT - 20, "acknowledged, and nowhere else");
    primary.kill();
    replica.resume();
    let back = trial.recovers().await;
    // Forty were forgotten and are admitted again: less than one fresh limit.
    assert_eq!(1 + spend(&mut trial).await, LIMIT - 20);
    assert_eq!(trial.node.store().changes(), Changes { restarts: 0, failovers: 1 });
    assert_eq!(place::left_for_ever(&[replica]).await, Vec::<String>::new());
    Row {
        id: "R22",
        fault: "Sentinel: the primary dies, its replica had not got the latest writes",
        seen:
            "errors, then decisions that have forgotten those: at most one fresh limit for each key"
                .to_owned(),
        then: "the new primary is found by itself; failover noticed",
        back: Some(back),
    }
    .record();
}

#[tokio::test]
async fn r23_p75_two_primaries_for_a_while() {
    let set = place::sentinel(1, 3).await;
    let (old, new) = (set.primary(), &set.replicas()[0]);
    // One asks while the old primary hangs; the other slept and is still connected to it.
    let mut awake = Trial::begin(node(&set)).await;
    let mut asleep = Trial::begin(node(&set)).await;
    in_step(&set).await;
    old.pause();
    awake.until_it_fails().await;
    assert_eq!(set.successor(old).await.port(), new.port());
    awake.recovers().await;
    set.sentinels().iter().for_each(tidegate_test::servers::RunningServer::pause);
    old.resume();
    let twice = spend(&mut asleep).await;
    assert!((1..=LIMIT).contains(&twice), "{twice}: one fresh limit");
    assert_eq!(old.info("role").await.as_deref(), Some("master"), "it does not know better");
    set.sentinels().iter().for_each(tidegate_test::servers::RunningServer::resume);
    wait::until("the old primary is demoted", async || {
        old.info("role").await.as_deref() == Some("slave")
    })
    .await;
    // From here on it is not written: everything counts on the new one.
    let back = asleep.recovers().await;
    awake.recovers().await;
    let fresh = Node::with(&place::url(new.addr()), TIMEOUT, three(LIMIT));
    let before = fresh.counted(crate::trial::ORG).await[0];
    for trial in [&mut awake, &mut asleep] {
        assert!(trial.call().await.is_ok());
    }
    let admitted = (LIMIT - before).min(2);
    assert_eq!(fresh.counted(crate::trial::ORG).await, [before + admitted; 3]);
    assert_eq!(awake.node.store().changes().failovers, 1);
    assert_eq!(asleep.node.store().changes().failovers, 1);
    assert_eq!(place::left_for_ever(&[old, new]).await, Vec::<String>::new());
    Row {
        id: "R23",
        fault: "Sentinel: the old primary comes back and does not know yet that it was replaced",
        seen: "decisions; nodes still connected to it count there, at most one fresh limit for each key"
            .to_owned(),
        then: "once it is demoted nobody writes to it any more; failover noticed",
        back: Some(back),
    }
    .record();
}

#[tokio::test]
async fn r24_an_old_primary_without_replicas_does_not_write() {
    // Two replicas, so that the new primary still has one.
    let careful = ["--min-replicas-to-write", "1", "--min-replicas-max-lag", "1"];
    let set = Sentinel::start_from(2, 3, &place::builder().args(careful)).await;
    let old = set.primary();
    let mut trial = Trial::begin(Node::new(&place::sentinel_url(&set), TIMEOUT)).await;
    in_step(&set).await;
    old.pause();
    let new = set.successor(old).await;
    wait::until("the other replica has moved", async || {
        new.info("connected_slaves").await.as_deref() == Some("1")
    })
    .await;
    set.sentinels().iter().for_each(tidegate_test::servers::RunningServer::pause);
    old.resume();
    let begin = trial.now();
    trial.until_it_fails().await;
    let until = trial.since(begin);
    trial.fails(2).await;
    assert!(trial.node.trouble().contains("NOREPLICAS"), "{}", trial.node.trouble());
    println!("the old primary counted for {until:?}");
    assert!(until < Duration::from_secs(5), "{until:?}");
    set.sentinels().iter().for_each(tidegate_test::servers::RunningServer::resume);
    let back = trial.recovers().await;
    assert_eq!(trial.node.store().changes().failovers, 1);
    let data: Vec<_> = set.data().iter().collect();
    assert_eq!(place::left_for_ever(&data).await, Vec::<String>::new());
    Row {
        id: "R24",
        fault: "the same under `min-replicas-to-write 1`, `min-replicas-max-lag 1`",
        seen: trial.seen(),
        then: "the old primary refuses until it is demoted; failover noticed",
        back: Some(back),
    }
    .record();
}
