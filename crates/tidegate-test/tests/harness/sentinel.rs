//! A primary that fails is replaced.

use redis::Value;
use tidegate_test::servers::{RunningServer, Sentinel, wait};

use crate::wire;

async fn count(server: &RunningServer, key: &str) -> i64 {
    redis::from_redis_value(server.command(&["GET", key]).await).unwrap()
}

#[tokio::test]
async fn a_killed_primary_is_replaced_and_what_its_replica_missed_is_lost() {
    let start = wire::start();
    let set = Sentinel::start(1, 3).await;
    println!("whole after {:?}", start.elapsed());
    let (primary, replica) = (set.primary(), &set.replicas()[0]);
    assert_eq!(set.sentinel_addrs().len(), 3);
    assert_eq!(set.told_primary().await, Some(primary.addr()));

    primary.command(&["SET", "n", "100"]).await;
    assert_eq!(primary.command(&["WAIT", "1", "5000"]).await, Value::Int(1));
    // Without the kill the kernel's buffer would still deliver what comes next.
    replica.pause();
    primary.command(&["CLIENT", "KILL", "TYPE", "replica"]).await;
    for _ in 0..50 {
        primary.command(&["INCR", "n"]).await;
    }
    assert_eq!(count(primary, "n").await, 150, "acknowledged");
    primary.kill();
    replica.resume();
    let killed = wire::start();
    let successor = set.successor(primary).await;
    println!("replaced after {:?}", killed.elapsed());
    assert_eq!(successor.addr(), replica.addr());
    assert_eq!(count(successor, "n").await, 100, "and lost");

    primary.restart().await;
    let what = "the old primary comes back as a replica";
    wait::until(what, || async { primary.info("role").await.unwrap() == "slave" }).await;
}

#[tokio::test]
async fn a_set_behind_passwords_fails_over_too() {
    let set = Sentinel::start_with(1, 3, Some("secret")).await;
    let start = wire::start();
    set.primary().pause();
    let successor = set.successor(set.primary()).await;
    println!("replaced after {:?}", start.elapsed());
    assert!(set.primary().runs() && !set.primary().is_up(), "paused, not dead");
    successor.command(&["SET", "k", "v"]).await;
}
