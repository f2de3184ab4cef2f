//! G2, G3, T26 with real processes: three nodes that share the circuit of one upstream through one Redis,
//! thousands of callers that wait for the end of its window, and nodes and servers that are killed.
//!
//! A node is this program again, told to run nothing but [`node_as_a_process`]. It reads what it needs from
//! a file in its folder, and does what the test says over a socket. The upstream is in the test, so it
//! knows of every call that was ever made.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test: what cannot be started or asked fails it, and what it measures is printed"
)]

mod crew;
mod node;
mod upstream;

use core::time::Duration;

use tidegate_test::servers::{RunningServer, wait};

use crew::Crew;

#[test]
#[ignore = "it does what the tests of this file say, until it is killed"]
fn node_as_a_process() {
    node::run();
}

/// Three nodes whose circuit is open, and 10,000 callers that have been told to wait for its end.
async fn waiting(redis: &RunningServer) -> Crew {
    let crew = Crew::start(redis, 3).await;
    crew.ask(0, "trip").await;
    crew.until_all("open", |told| told.state == "Open").await;
    for (node, callers) in [3_334, 3_333, 3_333].into_iter().enumerate() {
        crew.ask(node, &format!("callers {callers}")).await;
    }
    crew
}

#[tokio::test]
async fn g2_t26_ten_thousand_callers_of_three_nodes_make_one_probe() {
    let redis = RunningServer::start().await;
    let crew = waiting(&redis).await;
    crew.upstream.until_calls(1).await;
    crew.until_all("half-open", |told| told.state == "HalfOpen").await;
    // All have come by now, and have been told to wait for the lease.
    crew.until_all("back", |told| told.refused >= 3_332).await;
    let all = crew.told().await;
    println!("{all:?}");
    assert_eq!(crew.upstream.calls().len(), 1, "{all:?}");
    assert!(crew.upstream.calls()[0].is_agreed);
    assert_eq!(all.iter().map(|told| told.probes).sum::<u64>(), 1, "{all:?}");
    crew.ask_all("stop").await;
    crew.upstream.answer("ok");
    crew.until_all("closed", |told| told.state == "Closed").await;
    let all = crew.told().await;
    assert!(all.iter().all(|told| (told.alone, told.lost) == (0, 0)), "{all:?}");
    assert_eq!(crew.upstream.calls().len(), 1);
}

#[tokio::test]
async fn g3_t26_a_prober_that_is_killed_is_followed_by_one_of_a_later_generation() {
    let redis = RunningServer::start().await;
    let mut crew = waiting(&redis).await;
    crew.upstream.until_calls(1).await;
    let first = crew.upstream.calls()[0].clone();
    crew.kill(first.node);
    crew.upstream.until_calls(2).await;
    crew.until_all("half-open", |told| told.state == "HalfOpen").await;
    let second = crew.upstream.calls()[1].clone();
    assert_ne!(second.node, first.node);
    assert!(second.generation > first.generation, "{first:?}, then {second:?}");
    assert!(first.is_agreed && second.is_agreed);
    // The others come back when they were told to, and find the second under way.
    wait::pause(Duration::from_secs(1)).await;
    assert_eq!(crew.upstream.calls().len(), 2, "{:?}", crew.upstream.calls());
    crew.ask_all("stop").await;
    crew.upstream.answer("ok");
    crew.until_all("closed", |told| told.state == "Closed").await;
}

#[tokio::test]
async fn g2_redis_is_killed_and_each_node_probes_alone_once_and_says_so_once() {
    let redis = RunningServer::start().await;
    let crew = waiting(&redis).await;
    redis.kill();
    crew.upstream.until_calls(3).await;
    // All have been told to wait for the probe of their own node.
    crew.until_all("back", |told| told.refused >= 3_332).await;
    let calls = crew.upstream.calls();
    let mut nodes: Vec<usize> = calls.iter().map(|call| call.node).collect();
    nodes.sort_unstable();
    assert_eq!(nodes, [0, 1, 2], "{calls:?}");
    assert!(calls.iter().all(|call| !call.is_agreed), "{calls:?}");
    let all = crew.told().await;
    assert!(all.iter().all(|told| (told.probes, told.alone) == (1, 1)), "{all:?}");
    crew.ask_all("stop").await;
    crew.upstream.answer("ok");
    crew.until_all("closed", |told| told.state == "Closed").await;
    // The fleet is back: the nodes try once more, together, before they trust the upstream.
    redis.restart().await;
    crew.until_all("half-open", |told| told.state == "HalfOpen").await;
    crew.ask_all("callers 100").await;
    crew.until_all("closed", |told| told.state == "Closed").await;
    let calls = crew.upstream.calls();
    assert_eq!(calls.len(), 4, "{calls:?}");
    assert!(calls[3].is_agreed, "{calls:?}");
    let all = crew.told().await;
    assert!(all.iter().all(|told| told.alone == 1), "{all:?}");
}

#[tokio::test]
async fn g3_t26_a_hundred_thousand_cancelled_probes_leave_no_wedge() {
    let redis = RunningServer::start().await;
    let crew = Crew::start(&redis, 3).await;
    crew.ask(0, "trip").await;
    crew.until_all("open", |told| told.state == "Open").await;
    crew.ask(0, "cancel 100000").await;
    crew.until_node(0, "cancelled", |told| told.cancelled == 100_000).await;
    let all = crew.told().await;
    println!("{all:?}");
    assert_eq!(all[0].alone + all[0].lost, 0, "{all:?}");
    // Another node tries, and the circuit closes.
    crew.ask(1, "callers 10").await;
    crew.upstream.until_calls(1).await;
    crew.ask_all("stop").await;
    crew.upstream.answer("ok");
    crew.until_all("closed", |told| told.state == "Closed").await;
    assert_eq!(crew.upstream.calls().len(), 1);
}
