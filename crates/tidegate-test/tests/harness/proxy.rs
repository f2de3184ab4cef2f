//! Every switch of the proxy, before a real server.

use core::time::Duration;
use std::io::ErrorKind::{ConnectionRefused, ConnectionReset};

use redis::Value;
use tidegate_test::proxy::Proxy;
use tidegate_test::servers::{RunningServer, wait};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::wire::{self, Wire};

async fn both() -> (RunningServer, Proxy) {
    let server = RunningServer::start().await;
    let proxy = Proxy::start(server.addr()).await;
    (server, proxy)
}

/// What the server has counted under `n`, whatever the client was told.
async fn counted(server: &RunningServer) -> i64 {
    redis::from_redis_value::<Option<i64>>(server.command(&["GET", "n"]).await)
        .unwrap()
        .unwrap_or(0)
}

#[tokio::test]
async fn everything_passes_and_is_counted_and_recorded() {
    let (server, proxy) = both().await;
    let mut wire = Wire::to(proxy.addr()).await;
    assert_eq!(wire.ask("SET n 41").await.unwrap(), "+OK");
    wire.send("*2\r\n$4\r\nINCR\r\n$1\r\nn\r\n").await;
    assert_eq!(wire.line().await.unwrap(), ":42");
    assert_eq!(counted(&server).await, 42);
    assert_eq!(proxy.record(), [vec!["SET", "n", "41"], vec!["INCR", "n"]]);
    assert_eq!((proxy.commands(), proxy.connections(), proxy.open_connections()), (2, 1, 1));
    assert_eq!((proxy.bytes_up(), proxy.bytes_down()), (10 + 21, 5 + 5));
    proxy.clear_record();
    assert!(proxy.record().is_empty());
    wire.0.shutdown().await.unwrap();
    assert_eq!(wire.rest().await, (vec![], None), "an orderly end is passed on");
}

#[tokio::test]
async fn a_delay_holds_what_is_sent_but_not_what_comes_after_it() {
    let (_server, proxy) = both().await;
    let mut wire = Wire::to(proxy.addr()).await;
    for set in [Proxy::delay_up, Proxy::delay_down] {
        set(&proxy, Duration::from_millis(600));
        let start = wire::start();
        wire.send("PING\r\n").await;
        wait::pause(Duration::from_millis(50)).await;
        wire.send("PING\r\n").await;
        wire.line().await.unwrap();
        let first = start.elapsed();
        wire.line().await.unwrap();
        let second = start.elapsed();
        assert!(first >= Duration::from_millis(600), "{first:?}");
        assert!(second >= Duration::from_millis(650), "{second:?}");
        assert!(second < Duration::from_millis(1_190), "both were under way at once: {second:?}");
        set(&proxy, Duration::ZERO);
    }
    proxy.delay_up(Duration::from_secs(60));
    wire.send("PING\r\n").await;
    assert!(wire.is_silent().await);
    proxy.delay_up(Duration::ZERO);
    assert_eq!(wire.line().await.unwrap(), "+PONG", "a lifted delay frees what is under way");
}

#[tokio::test]
async fn a_blackhole_accepts_and_answers_nothing_until_lifted() {
    let (server, proxy) = both().await;
    let mut old = Wire::to(proxy.addr()).await;
    assert_eq!(old.ask("PING").await.unwrap(), "+PONG");
    proxy.blackhole(true);
    let mut new = Wire::to(proxy.addr()).await;
    for wire in [&mut old, &mut new] {
        wire.send("INCR n\r\n").await;
        assert!(wire.is_silent().await);
    }
    assert_eq!(counted(&server).await, 0, "nothing got through");
    proxy.blackhole(false);
    for wire in [&mut old, &mut new] {
        assert!(wire.line().await.unwrap().starts_with(':'));
    }
    assert_eq!(counted(&server).await, 2);
}

