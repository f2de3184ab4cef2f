//! One server.

use core::time::Duration;
use std::sync::Arc;

use tidegate_core::StoreError;
use tidegate_test::proxy::{Canned, Proxy, plausible};
use tidegate_test::servers::port::Port;
use tidegate_test::servers::{Flavour, RunningServer};

use super::super::{Changes, Topology};
use super::{PATIENT, count, count_at_last, integer, servers, trouble};
use crate::redis::scripts::Script;

/// Short beside the stalls of these tests, long beside a loopback.
const DEADLINE: Duration = Duration::from_millis(400);

#[tokio::test]
async fn p73_a_script_the_server_does_not_know_runs_exactly_once() {
    let server = RunningServer::start().await;
    let servers = servers(&server.url(), PATIENT);
    for round in 1..=5 {
        server.command(&["SCRIPT", "FLUSH"]).await;
        assert_eq!(count(&servers, "k").await, Ok(round));
    }
    assert_eq!(server.text(&["GET", "k"]).await, "5");
    assert_eq!(servers.changes(), Changes::default());
}

#[tokio::test]
async fn every_flavour_is_let_in() {
    for flavour in Flavour::ALL {
        let server = RunningServer::builder().flavour(flavour).start().await;
        let servers = servers(&server.url(), PATIENT);
        assert_eq!(servers.check().await, Ok(()), "{flavour:?}");
        assert_eq!(count(&servers, "k").await, Ok(1), "{flavour:?}");
    }
}

#[tokio::test]
async fn keys_and_argument_arrive_as_bytes() {
    let server = RunningServer::start().await;
    let servers = servers(&server.url(), PATIENT);
    let script = Script::new("redis.call('SET', KEYS[2], ARGV[1]) return #KEYS * 1000 + #ARGV[1]");
    let keys: [&[u8]; 3] = [b"a\xff", b"b\0\r\n", b""];
    assert_eq!(servers.run(&script, &keys, &[0xfe; 300], integer).await, Ok(3300));
    assert_eq!(server.command(&["EXISTS", "b\0\r\n"]).await, redis::Value::Int(1));
}

#[tokio::test]
async fn a_connection_that_died_while_idle_is_replaced_without_an_error() {
    let server = RunningServer::start().await;
    let servers = servers(&server.url(), PATIENT);
    for round in 1..=20 {
        assert_eq!(count(&servers, "k").await, Ok(round));
        server.command(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]).await;
        // The end of the connection has to arrive before the next byte is sent.
        tidegate_test::servers::wait::until("the connection is known to be dead", async || {
            let Topology::One(link) = &servers.topology else { unreachable!("a single server") };
            link.ready().is_none()
        })
        .await;
    }
    assert_eq!(servers.changes(), Changes::default());
}

#[tokio::test]
async fn a_restart_is_noticed() {
    let server = RunningServer::start().await;
    let servers = servers(&server.url(), DEADLINE);
    assert_eq!(count(&servers, "k").await, Ok(1));
    server.restart().await;
    assert_eq!(count_at_last(&servers, "k").await, 1);
    assert_eq!(servers.changes(), Changes { restarts: 1, failovers: 0 });
}

#[tokio::test]
async fn nobody_listening_is_unavailable_at_once() {
    let port = Port::free();
    let servers = servers(&format!("redis://{}", port.addr()), Duration::from_secs(60));
    let refused = tokio::time::timeout(PATIENT, count(&servers, "k")).await;
    assert_eq!(refused, Ok(Err(StoreError::Unavailable)));
    assert!(trouble(&servers).contains(&port.addr().to_string()), "{}", trouble(&servers));
    assert!(!servers.check().await.unwrap_err().is_refusal());
}

#[tokio::test]
async fn a_stopped_server_is_left_within_a_deadline_and_found_again() {
    let server = RunningServer::start().await;
    let servers = servers(&server.url(), DEADLINE);
    assert_eq!(count(&servers, "k").await, Ok(1));
    server.pause();
    // Sent: nobody knows. Then connecting succeeds and the handshake hangs: certainly not sent.
    assert_eq!(count(&servers, "k").await, Err(StoreError::Timeout));
    let place = server.addr().to_string();
    assert_eq!(trouble(&servers), format!("{place}: no answer within {DEADLINE:?}"));
    for _ in 0..3 {
        assert_eq!(count(&servers, "k").await, Err(StoreError::Unavailable));
        assert!(trouble(&servers).contains(&place), "{}", trouble(&servers));
    }
    server.resume();
    let again = count_at_last(&servers, "k").await;
    assert!((2..=3).contains(&again), "one call was unknown, so it counts or not: {again}");
    assert_eq!(servers.changes(), Changes::default());
}

