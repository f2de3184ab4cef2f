//! A panic, should there ever be one, ends one connection and nothing else.

use std::sync::Arc;

use serde_json::json;
use tidegate_core::ManualClock;
use tidegate_test::stub::Waiting;

use crate::world::{NOW, World};

#[test]
fn a_panic_ends_its_own_connection_alone() {
    let settings = json!({"threads": 1, "max_connections": 2});
    let clock = Arc::new(ManualClock::new(NOW));
    let store = Waiting::in_memory(&clock);
    store.wire().panic();
    let world = World::start(&settings, store, clock);
    let mut other = world.client();
    assert_eq!(other.get("/livez").status, 200);
    for _ in 0..5 {
        let mut client = world.client();
        client.try_send(&crate::raw::post("/v1/decide", br#"{"policy":"queue"}"#));
        assert!(client.is_closed());
        assert_eq!(other.get("/livez").status, 200, "the same thread still answers");
    }
    let readiness = other.get("/readyz").json();
    assert_eq!(readiness["connections"], 1, "their places are free again");
}
