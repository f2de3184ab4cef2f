//! HTTP/1.1: keep-alive, pipelining, and requests that are none.

use std::sync::Arc;

use serde_json::json;
use tidegate_core::ManualClock;
use tidegate_test::stub::Waiting;

use crate::raw::post;
use crate::world::{NOW, World};

const ASK: &[u8] = br#"{"policy":"api","subject":{"org":"acme","user":"u7"}}"#;

#[test]
fn a_connection_is_kept() {
    let world = World::new();
    let mut client = world.client();
    for verdict in ["admit", "admit", "admit", "deny"] {
        assert_eq!(client.post("/v1/decide", ASK).json()["verdict"], verdict);
    }
}

#[test]
fn a_connection_is_closed_on_request() {
    let world = World::new();
    let mut client = world.client();
    client.send(b"GET /livez HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n");
    assert_eq!(client.reply().status, 200);
    assert!(client.is_closed());
    let mut client = world.client();
    client.send(b"GET /livez HTTP/1.0\r\n\r\n");
    assert_eq!(client.reply().status, 200);
    assert!(client.is_closed());
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let world = World::new();
    let mut client = world.client();
    let mut bytes = Vec::new();
    for _ in 0..50 {
        bytes.extend(post("/v1/decide", ASK));
        bytes.extend_from_slice(b"GET /livez HTTP/1.1\r\nhost: t\r\n\r\n");
    }
    client.send(&bytes);
    for number in 0..50 {
        let verdict = if number < 3 { "admit" } else { "deny" };
        assert_eq!(client.reply().json()["verdict"], verdict);
        assert_eq!(client.reply().body, b"ok\n");
    }
}

#[test]
fn a_request_in_single_bytes_is_a_request() {
    let world = World::new();
    let mut client = world.client();
    for byte in post("/v1/decide", ASK) {
        client.send(&[byte]);
    }
    assert_eq!(client.reply().json()["verdict"], "admit");
    for byte in post("/v1/decide", ASK) {
        client.send(&[byte]);
    }
    assert_eq!(client.reply().json()["remaining"], 1, "the second one too");
}

#[test]
fn a_client_that_waits_for_continue_is_told_to() {
    let world = World::new();
    let mut client = world.client();
    let head = format!(
        "POST /v1/decide HTTP/1.1\r\nhost: t\r\ncontent-type: application/json\r\nexpect: 100-continue\r\ncontent-length: {}\r\n\r\n",
        ASK.len()
    );
    client.send(head.as_bytes());
    assert_eq!(client.reply().status, 100);
    client.send(ASK);
    assert_eq!(client.reply().json()["verdict"], "admit");
}