#[tokio::test]
async fn a_blackhole_is_left_and_nothing_is_sent_twice() {
    let server = RunningServer::start().await;
    let proxy = Proxy::start(server.addr()).await;
    let servers = servers(&format!("redis://{}", proxy.addr()), DEADLINE);
    assert_eq!(count(&servers, "k").await, Ok(1));
    proxy.drop_replies(true);
    assert_eq!(count(&servers, "k").await, Err(StoreError::Timeout));
    proxy.drop_replies(false);
    assert_eq!(count(&servers, "k").await, Ok(3), "the unknown one was counted, once");
    assert_eq!(proxy.connections(), 2);
}

#[tokio::test]
async fn cut_after_any_byte_nothing_is_counted_twice_and_nothing_told_is_lost() {
    let server = RunningServer::start().await;
    let proxy = Proxy::start(server.addr()).await;
    let servers = servers(&format!("redis://{}", proxy.addr()), PATIENT);
    assert_eq!(count(&servers, "k").await, Ok(1));
    let before = proxy.bytes_up();
    assert_eq!(count(&servers, "k").await, Ok(2));
    let length = proxy.bytes_up() - before;
    let mut counted = 2;
    for bytes in 1..=length {
        proxy.reset_after_up(Some(bytes));
        assert_eq!(count(&servers, "k").await, Err(StoreError::Timeout), "cut after {bytes}");
        proxy.reset_after_up(None);
        counted += 1 + i64::from(bytes == length);
        assert_eq!(count(&servers, "k").await, Ok(counted), "cut after {bytes} of {length}");
    }
    for bytes in 0..4 {
        proxy.reset_after_down(Some(bytes));
        assert_eq!(count(&servers, "k").await, Err(StoreError::Timeout), "reply cut at {bytes}");
        proxy.reset_after_down(None);
        counted += 2;
        assert_eq!(count(&servers, "k").await, Ok(counted), "reply cut at {bytes}");
    }
}

#[test]
fn a_runtime_that_is_gone_takes_no_connection_along() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let server_runtime = runtime();
    let server = server_runtime.block_on(RunningServer::start());
    let servers = servers(&server.url(), PATIENT);
    // A check at start-up, say, under a runtime of its own.
    assert_eq!(runtime().block_on(servers.check()), Ok(()));
    assert_eq!(runtime().block_on(count(&servers, "k")), Ok(1));
    assert_eq!(runtime().block_on(count(&servers, "k")), Ok(2));
    drop(server);
}

#[tokio::test]
async fn a_server_that_repeats_the_password_is_not_repeated() {
    let canned = Canned::start(|command| match &*command[0] {
        b"AUTH" => b"-ERR unknown command, with args beginning with: 'hunter2'\r\n".to_vec(),
        _ => plausible(command),
    })
    .await;
    let servers = servers(&format!("redis://:hunter2@{}", canned.addr()), PATIENT);
    assert_eq!(count(&servers, "k").await, Err(StoreError::Refused));
    assert!(!trouble(&servers).contains("hunter2"), "{}", trouble(&servers));
}

#[tokio::test]
async fn a_thousand_callers_share_one_attempt_and_its_failure() {
    let server = RunningServer::start().await;
    let proxy = Proxy::start(server.addr()).await;
    let servers = Arc::new(servers(&format!("redis://{}", proxy.addr()), DEADLINE));
    proxy.blackhole(true);
    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..1000 {
        let servers = Arc::clone(&servers);
        callers.spawn(async move { count(&servers, "k").await });
    }
    while let Some(outcome) = callers.join_next().await {
        assert_eq!(outcome.unwrap(), Err(StoreError::Unavailable));
    }
    assert!(proxy.connections() <= 2, "{} connections", proxy.connections());
    proxy.blackhole(false);
    assert_eq!(count_at_last(&servers, "k").await, 1);
}

#[tokio::test]
async fn callers_at_once_are_each_counted_once_on_one_connection() {
    let server = RunningServer::start().await;
    let proxy = Proxy::start(server.addr()).await;
    let servers = Arc::new(servers(&format!("redis://{}", proxy.addr()), PATIENT));
    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..5000 {
        let servers = Arc::clone(&servers);
        callers.spawn(async move { count(&servers, "k").await.unwrap() });
    }
    let mut seen = callers.join_all().await;
    seen.sort_unstable();
    assert_eq!(seen, (1..=5000).collect::<Vec<i64>>());
    assert_eq!(proxy.connections(), 1);
}

