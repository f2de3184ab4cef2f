//! Pages that are made once a second and shared: `/metrics`, `/v1/policies`, `/openapi.json`.

use std::sync::Arc;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Empty};
use serde_json::json;
use tidegate_core::{ManualClock, Span};
use tidegate_engine::Engine;
use tidegate_server::{Oracle, Server, Settings, WrittenSettings};
use tidegate_test::stub::Stub;
use tower::Service;

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

/// The bytes that the server hands out for a page, and no copy of them.
fn handed_out(service: &mut Oracle<Stub>, target: &str) -> Bytes {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let request = Request::get(target).header("host", "t").body(Empty::<Bytes>::new()).unwrap();
    let mut body = runtime.block_on(service.call(request)).unwrap().into_body();
    let frame = runtime.block_on(body.frame()).unwrap().unwrap();
    frame.into_data().unwrap()
}

#[test]
fn t12_every_page_is_made_once_a_second_and_everybody_has_the_same_bytes() {
    let clock = Arc::new(ManualClock::new(NOW));
    let store: Stub = Stub::in_memory(&clock);
    let engine = Arc::new(Engine::new(store, policies().build(None).unwrap()));
    let json = json!({"listen": "127.0.0.1:0", "hosts": ["t"]});
    let written: WrittenSettings = serde_json::from_value(json).unwrap();
    let settings = Settings::try_new(&written).unwrap();
    let server = Server::bind(settings, engine, Arc::clone(&clock)).unwrap();
    let mut service = server.service();
    for target in ["/metrics", "/v1/policies", "/openapi.json"] {
        let first = handed_out(&mut service, target);
        clock.advance(Span::from_millis(999));
        let again = handed_out(&mut service, target);
        assert_eq!(first.as_ptr(), again.as_ptr(), "{target}");
        clock.advance(Span::from_millis(1));
        let later = handed_out(&mut service, target);
        // The description of the server never changes.
        let is_made_anew = first.as_ptr() != later.as_ptr();
        assert!(is_made_anew || target == "/openapi.json", "{target}");
    }
}

#[test]
fn t12_the_threads_that_serve_go_on_while_a_page_is_made() {
    let clock = Arc::new(ManualClock::new(NOW));
    let store: Stub = Stub::in_memory(&clock);
    let wire = Arc::clone(store.wire());
    let json = json!({"listen": "127.0.0.1:0", "threads": 1, "hosts": ["t"]});
    let written: WrittenSettings = serde_json::from_value(json).unwrap();
    let settings = Settings::try_new(&written).unwrap();
    let world = World::set_up(settings, store, clock, policies(), None);
    let held = wire.hold_looks();
    let mut scraper = world.client();
    scraper.send(b"GET /metrics HTTP/1.1\r\nhost: t\r\n\r\n");
    while wire.looks() == 0 {}
    // The one thread that serves would wait for the page if it made it.
    for _ in 0..10 {
        assert_eq!(world.post("/v1/decide", &json!({"policy": "queue"})).status, 200);
    }
    drop(held);
    assert_eq!(scraper.reply().status, 200);
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
