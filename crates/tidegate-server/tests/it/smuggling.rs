//! Threat T28: requests that two readers could divide differently, on both listeners of the server.

use std::sync::Arc;

use serde_json::json;
use tidegate_core::ManualClock;
use tidegate_engine::memory::MemoryStore;
use tidegate_test::smuggling::{Requests, check_all};

use crate::admin::{TOKEN, bearer};
use crate::world::{BUDGET, NOW, World, policies};

fn world() -> World {
    let clock = Arc::new(ManualClock::new(NOW));
    let store = MemoryStore::new(BUDGET, Arc::clone(&clock));
    World::serving(
        &json!({"hosts": ["tidegate.example", "[::1]:8080"]}),
        store,
        clock,
        policies(),
        Some(TOKEN),
    )
}

#[test]
fn t28_no_request_hides_from_the_decision_server() {
    let world = world();
    let requests = Requests {
        get: "/livez",
        post: "/v1/peek",
        fields: "content-type: application/json\r\n",
        body: r#"{"policy":"api","subject":{"org":"acme","user":"u7"}}"#,
    };
    let wrong = check_all(world.address, requests);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn t28_no_request_hides_from_the_admin_listener() {
    let world = world();
    let fields = format!("{}content-type: application/json\r\n", bearer(TOKEN));
    let requests = Requests {
        get: "/admin/blocks",
        post: "/admin/reset",
        fields: &fields,
        body: r#"{"policy":"login","subject":{"account":"ada"}}"#,
    };
    let wrong = check_all(world.admin.unwrap(), requests);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
