//! Slots move, masters fail, and every node says so as a client would hear it.

use redis::Value;
use tidegate_test::servers::{Flavour, RunningCluster, RunningServer, checks, wait};

use crate::wire;

async fn code(server: &RunningServer, command: &[&str]) -> String {
    let error = server.try_command(command).await.expect_err("it is refused");
    error.code().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn a_slot_moves_key_by_key() {
    let start = wire::start();
    let cluster = RunningCluster::start(3, 0, Flavour::Redis).await;
    println!("whole after {:?}", start.elapsed());
    let slot = cluster.slot_of("{t}").await;
    let from = cluster.master_of_key("{t}a").await;
    assert_eq!(from.port(), cluster.node_of_slot(slot).await.port());
    let to = cluster.nodes().iter().find(|node| node.port() != from.port()).unwrap();
    from.command(&["MSET", "{t}a", "1", "{t}b", "2", "{t}c", "3"]).await;
    assert_eq!(code(to, &["GET", "{t}a"]).await, "MOVED");

    cluster.move_slot_begin(slot, to).await;
    cluster.migrate_key("{t}a", to).await;
    assert_eq!(from.text(&["GET", "{t}b"]).await, "2", "what has not moved is still there");
    assert_eq!(code(from, &["GET", "{t}a"]).await, "ASK");
    assert_eq!(code(from, &["MGET", "{t}a", "{t}b"]).await, "TRYAGAIN");
    assert_eq!(code(from, &["GET", "{t}absent"]).await, "ASK");
    assert_eq!(code(to, &["GET", "{t}a"]).await, "MOVED", "not without ASKING");

    cluster.move_slot_end(slot, to).await;
    assert_eq!(cluster.node_of_slot(slot).await.port(), to.port());
    assert_eq!(to.text(&["GET", "{t}c"]).await, "3");
    assert_eq!(code(from, &["GET", "{t}b"]).await, "MOVED");
    assert_eq!(code(from, &["MGET", "{x}", "{y}"]).await, "CROSSSLOT");
}

#[tokio::test]
async fn without_a_replica_a_killed_master_takes_the_cluster_down() {
    let cluster = RunningCluster::start(3, 0, Flavour::Redis).await;
    let victim = cluster.master_of_key("k").await;
    victim.kill();
    let start = wire::start();
    for node in cluster.nodes().iter().filter(|node| node.runs()) {
        wait::until("the others notice", || async { !cluster.is_well(node).await }).await;
        assert_eq!(code(node, &["GET", "k"]).await, "CLUSTERDOWN");
    }
    println!("down after {:?}", start.elapsed());
}

#[tokio::test]
async fn a_replica_takes_over_from_a_killed_master() {
    let start = wire::start();
    let cluster = RunningCluster::start(3, 1, Flavour::Redis).await;
    println!("whole after {:?}", start.elapsed());
    let master = cluster.master_of_key("k").await;
    master.command(&["SET", "k", "v"]).await;
    assert_eq!(master.command(&["WAIT", "1", "5000"]).await, Value::Int(1));
    let slot = cluster.slot_of("k").await;
    master.kill();
    let killed = wire::start();
    let successor = cluster.successor(slot, master).await;
    println!("replaced after {:?}", killed.elapsed());
    assert_eq!(successor.port(), cluster.replica_of(master).port());
    assert_eq!(successor.text(&["GET", "k"]).await, "v");
}

#[tokio::test]
async fn keys_that_stay_for_ever_are_found_on_every_node() {
    let cluster = RunningCluster::start(3, 0, Flavour::Redis).await;
    for key in ["a", "b", "c", "d"] {
        let master = cluster.master_of_key(key).await;
        master.command(&["SET", key, "v", "PX", "60000"]).await;
    }
    assert_eq!(checks::left_in(&cluster).await, Vec::<String>::new());
    for key in ["b", "c"] {
        cluster.master_of_key(key).await.command(&["PERSIST", key]).await;
    }
    assert_eq!(checks::left_in(&cluster).await, ["b", "c"]);
}

#[tokio::test]
async fn keys_that_stay_for_ever_are_found_among_many() {
    let server = RunningServer::start().await;
    let fill = "for i = 1, 5000 do redis.call('SET', 'k' .. i, 'v', 'EX', 60) end";
    server.command(&["EVAL", fill, "0"]).await;
    assert_eq!(checks::left_on(&server).await, Vec::<String>::new());
    server.command(&["PERSIST", "k4711"]).await;
    assert_eq!(checks::left_on(&server).await, ["k4711"]);
}