#[tokio::test]
async fn a_dropped_reply_leaves_the_deed_done() {
    let (server, proxy) = both().await;
    let mut wire = Wire::to(proxy.addr()).await;
    proxy.drop_replies(true);
    wire.send("INCR n\r\n").await;
    assert!(wire.is_silent().await);
    assert_eq!(counted(&server).await, 1);
    proxy.drop_replies(false);
    assert_eq!(wire.ask("INCR n").await.unwrap(), ":2", "the lost reply stays lost");
}

#[tokio::test]
async fn a_cut_request_is_executed_only_if_its_last_byte_arrived() {
    let (server, proxy) = both().await;
    let request = "*2\r\n$4\r\nINCR\r\n$1\r\nn\r\n";
    for bytes in 0..=request.len() {
        let executed = i64::from(bytes == request.len());
        server.command(&["DEL", "n"]).await;
        let mut wire = Wire::to(proxy.addr()).await;
        assert_eq!(wire.ask("PING").await.unwrap(), "+PONG", "counted from here, not from before");
        let up = proxy.bytes_up();
        proxy.reset_after_up(Some(bytes as u64));
        wire.send(request).await;
        assert_eq!(wire.rest().await, (vec![], Some(ConnectionReset)), "after {bytes}");
        assert_eq!(proxy.bytes_up() - up, bytes as u64);
        proxy.reset_after_up(None);
        until_counted(&server, executed).await;
        assert_eq!(counted(&server).await, executed, "after {bytes}");
    }
}

/// The server may read its last bytes after the client has seen the reset.
async fn until_counted(server: &RunningServer, expected: i64) {
    let what = "the server reads what it got";
    wait::until(what, || async { counted(server).await == expected }).await;
}

#[tokio::test]
async fn a_reply_is_cut_after_any_byte_and_the_deed_is_done() {
    let (server, proxy) = both().await;
    let reply = b":1\r\n";
    for bytes in 0..=reply.len() {
        server.command(&["DEL", "n"]).await;
        proxy.reset_after_down(Some(bytes as u64));
        let mut wire = Wire::to(proxy.addr()).await;
        wire.send("INCR n\r\n").await;
        let (got, error) = wire.rest().await;
        assert_eq!((&got[..], error), (&reply[..bytes], Some(ConnectionReset)));
        assert_eq!(counted(&server).await, 1);
    }
    proxy.reset_after_down(None);
    assert_eq!(Wire::to(proxy.addr()).await.ask("PING").await.unwrap(), "+PONG");
}

#[tokio::test]
async fn chunks_of_one_byte_still_make_sense() {
    let (_server, proxy) = both().await;
    proxy.chunk(Some(1));
    let mut wire = Wire::to(proxy.addr()).await;
    wire.send("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$5\r\nvalue\r\n").await;
    assert_eq!(wire.line().await.unwrap(), "+OK");
    wire.send("GET k\r\n").await;
    // The answer has eleven bytes; whoever reads at once cannot see all of them.
    let mut smallest = usize::MAX;
    let (mut seen, mut buffer) = (Vec::new(), [0; 64]);
    while seen.len() < 11 {
        wire.0.readable().await.unwrap();
        let Ok(read) = wire.0.try_read(&mut buffer) else { continue };
        smallest = smallest.min(read);
        seen.extend_from_slice(&buffer[..read]);
    }
    assert_eq!(seen, b"$5\r\nvalue\r\n");
    assert!(smallest < 11, "in parts: {smallest}");
}

#[tokio::test]
async fn a_throttled_reply_takes_its_time() {
    let (server, proxy) = both().await;
    server.command(&["SET", "k", &"x".repeat(20_000)]).await;
    let mut wire = Wire::to(proxy.addr()).await;
    proxy.throttle(Some(100_000));
    let start = wire::start();
    assert_eq!(wire.ask("GET k").await.unwrap(), "$20000");
    assert_eq!(wire.line().await.unwrap().len(), 20_000);
    let took = start.elapsed();
    assert!(took >= Duration::from_millis(180), "20,000 bytes at 100,000 per second: {took:?}");

    proxy.throttle(Some(1_000));
    assert_eq!(wire.ask("GET k").await.unwrap(), "$20000");
    proxy.throttle(None);
    let rest = timeout(Duration::from_secs(5), wire.line()).await;
    assert_eq!(rest.expect("not twenty seconds").unwrap().len(), 20_000);
}