/// Threat T28: what another reader might read differently is refused, and nothing after it counts.
#[test]
fn t28_what_is_not_quite_http_is_refused() {
    let world = World::new();
    let second = "GET /livez HTTP/1.1\r\nhost: t\r\n\r\n";
    let body = "POST /v1/decide HTTP/1.1\r\nhost: t\r\ncontent-type: application/json\r\n";
    // Whoever is lenient finds a request there that would be decided.
    let (ask, length) = (std::str::from_utf8(ASK).unwrap(), ASK.len());
    let chunks = format!("{length:x}\r\n{ask}\r\n0\r\n\r\n");
    for request in [
        "\0\r\n\r\n".to_owned(),
        "GET\r\n\r\n".to_owned(),
        "GET /livez\r\n\r\n".to_owned(),
        "GET /livez HTTP/3.0\r\n\r\n".to_owned(),
        "GET /livez FTP/1.1\r\n\r\n".to_owned(),
        "G\u{e9}T /livez HTTP/1.1\r\n\r\n".to_owned(),
        "GET  /livez HTTP/1.1\r\nhost: t\r\n\r\n".to_owned(),
        "GET /li\tvez HTTP/1.1\r\nhost: t\r\n\r\n".to_owned(),
        "GET /livez HTTP/1.1\r\n\r\n".to_owned(),
        "GET /livez HTTP/1.1\r\nhost: t\r\nhost: t\r\n\r\n".to_owned(),
        format!(
            "POST /v1/decide HTTP/1.0\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n{chunks}"
        ),
        "GET /livez HTTP/1.1\r\nhost : t\r\n\r\n".to_owned(),
        "GET /livez HTTP/1.1\r\n host: t\r\n\r\n".to_owned(),
        "GET /livez HTTP/1.1\r\nhost: t\r\nx: a\r\n b\r\n\r\n".to_owned(),
        "GET /livez HTTP/1.1\r\nhost: t\r\nx: a\0b\r\n\r\n".to_owned(),
        "GET /livez HTTP/1.1\r\nhost: t\r\nx: a\rb\r\n\r\n".to_owned(),
        "GET /livez HTTP/1.1\r\nhost: t\r\n: y\r\n\r\n".to_owned(),
        "GET /livez HTTP/1.1\r\nhost: t\r\nx y: z\r\n\r\n".to_owned(),
        format!("{body}content-length: {length}\r\ncontent-length: 3\r\n\r\n{ask}"),
        format!("{body}content-length: 3\r\ncontent-length: {length}\r\n\r\n{ask}"),
        format!("{body}content-length: {length}, 3\r\n\r\n{ask}"),
        format!("{body}content-length: +{length}\r\n\r\n{ask}"),
        format!("{body}content-length: {length:#x}\r\n\r\n{ask}"),
        format!("{body}content-length: -{length}\r\n\r\n{ask}"),
        format!("{body}content-length: 99999999999999999999\r\n\r\n{ask}"),
        format!("{body}transfer-encoding: gzip\r\ncontent-length: {length}\r\n\r\n{ask}"),
        format!("{body}transfer-encoding: chunked, gzip\r\n\r\n{chunks}"),
        format!("{body}transfer-encoding: xchunked\r\n\r\n{chunks}"),
        format!("{body}transfer-encoding: chunked\r\n\r\nxx\r\n{ask}\r\n0\r\n\r\n"),
        format!("{body}transfer-encoding: chunked\r\n\r\n{length:x};\n{ask}\r\n0\r\n\r\n"),
    ] {
        let mut client = world.client();
        client.try_send(format!("{request}{second}").as_bytes());
        let reply = client.reply();
        assert_eq!(reply.status, 400, "{request:?}");
        reply.problem();
        assert!(client.is_closed(), "{request:?}: nothing after it is answered");
    }
    assert_eq!(world.client().post("/v1/decide", ASK).json()["remaining"], 2, "none was decided");
}

#[test]
fn t28_a_length_beside_chunks_is_refused() {
    let world = World::new();
    let mut client = world.client();
    let body = std::str::from_utf8(ASK).unwrap();
    let request = format!(
        "POST /v1/decide HTTP/1.1\r\nhost: t\r\ncontent-type: application/json\r\ncontent-length: 5\r\n\
         transfer-encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n",
        body.len()
    );
    client.try_send(format!("{request}GET /livez HTTP/1.1\r\nhost: t\r\n\r\n").as_bytes());
    let reply = client.reply();
    assert_eq!(reply.status, 400);
    assert_eq!(reply.problem()["detail"], "content-length stands beside transfer-encoding");
    assert!(client.is_closed(), "nothing comes after it");
}

#[test]
fn who_closes_its_side_while_it_waits_is_gone() {
    let clock = Arc::new(ManualClock::new(NOW));
    let store = Waiting::in_memory(&clock);
    store.wire().hold(true);
    let world = World::start(&json!({}), store, clock);
    let mut client = world.client();
    client.send(&post("/v1/decide", ASK));
    client.close_write();
    assert!(client.is_closed(), "given up, not answered");
}

#[test]
fn after_a_body_in_chunks_the_connection_goes_on() {
    let world = World::new();
    let mut client = world.client();
    let (length, body) = (ASK.len(), std::str::from_utf8(ASK).unwrap());
    let head = "POST /v1/peek HTTP/1.1\r\nhost: t\r\ncontent-type: application/json\r\n\
                transfer-encoding: chunked\r\n\r\n";
    for _ in 0..3 {
        client.send(format!("{head}{length:x}\r\n{body}\r\n0\r\n\r\n").as_bytes());
        let reply = client.reply();
        assert_eq!((reply.status, reply.header("connection")), (200, None));
    }
}

#[test]
fn a_client_that_goes_away_disturbs_nobody() {
    let world = World::new();
    let mut patient = world.client();
    assert_eq!(patient.get("/livez").status, 200);
    for cut in [1, 10, 60, 100] {
        let mut client = world.client();
        client.send(&post("/v1/decide", ASK)[..cut]);
        drop(client);
    }
    let mut half = world.client();
    half.send(&post("/v1/peek", ASK));
    half.close_write();
    let _ = half.try_reply(true);
    assert_eq!(patient.get("/livez").status, 200);
    assert_eq!(patient.post("/v1/decide", ASK).json()["remaining"], 2, "nothing was charged");
}
