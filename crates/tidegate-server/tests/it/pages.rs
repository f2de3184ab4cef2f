//! Pages that are made once a second and shared: `/metrics`, `/v1/policies`, `/openapi.json`.

use std::sync::Arc;

use serde_json::json;
use tidegate_core::{ManualClock, Span};
use tidegate_server::{Settings, WrittenSettings};
use tidegate_test::stub::Stub;

use crate::raw::Reply;
use crate::world::{NOW, World, policies};

/// A server whose pages are as old as they are by default, on a store that tells how often it is looked
/// through.
fn world() -> (World<Stub>, Arc<tidegate_test::stub::StubWire>) {
    let clock = Arc::new(ManualClock::new(NOW));
    let store: Stub = Stub::in_memory(&clock);
    let wire = Arc::clone(store.wire());
    let json = json!({"listen": "127.0.0.1:0", "threads": 4, "hosts": ["t"]});
    let written: WrittenSettings = serde_json::from_value(json).unwrap();
    let settings = Settings::try_new(&written).unwrap();
    (World::set_up(settings, store, clock, policies(), None), wire)
}

const DECIDED: &str = "tidegate_decisions_total{policy=\"queue\",verdict=\"admit\"} ";

fn decided(reply: &Reply) -> String {
    let text = String::from_utf8(reply.body.clone()).unwrap();
    text.lines().find_map(|line| line.strip_prefix(DECIDED)).unwrap().to_owned()
}

#[test]
fn t12_metrics_are_made_once_a_second_however_many_ask() {
    let (world, wire) = world();
    assert_eq!(decided(&world.get("/metrics")), "0");
    let looks = wire.looks();
    world.post("/v1/decide", &json!({"policy": "queue"}));
    world.clock.advance(Span::from_millis(999));
    let mut clients: Vec<_> = (0..50).map(|_| world.client()).collect();
    for client in &mut clients {
        assert_eq!(decided(&client.get("/metrics")), "0");
        client.send(b"HEAD /metrics HTTP/1.1\r\nhost: t\r\n\r\n");
        assert_eq!(client.head_reply().status, 200);
    }
    assert_eq!(wire.looks(), looks, "nobody has looked through the store again");
    world.clock.advance(Span::from_millis(1));
    assert_eq!(decided(&world.get("/metrics")), "1", "after a second there is another page");
    assert_ne!(wire.looks(), looks);
}

#[test]
fn a_reload_shows_at_once() {
    let (world, _) = world();
    let listed = || world.get("/v1/policies").json()["policies"].as_array().unwrap().len();
    let told = || String::from_utf8(world.get("/metrics").body).unwrap();
    assert_eq!((listed(), told().contains("tidegate_policies 5")), (5, true));
    world.engine.reload(&crate::reload::with_burst(7)).unwrap();
    assert_eq!(
        (listed(), told().contains("tidegate_policies 1")),
        (1, true),
        "the clock stands still"
    );
}

#[test]
fn a_lone_client_is_never_told_to_come_back() {
    let (world, _) = world();
    for target in ["/metrics", "/v1/policies", "/openapi.json"] {
        let mut client = world.client();
        for _ in 0..5 {
            assert_eq!(client.get(target).status, 200, "{target}");
            world.clock.advance(Span::from_secs(1));
        }
    }
}
