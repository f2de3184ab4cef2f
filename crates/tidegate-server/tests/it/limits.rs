//! How much is taken from a client: bytes, header fields, connections.

use std::sync::Arc;

use serde_json::json;
use tidegate_core::{ManualClock, StoreError};
use tidegate_test::stub::Waiting;

use crate::raw::{Client, post};
use crate::world::{NOW, World};

/// A server whose store cannot be reached.
pub(crate) fn failing_world() -> World<Waiting> {
    let settings = json!({"gate": {"trusted_peers": ["127.0.0.1"], "headers": {"org": "x-org"}}});
    World::start(
        &settings,
        Waiting::failing(StoreError::Unavailable),
        Arc::new(ManualClock::new(NOW)),
    )
}

#[test]
fn a_body_that_says_it_is_too_large_is_not_read() {
    let world = World::with(&json!({"max_body": "1KiB"}));
    let mut client = world.client();
    let head = "POST /v1/decide HTTP/1.1\r\nhost: t\r\ncontent-type: application/json\r\ncontent-length: 1025\r\n\r\n";
    client.send(head.as_bytes());
    let reply = client.reply();
    assert_eq!(reply.status, 413);
    assert!(reply.problem()["detail"].as_str().unwrap().contains("1024"));
    assert_eq!(reply.header("connection"), Some("close"), "t28: the rest cannot be told apart");
    assert!(client.is_closed());
}

#[test]
fn a_body_that_turns_out_too_large_is_cut_off() {
    let world = World::with(&json!({"max_body": "1KiB"}));
    let mut client = world.client();
    client.send(b"POST /v1/decide HTTP/1.1\r\nhost: t\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n");
    let chunk = [b"200\r\n".as_slice(), &[b' '; 512], b"\r\n"].concat();
    for _ in 0..3 {
        client.try_send(&chunk);
    }
    let reply = client.reply();
    assert_eq!(reply.status, 413);
    reply.problem();
    assert!(client.is_closed());
}

#[test]
fn a_body_as_large_as_allowed_is_read() {
    let world = World::with(&json!({"max_body": "1KiB"}));
    let body = r#"{"policy":"api","subject":{"ip":"203.0.113.7"}}"#;
    let padded = format!("{body}{}", " ".repeat(1024 - body.len()));
    assert_eq!(world.client().post("/v1/decide", padded.as_bytes()).status, 200);
    let chunked = format!(
        "POST /v1/decide HTTP/1.1\r\nhost: t\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n\
         7\r\n{}\r\n28\r\n{}\r\n0\r\n\r\n",
        &body[..7],
        &body[7..]
    );
    let mut client = world.client();
    client.send(chunked.as_bytes());
    assert_eq!(client.reply().status, 200, "in pieces");
}

#[test]
fn t38_a_hundred_mebibytes_are_not_read_to_say_no() {
    let world = World::new();
    let mut client = world.client();
    client.send(b"POST /v1/decide HTTP/1.1\r\nhost: t\r\ncontent-type: application/json\r\ncontent-length: 104857600\r\n\r\n");
    for _ in 0..64 {
        client.try_send(&[b'x'; 16 << 10]);
    }
    let reply = client.reply();
    assert_eq!(reply.status, 413, "and it arrives although we were still sending");
}

#[test]
fn t36_header_fields_are_counted() {
    let world = World::new();
    let head = |count: usize| {
        let fields: String = (1..count).map(|number| format!("x-{number}: y\r\n")).collect();
        format!("GET /livez HTTP/1.1\r\nhost: t\r\n{fields}\r\n")
    };
    let mut client = world.client();
    client.send(head(100).as_bytes());
    assert_eq!(client.reply().status, 200);
    client.send(head(101).as_bytes());
    let reply = client.reply();
    assert_eq!(reply.status, 431);
    reply.problem();
    assert!(client.is_closed());
}

#[test]
fn t34_heads_are_bounded() {
    let world = World::new();
    for (head, status) in [
        (format!("GET /livez?{} HTTP/1.1\r\nhost: t\r\n\r\n", "x".repeat(8_000)), 200),
        (format!("GET /livez?{} HTTP/1.1\r\nhost: t\r\n\r\n", "x".repeat(9_000)), 414),
        (format!("GET /livez HTTP/1.1\r\nhost: t\r\nx: {}\r\n\r\n", "y".repeat(16_000)), 200),
        (format!("GET /livez HTTP/1.1\r\nhost: t\r\nx: {}\r\n\r\n", "y".repeat(17_000)), 431),
        (format!("GET /livez HTTP/1.1\r\nhost: t\r\nx: {}\r\n\r\n", "y".repeat(200_000)), 431),
    ] {
        let mut client = world.client();
        client.try_send(head.as_bytes());
        let reply = client.reply();
        assert_eq!(reply.status, status);
        if status != 200 {
            reply.problem();
        }
    }
}

