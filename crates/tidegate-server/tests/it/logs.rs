//! What is logged: nothing that a client sent.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use serde_json::json;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::world::World;

const CANARY: &str = "c4n4ry";

static SEEN: AtomicBool = AtomicBool::new(false);
static EVENTS: AtomicUsize = AtomicUsize::new(0);

/// Takes everything there is, our own events and those of the crates below, and looks for the canary.
struct Miner;

impl Visit for Miner {
    fn record_debug(&mut self, _: &Field, value: &dyn fmt::Debug) {
        if format!("{value:?}").contains(CANARY) {
            SEEN.store(true, Relaxed);
        }
    }
}

impl Subscriber for Miner {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        span.record(&mut Self);
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        values.record(&mut Self);
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        EVENTS.fetch_add(1, Relaxed);
        event.record(&mut Self);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[test]
fn p84_no_text_of_a_client_is_logged() {
    tracing::subscriber::set_global_default(Miner).unwrap();
    let world = World::with(&json!({"gate": {
        "trusted_peers": ["127.0.0.1"], "headers": {"org": "x-org", "ip": "x-forwarded-for"},
    }}));
    let canary = format!("{CANARY}\n\u{1b}[31m");
    for body in [
        json!({"policy": canary, "subject": {"org": canary, "user": canary}}),
        json!({"policy": "api", "subject": {"org": canary, "user": canary}}),
        json!({"policy": "api", "subject": {"ip": canary}}),
        json!({"policy": "api", canary.clone(): 1}),
        json!({"ticket": canary, "cost": 0}),
        json!({"requests": [canary]}),
    ] {
        for target in ["/v1/decide", "/v1/peek", "/v1/decide/batch", "/v1/settle"] {
            world.post(target, &body);
        }
    }
    for request in [
        format!("GET /{CANARY}?{CANARY} HTTP/1.1\r\nhost: {CANARY}\r\n\r\n"),
        format!("GET /v1/explain/{CANARY}?org={CANARY} HTTP/1.1\r\nhost: t\r\n\r\n"),
        format!("GET /v1/gate/api HTTP/1.1\r\nhost: t\r\nx-org: {CANARY}\r\n\r\n"),
        format!("GET /v1/gate/api HTTP/1.1\r\nhost: t\r\nx-forwarded-for: {CANARY}\r\n\r\n"),
        format!("{CANARY} /livez HTTP/1.1\r\nhost: t\r\n{CANARY}: {CANARY}\r\n\r\n"),
        format!("{CANARY}\0\r\n\r\n"),
    ] {
        let mut client = world.client();
        client.send(request.as_bytes());
        let _ = client.try_reply(true);
    }
    crate::http2::send_canary(&world, CANARY);
    assert_eq!(world.ended().cut, 0);
    assert!(EVENTS.load(Relaxed) > 20, "something was logged");
    assert!(!SEEN.load(Relaxed), "the canary was logged");
}
