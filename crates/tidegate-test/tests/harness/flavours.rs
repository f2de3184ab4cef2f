//! Every program a store has to pass on can be started, broken and put into a cluster.

use tidegate_test::servers::{Flavour, RunningCluster, RunningServer};

#[tokio::test]
async fn each_flavour_is_the_version_it_says() {
    for (flavour, field, versions) in [
        // The distribution's: whatever it has, from 7 on.
        (Flavour::Redis, "redis_version", (7, 0)..(u32::MAX, 0)),
        (Flavour::Valkey8, "valkey_version", (8, 1)..(8, 2)),
        (Flavour::Valkey9, "valkey_version", (9, 1)..(9, 2)),
    ] {
        let server = RunningServer::builder().flavour(flavour).password("word").start().await;
        let told = server.info(field).await.unwrap();
        let mut numbers = told.split('.').map(|number| number.parse::<u32>().unwrap());
        let version = (numbers.next().unwrap(), numbers.next().unwrap());
        assert!(versions.contains(&version), "{flavour:?}: {told}");
        let script = "return redis.call('INCR', KEYS[1])";
        server.command(&["EVAL", script, "1", "n"]).await;
        server.command(&["DEBUG", "SLEEP", "0"]).await;
        server.restart().await;
        assert_eq!(server.command(&["EXISTS", "n"]).await, redis::Value::Int(0));
    }
}

#[tokio::test]
async fn each_valkey_makes_a_cluster_whose_slots_move() {
    for flavour in [Flavour::Valkey8, Flavour::Valkey9] {
        let cluster = RunningCluster::start(2, 0, flavour).await;
        let (slot, from) = (cluster.slot_of("k").await, cluster.master_of_key("k").await);
        from.command(&["SET", "k", "v"]).await;
        let to = cluster.nodes().iter().find(|node| node.port() != from.port()).unwrap();
        cluster.move_slot_begin(slot, to).await;
        cluster.move_slot_end(slot, to).await;
        assert_eq!(to.text(&["GET", "k"]).await, "v", "{flavour:?}");
    }
}