/// Opens connections until all are taken that one address may have, those for health checks included.
fn take_all(world: &World) -> Vec<Client> {
    let mut open = Vec::new();
    loop {
        let mut client = world.client();
        client.try_send(b"GET /livez HTTP/1.1\r\nhost: t\r\n\r\n");
        match client.try_reply(true) {
            Some(reply) => assert_eq!(reply.status, 200),
            None => return open,
        }
        open.push(client);
    }
}

#[test]
fn t34_connections_are_counted_and_the_rest_closed_at_once() {
    let world = World::with(&json!({"max_connections": 3}));
    let mut open = take_all(&world);
    assert_eq!(open.len(), 3 + 8, "a quarter of the 32 for health checks is for one address");
    for _ in 0..5 {
        assert!(world.client().is_closed());
    }
    for client in &mut open {
        assert_eq!(client.get("/livez").status, 200, "those that are open are not disturbed");
    }
    let metrics = String::from_utf8(open[0].get("/metrics").body).unwrap();
    assert!(metrics.contains("tidegate_http_connections 11\n"), "{metrics}");
    assert!(metrics.contains("tidegate_http_connections_refused_total{reason=\"total\"} 6\n"));
}

#[test]
fn t34_when_all_connections_are_taken_health_is_still_told_and_nothing_else() {
    let world = World::with(&json!({"max_connections": 3}));
    let open: Vec<_> = (0..3).map(|_| world.client()).collect();
    let answered = || {
        let mut client = world.client();
        let health = (client.get("/livez").status, client.get("/readyz").status);
        let other = client.get("/metrics");
        (health, other.status, other.header("connection").map(str::to_owned), client.is_closed())
    };
    // The server accepts in the order in which we connect.
    assert_eq!(answered(), ((200, 200), 503, Some("close".to_owned()), true));
    drop(open);
}

#[test]
fn a_place_is_free_again_when_its_connection_closes() {
    let world = World::with(&json!({"max_connections": 1}));
    for _ in 0..20 {
        // The server learns of a close a little later than we do; until then it refuses.
        let answered = || {
            let mut client = world.client();
            client.try_send(b"GET /livez HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n");
            client.try_reply(true).map(|reply| (reply.status, client.is_closed()))
        };
        let found = std::iter::repeat_with(answered).take(10_000).find_map(|answer| answer);
        assert_eq!(found, Some((200, true)));
    }
}

#[test]
fn t34_one_address_has_its_share_of_connections() {
    let world = World::with(&json!({"max_connections_per_address": 2}));
    let mut open = take_all(&world);
    assert_eq!(open.len(), 2 + 8);
    let metrics = String::from_utf8(open[0].get("/metrics").body).unwrap();
    assert!(metrics.contains("tidegate_http_connections_refused_total{reason=\"address\"} 1\n"));
    assert_eq!(open[2].get("/v1/policies").status, 503, "one of those for health checks");
}

#[test]
fn t34_a_trusted_peer_may_have_more_than_its_share() {
    let gate = json!({"trusted_peers": ["127.0.0.1"]});
    let settings = json!({"max_connections": 20, "max_connections_per_address": 2, "gate": gate});
    assert_eq!(take_all(&World::with(&settings)).len(), 20 + 8);
}

#[test]
fn t28_an_early_refusal_ends_the_connection_if_the_body_was_not_read() {
    let world = World::new();
    let mut client = world.client();
    let hidden = "POST /v1/decide HTTP/1.1\r\nhost: t\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
    let head = "POST /nowhere HTTP/1.1\r\nhost: t\r\ncontent-length: 100000\r\n\r\n";
    client.send(format!("{head}{hidden}").as_bytes());
    let reply = client.reply();
    assert_eq!(reply.status, 404);
    assert_eq!(reply.header("connection"), Some("close"));
    assert!(client.is_closed(), "what was the body is no second request");
}

#[test]
fn many_requests_on_one_connection_leave_nothing_behind() {
    let world = World::new();
    let mut client = world.client();
    let body = br#"{"policy":"api","subject":{"ip":"203.0.113.7"}}"#;
    for _ in 0..1_000 {
        client.send(&post("/v1/peek", body));
        assert_eq!(client.reply().status, 200);
    }
    let metrics = String::from_utf8(client.get("/metrics").body).unwrap();
    for line in ["tidegate_http_connections 1", "tidegate_store_entries{shape=\"bucket\"} 0"] {
        assert!(metrics.lines().any(|found| found == line), "{line} in\n{metrics}");
    }
}
