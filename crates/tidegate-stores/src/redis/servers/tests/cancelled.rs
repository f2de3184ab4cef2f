//! Callers that do not wait for the end: clients that hang up, runtimes that are shut down.

use core::time::Duration;

use tidegate_core::StoreError;
use tidegate_test::proxy::Proxy;
use tidegate_test::servers::{RunningServer, wait};
use tokio::runtime::{Builder, Runtime};

use super::super::{Servers, Topology};
use super::{PATIENT, count, servers};

const DEADLINE: Duration = Duration::from_millis(300);
/// What the callers here wait for, which is never as long as the store would.
const HASTE: Duration = Duration::from_millis(50);

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// A runtime that is always running, as that of a process that serves.
fn lasting() -> Runtime {
    Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

async fn hasty(servers: &Servers) -> Option<Result<i64, StoreError>> {
    tokio::time::timeout(HASTE, count(servers, "k")).await.ok()
}

#[tokio::test]
async fn a_silent_connection_is_left_although_every_caller_hangs_up_early() {
    let server = RunningServer::start().await;
    let proxy = Proxy::start(server.addr()).await;
    let servers = servers(&format!("redis://{}", proxy.addr()), DEADLINE);
    assert_eq!(count(&servers, "k").await, Ok(1));
    proxy.drop_replies(true);
    assert_eq!(hasty(&servers).await, None);
    wait::until("the silent connection is left", async || {
        assert!(!matches!(hasty(&servers).await, Some(Ok(_))));
        proxy.connections() > 1
    })
    .await;
    proxy.drop_replies(false);
    wait::until("it answers again", async || matches!(hasty(&servers).await, Some(Ok(_)))).await;
}

#[tokio::test]
async fn a_connection_that_answers_is_kept_whoever_hangs_up() {
    let server = RunningServer::start().await;
    let proxy = Proxy::start(server.addr()).await;
    let servers = servers(&format!("redis://{}", proxy.addr()), DEADLINE);
    assert_eq!(count(&servers, "k").await, Ok(1));
    proxy.delay_down(HASTE * 2);
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    for _ in 0..20 {
        assert_eq!(hasty(&servers).await, None);
    }
    proxy.delay_down(Duration::ZERO);
    // Nobody asks meanwhile, so that nobody else gets an answer either.
    wait::until("nobody watches the connection any more", async || tasks() <= before).await;
    assert!(count(&servers, "k").await.is_ok());
    assert_eq!(proxy.connections(), 1);
}

#[tokio::test]
async fn however_many_hang_up_one_looks_after_them() {
    let server = RunningServer::start().await;
    let servers = servers(&server.url(), PATIENT);
    assert_eq!(count(&servers, "k").await, Ok(1));
    server.pause();
    let before = tokio::runtime::Handle::current().metrics().num_alive_tasks();
    for _ in 0..200 {
        let soon = Duration::from_millis(1);
        tokio::time::timeout(soon, count(&servers, "k")).await.unwrap_err();
    }
    let now = tokio::runtime::Handle::current().metrics().num_alive_tasks();
    assert!(now <= before + 1, "{} more tasks", now - before);
    server.resume();
}

#[test]
fn a_runtime_that_ends_takes_no_connection_of_others_along() {
    let main = lasting();
    let (server, proxy, servers) = main.block_on(async {
        let server = RunningServer::start().await;
        let proxy = Proxy::start(server.addr()).await;
        let servers = servers(&format!("redis://{}", proxy.addr()), PATIENT);
        (server, proxy, servers)
    });
    for round in 1..=5 {
        // Each time another one makes the first call, and is gone then.
        assert_eq!(runtime().block_on(count(&servers, "k")), Ok(round));
    }
    assert_eq!(proxy.connections(), 1);
    drop((server, proxy));
}

#[test]
fn a_runtime_that_the_store_outlives_is_missed_by_nobody() {
    let main = lasting();
    let server = main.block_on(RunningServer::start());
    let url = server.url();
    // Made where it was only looked whether it works.
    let servers = {
        let start = runtime();
        start.block_on(async {
            let servers = servers(&url, PATIENT);
            assert_eq!(servers.check().await, Ok(()));
            servers
        })
    };
    assert_eq!(main.block_on(count(&servers, "k")), Ok(1));
    assert_eq!(runtime().block_on(count(&servers, "k")), Ok(2));
    drop(server);
}

#[test]
fn what_is_done_in_the_background_outlives_who_asked_for_it() {
    let main = lasting();
    let server = main.block_on(RunningServer::start());
    let servers = main.block_on(async { std::sync::Arc::new(servers(&server.url(), PATIENT)) });
    let lane = runtime();
    lane.block_on(async {
        let background = std::sync::Arc::clone(&servers);
        servers.spawn(async move {
            let _ = count(&background, "k").await;
        });
    });
    drop(lane);
    main.block_on(wait::until("it is done", async || server.text(&["EXISTS", "k"]).await == "1"));
}

#[test]
fn without_any_runtime_nothing_is_done_in_the_background() {
    let servers = servers("redis://127.0.0.1:1", PATIENT);
    // The task holds one end: it says so if it is run, and hangs up if it is dropped.
    let (ran, outcome) = std::sync::mpsc::channel();
    servers.spawn(async move { ran.send("run").unwrap() });
    assert_eq!(outcome.try_recv(), Err(std::sync::mpsc::TryRecvError::Disconnected));
}

#[test]
fn a_look_that_ends_with_its_runtime_is_not_the_last() {
    let cluster_servers = servers("redis+cluster://127.0.0.1:1", PATIENT);
    let Topology::Cluster(cluster) = &cluster_servers.topology else { unreachable!("a cluster") };
    for _ in 0..2 {
        let lane = runtime();
        // Asked for, and over before it could begin.
        lane.block_on(async { cluster.look_again() });
        drop(lane);
        assert!(cluster.refresh.begin().is_some(), "somebody is said to look who is gone");
    }
}