#[tokio::test]
async fn a_refusing_proxy_keeps_its_port_and_its_open_connections() {
    let (_server, proxy) = both().await;
    let mut open = Wire::to(proxy.addr()).await;
    assert_eq!(open.ask("PING").await.unwrap(), "+PONG");
    for _ in 0..3 {
        proxy.refuse(true).await;
        let refused = TcpStream::connect(proxy.addr()).await.unwrap_err();
        assert_eq!(refused.kind(), ConnectionRefused);
        assert_eq!(open.ask("PING").await.unwrap(), "+PONG");
        proxy.refuse(false).await;
        assert_eq!(Wire::to(proxy.addr()).await.ask("PING").await.unwrap(), "+PONG");
    }
}

#[tokio::test]
async fn killing_all_resets_the_open_ones_and_spares_the_next() {
    let (server, proxy) = both().await;
    let mut wires = Vec::new();
    for _ in 0..10 {
        let mut wire = Wire::to(proxy.addr()).await;
        assert_eq!(wire.ask("PING").await.unwrap(), "+PONG");
        wires.push(wire);
    }
    proxy.kill_all();
    for wire in &mut wires {
        assert_eq!(wire.rest().await, (vec![], Some(ConnectionReset)));
    }
    assert_eq!(Wire::to(proxy.addr()).await.ask("PING").await.unwrap(), "+PONG");
    drop(server);
}

#[tokio::test]
async fn a_new_target_is_for_new_connections() {
    let ((first, proxy), second) = (both().await, RunningServer::start().await);
    first.command(&["SET", "name", "1"]).await;
    second.command(&["SET", "name", "2"]).await;
    let mut old = Wire::to(proxy.addr()).await;
    assert_eq!(old.ask("INCRBY name 0").await.unwrap(), ":1");
    proxy.retarget(second.addr());
    assert_eq!(old.ask("INCRBY name 0").await.unwrap(), ":1");
    assert_eq!(Wire::to(proxy.addr()).await.ask("INCRBY name 0").await.unwrap(), ":2");
}

#[tokio::test]
async fn garbage_answers_instead_of_the_server() {
    let (server, proxy) = both().await;
    let mut wire = Wire::to(proxy.addr()).await;
    proxy.garble(Some(b"*-7\r\n".to_vec()));
    assert_eq!(wire.ask("INCR n").await.unwrap(), "*-7");
    assert_eq!(counted(&server).await, 0);
    proxy.garble(None);
    assert_eq!(wire.ask("INCR n").await.unwrap(), ":1");
}

#[tokio::test]
async fn a_dead_server_is_a_reset_and_its_next_life_is_reached() {
    let (server, proxy) = both().await;
    server.kill();
    let mut wire = Wire::to(proxy.addr()).await;
    assert_eq!(wire.rest().await, (vec![], Some(ConnectionReset)));
    server.restart().await;
    let mut wire = Wire::to(proxy.addr()).await;
    assert_eq!(wire.ask("PING").await.unwrap(), "+PONG");
    assert_eq!(server.command(&["GET", "n"]).await, Value::Nil);
}

#[tokio::test]
async fn a_dropped_proxy_takes_its_connections_along() {
    let (_server, proxy) = both().await;
    let mut wire = Wire::to(proxy.addr()).await;
    assert_eq!(wire.ask("PING").await.unwrap(), "+PONG");
    let addr = proxy.addr();
    drop(proxy);
    assert_eq!(wire.rest().await, (vec![], Some(ConnectionReset)));
    assert_eq!(TcpStream::connect(addr).await.unwrap_err().kind(), ConnectionRefused);
}
