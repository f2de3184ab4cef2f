//! What a real server says when it is in trouble, and that it is heard.

use core::time::Duration;

use tidegate_core::StoreError;
use tidegate_test::servers::{RunningServer, wait};

use super::{PATIENT, count, count_at_last, servers, trouble};

#[tokio::test]
async fn a_full_server_refuses_before_it_writes() {
    let server = RunningServer::start().await;
    let servers = servers(&server.url(), PATIENT);
    assert_eq!(count(&servers, "k").await, Ok(1));
    server.command(&["CONFIG", "SET", "maxmemory", "1"]).await;
    assert_eq!(count(&servers, "k").await, Err(StoreError::Unavailable));
    assert!(trouble(&servers).contains("OOM"), "{}", trouble(&servers));
    server.command(&["CONFIG", "SET", "maxmemory", "0"]).await;
    assert_eq!(count(&servers, "k").await, Ok(2));
}

#[tokio::test]
async fn a_primary_without_enough_replicas_refuses() {
    let server = RunningServer::start().await;
    let servers = servers(&server.url(), PATIENT);
    server.command(&["CONFIG", "SET", "min-replicas-to-write", "2"]).await;
    assert_eq!(count(&servers, "k").await, Err(StoreError::Unavailable));
    assert!(trouble(&servers).contains("NOREPLICAS"), "{}", trouble(&servers));
}

#[tokio::test]
async fn a_server_that_cannot_save_refuses() {
    let server = RunningServer::builder().args(["--dbfilename", "folder.rdb"]).start().await;
    let servers = servers(&server.url(), PATIENT);
    assert_eq!(count(&servers, "k").await, Ok(1));
    std::fs::create_dir_all(server.folder().join("folder.rdb/within")).unwrap();
    server.command(&["CONFIG", "SET", "save", "3600 1"]).await;
    let _ = server.try_command(&["BGSAVE"]).await;
    wait::until("the save has failed", async || {
        server.info("rdb_last_bgsave_status").await.as_deref() == Some("err")
    })
    .await;
    assert_eq!(count(&servers, "k").await, Err(StoreError::Unavailable));
    assert!(trouble(&servers).contains("MISCONF"), "{}", trouble(&servers));
}

#[tokio::test]
async fn a_server_with_too_many_clients_is_unavailable_until_one_goes() {
    let server = RunningServer::start().await;
    server.command(&["CONFIG", "SET", "maxclients", "1"]).await;
    let servers = servers(&server.url(), PATIENT);
    assert_eq!(count(&servers, "k").await, Err(StoreError::Unavailable));
    server.command(&["CONFIG", "SET", "maxclients", "100"]).await;
    assert_eq!(count(&servers, "k").await, Ok(1));
}

#[tokio::test]
async fn a_server_that_is_busy_with_another_script_says_so() {
    let server = RunningServer::builder().args(["--busy-reply-threshold", "50"]).start().await;
    let servers = servers(&server.url(), Duration::from_millis(500));
    assert_eq!(count(&servers, "k").await, Ok(1));
    let forever = server.try_command(&["EVAL", "while true do end", "0"]);
    let meanwhile = async {
        wait::until("BUSY", async || {
            let refused = count(&servers, "k").await;
            refused == Err(StoreError::Unavailable) && trouble(&servers).contains("BUSY")
        })
        .await;
        // Past the harness, which waits for its own answer.
        let kill = redis::Client::open(server.url()).unwrap();
        let mut kill = kill.get_multiplexed_async_connection().await.unwrap();
        redis::cmd("SCRIPT").arg("KILL").exec_async(&mut kill).await.unwrap();
    };
    let (ended, ()) = tokio::join!(forever, meanwhile);
    ended.unwrap_err();
    count_at_last(&servers, "k").await;
}

#[tokio::test]
async fn a_pause_for_writes_only_is_no_answer() {
    let server = RunningServer::start().await;
    let servers = servers(&server.url(), Duration::from_millis(300));
    assert_eq!(count(&servers, "k").await, Ok(1));
    server.command(&["CLIENT", "PAUSE", "1500", "WRITE"]).await;
    assert_eq!(count(&servers, "k").await, Err(StoreError::Timeout));
    server.command(&["CLIENT", "UNPAUSE"]).await;
    let counted = count_at_last(&servers, "k").await;
    assert!((2..=3).contains(&counted), "{counted}");
}
