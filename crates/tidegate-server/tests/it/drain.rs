//! Stopping: nothing new, everything old, and not for ever.

use std::net::TcpStream;

use serde_json::json;
use tidegate_server::Stopped;

use crate::world::World;

const HEAD: &[u8] = b"POST /v1/peek HTTP/1.1\r\nhost: t\r\ncontent-type: application/json\r\ncontent-length: 49\r\n\r\n";
const BODY: &[u8] = br#"{"policy":"api","subject":{"ip":"203.0.113.7"}}  "#;

/// With one thread, what a first client has sent is read before a second one is answered.
fn one_thread() -> World {
    World::with(&json!({"threads": 1}))
}

#[test]
fn requests_in_progress_are_finished() {
    let mut world = one_thread();
    let mut busy = world.client();
    busy.send(HEAD);
    busy.send(&BODY[..10]);
    let mut idle = world.client();
    assert_eq!(idle.get("/livez").status, 200);
    world.stop();
    assert!(idle.is_closed(), "who waits for nothing is sent away");
    busy.send(&BODY[10..]);
    let reply = busy.reply();
    assert_eq!(reply.status, 200);
    assert_eq!(reply.header("connection"), Some("close"));
    assert!(busy.is_closed());
    let address = world.address;
    assert_eq!(world.ended(), Stopped { cut: 0 });
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn who_takes_too_long_is_cut_off() {
    let mut world =
        World::with(&json!({"threads": 1, "drain_timeout": "50ms", "body_timeout": "60s"}));
    let mut stuck = world.client();
    stuck.send(HEAD);
    let mut other = world.client();
    assert_eq!(other.get("/livez").status, 200, "the first request has been taken up by now");
    world.stop();
    assert!(stuck.is_closed());
    assert_eq!(world.ended(), Stopped { cut: 1 });
}

#[test]
fn readiness_is_withdrawn_while_draining() {
    let mut world = one_thread();
    let mut client = world.client();
    client.send(b"GET /readyz HTTP/1.1\r\nhost: t\r\n");
    let mut idle = world.client();
    assert_eq!(idle.get("/livez").status, 200);
    world.stop();
    assert!(idle.is_closed(), "draining has begun");
    client.send(b"\r\n");
    let reply = client.reply();
    assert_eq!(reply.status, 503);
    assert_eq!(reply.json()["status"], "draining");
}

#[test]
fn silent_connections_do_not_delay_the_end() {
    let world = World::new();
    let silent: Vec<_> = (0..50).map(|_| world.client()).collect();
    assert_eq!(world.get("/livez").status, 200);
    assert_eq!(world.ended(), Stopped { cut: 0 });
    drop(silent);
}
