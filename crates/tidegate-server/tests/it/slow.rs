//! Threat T34: who is slow is closed, and disturbs nobody. Each test waits for the end of a
//! connection, not for a time.

use std::time::Duration;

use serde_json::{Value, json};

use crate::world::World;

fn impatient(which: &str) -> World {
    let mut settings = json!({
        "header_timeout": "60s", "body_timeout": "60s", "idle_timeout": "60s",
    });
    settings[which] = Value::from("50ms");
    World::with(&settings)
}

#[test]
fn t34_silence_from_the_start_is_closed() {
    assert!(impatient("header_timeout").client().is_closed());
}

#[test]
fn t34_a_slow_head_is_closed() {
    let world = impatient("header_timeout");
    let mut client = world.client();
    client.send(b"GET /livez HT");
    assert!(client.is_closed());
    let mut client = world.client();
    client.send(b"PRI * HTTP/2.0");
    assert!(client.is_closed(), "half of the other protocol");
}

#[test]
fn t34_a_head_that_trickles_in_is_closed() {
    let world = impatient("header_timeout");
    let mut client = world.client();
    client.send(b"GET /livez HTTP/1.1\r\n");
    // Each line comes in time; the head as a whole does not.
    let mut lines = 0;
    while !client.ends_within(Duration::from_millis(5)) {
        client.try_send(b"x: y\r\n");
        lines += 1;
        assert!(lines < 1_000, "still open after {lines} lines");
    }
}

#[test]
fn t34_the_second_head_may_not_be_slow_either() {
    let world = impatient("header_timeout");
    let mut client = world.client();
    assert_eq!(client.get("/livez").status, 200);
    client.send(b"GET /livez HT");
    assert!(client.is_closed());
}

#[test]
fn t34_a_slow_body_is_told_and_closed() {
    let world = impatient("body_timeout");
    let mut client = world.client();
    client.send(b"POST /v1/decide HTTP/1.1\r\nhost: t\r\ncontent-type: application/json\r\ncontent-length: 50\r\n\r\n{\"pol");
    let reply = client.reply();
    assert_eq!(reply.status, 408);
    reply.problem();
    assert_eq!(reply.header("connection"), Some("close"));
    assert!(client.is_closed());
}

#[test]
fn an_idle_connection_is_closed() {
    let world = impatient("idle_timeout");
    let mut client = world.client();
    assert_eq!(client.get("/livez").status, 200);
    assert!(client.is_closed());
}

#[test]
fn an_idle_connection_outlives_the_time_for_heads() {
    let world = impatient("header_timeout");
    let mut client = world.client();
    assert_eq!(client.get("/livez").status, 200);
    for _ in 0..3 {
        assert!(world.client().is_closed(), "the time for heads has passed once more");
        assert_eq!(client.get("/livez").status, 200);
    }
}

#[test]
fn t34_who_does_not_read_is_closed() {
    let world = impatient("body_timeout");
    let mut client = world.client();
    let request = b"GET /openapi.json HTTP/1.1\r\nhost: t\r\n\r\n".repeat(50);
    // The answers fill every buffer on the way; then the server waits for us, and gives up.
    for _ in 0..200 {
        client.try_send(&request);
    }
    let mut other = world.client();
    let alone = || {
        let metrics = String::from_utf8(other.get("/metrics").body).unwrap();
        metrics.contains("tidegate_http_connections 1\n").then_some(())
    };
    assert_eq!(std::iter::repeat_with(alone).take(10_000).find_map(|gone| gone), Some(()));
}

#[test]
fn t34_the_slow_do_not_hold_up_the_others() {
    const SLOW: &[u8] =
        b"POST /v1/decide HTTP/1.1\r\nhost: t\r\ncontent-type: application/json\r\n\
        content-length: 9\r\n\r\n{";
    let world = World::with(&json!({"max_connections": 2_000}));
    let slow: Vec<_> = (0..500)
        .map(|number| {
            let mut client = world.client();
            client.send(&SLOW[..number % (SLOW.len() + 1)]);
            client
        })
        .collect();
    let mut client = world.client();
    for _ in 0..200 {
        assert_eq!(client.get("/livez").status, 200);
    }
    drop(slow);
}