#[tokio::test]
async fn a_server_that_may_not_hold_counters_is_refused() {
    for (args, words) in [
        (["--maxmemory-policy", "allkeys-lru"], "set maxmemory-policy noeviction"),
        (["--maxmemory-policy", "volatile-ttl"], "set maxmemory-policy noeviction"),
        (["--requirepass", "other"], "password"),
        (["--cluster-enabled", "yes"], "write redis+cluster://"),
    ] {
        let server = RunningServer::builder().args(args).start().await;
        let url = format!("redis://:hunter2@{}", server.addr());
        let url = if args[0] == "--requirepass" { url } else { server.url() };
        let servers = servers(&url, PATIENT);
        assert_eq!(count(&servers, "k").await, Err(StoreError::Refused), "{args:?}");
        let trouble = servers.check().await.unwrap_err();
        assert!(trouble.is_refusal() && trouble.to_string().contains(words), "{trouble}");
        assert!(!trouble.to_string().contains("hunter2"), "{trouble}");
    }
}

#[tokio::test]
async fn a_missing_password_is_refused_and_the_right_one_works() {
    let server = RunningServer::builder().password("hunter2").start().await;
    let without = servers(&format!("redis://{}", server.addr()), PATIENT);
    assert_eq!(count(&without, "k").await, Err(StoreError::Refused));
    assert!(trouble(&without).contains("it wants a password"), "{}", trouble(&without));
    let with = servers(&format!("redis://:hunter2@{}/3", server.addr()), PATIENT);
    assert_eq!(count(&with, "k").await, Ok(1));
    assert_eq!(server.command(&["EXISTS", "k"]).await, redis::Value::Int(0), "in database 3");
}

#[tokio::test]
async fn the_fewest_permissions_that_do() {
    let server = RunningServer::start().await;
    let rules = ["on", ">pw", "~k", "+evalsha", "+eval", "+info", "+incrby"];
    server.command(&[&["ACL", "SETUSER", "lim"], &rules[..]].concat()).await;
    let url = format!("redis://lim:pw@{}", server.addr());
    let granted = servers(&url, PATIENT);
    assert_eq!(count(&granted, "k").await, Ok(1));
    assert_eq!(count(&granted, "other").await, Err(StoreError::Refused));
    server.command(&["ACL", "SETUSER", "lim", "-incrby"]).await;
    assert_eq!(count(&granted, "k").await, Err(StoreError::Refused));
    server.command(&["ACL", "SETUSER", "lim", "-evalsha"]).await;
    assert_eq!(count(&granted, "k").await, Err(StoreError::Refused));
    server.command(&["ACL", "SETUSER", "lim", "-info"]).await;
    let newcomer = servers(&url, PATIENT);
    assert_eq!(count(&newcomer, "k").await, Err(StoreError::Refused));
    assert!(trouble(&newcomer).contains("+info"), "{}", trouble(&newcomer));
}

#[tokio::test]
async fn a_replica_is_never_written() {
    let primary = RunningServer::start().await;
    let to = ["--replicaof".to_owned(), format!("127.0.0.1 {}", primary.port())];
    let replica = RunningServer::builder().args(to).start().await;
    let at_once = servers(&replica.url(), PATIENT);
    assert_eq!(count(&at_once, "k").await, Err(StoreError::Unavailable));
    assert!(trouble(&at_once).contains("it is a replica"), "{}", trouble(&at_once));

    // One that becomes a replica under a connection says so, and is then left.
    let demoted = servers(&primary.url(), PATIENT);
    assert_eq!(count(&demoted, "k").await, Ok(1));
    primary.command(&["REPLICAOF", "127.0.0.1", "1"]).await;
    assert_eq!(count(&demoted, "k").await, Err(StoreError::Unavailable));
    assert!(trouble(&demoted).contains("READONLY"), "{}", trouble(&demoted));
    assert_eq!(count(&demoted, "k").await, Err(StoreError::Unavailable));
    assert!(trouble(&demoted).contains("it is a replica"), "{}", trouble(&demoted));
    primary.command(&["REPLICAOF", "NO", "ONE"]).await;
    assert_eq!(count(&demoted, "k").await, Ok(2));
}
