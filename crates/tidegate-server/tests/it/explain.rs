//! `/v1/policies` and `/v1/explain/{policy}`.

use serde_json::{Value, json};

use std::sync::Arc;

use tidegate_core::{
    Counts, Dimension, FailureMode, Limit, ManualClock, Outcomes, Override, PolicySet, PolicySpec,
    Scope, Shape, Span, Window,
};
use tidegate_engine::memory::MemoryStore;

use crate::world::{BUDGET, NOW, World, bucket, name};

#[test]
fn policies_are_listed_with_their_numbers() {
    let world = World::new();
    let reply = world.get("/v1/policies");
    assert_eq!(reply.status, 200);
    let listed = reply.json();
    let policies = listed["policies"].as_array().unwrap();
    let names: Vec<_> = policies.iter().map(|policy| policy["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["api", "degrade", "login", "queue", "tokens"]);
    assert_eq!(
        policies[0],
        json!({
            "name": "api", "failure_mode": "fail_open", "protects": "api_heavy", "class": "export",
            "deadline_us": 100_000, "standing": {"mode": "normal", "epoch": 0, "failures": 0},
            "overflow": "reject",
            "limits": [
                {"name": "burst", "scope": "org+user", "stage": "action", "shadow": false,
                 "settles": false, "forgives": false, "outcome": [], "unless": null,
                 "only": null, "distinct": null, "cost": {"per_unit": 1},
                 "shape": {"kind": "bucket", "units": 10, "per_us": 1_000_000, "burst": 3}},
                {"name": "per-address", "scope": "ip", "stage": "action", "shadow": false,
                 "settles": false, "forgives": false, "outcome": [], "unless": null,
                 "only": null, "distinct": null, "cost": {"per_unit": 1},
                 "shape": {"kind": "bucket", "units": 100, "per_us": 1_000_000, "burst": 100}},
            ],
        })
    );
    assert_eq!(policies[2]["protects"], "login");
    assert_eq!(policies[3]["overflow"], "queue");
    assert_eq!(policies[3]["protects"], "auth");
    assert_eq!(policies[4]["protects"], Value::Null);
    assert_eq!(
        policies[4]["limits"][0]["shape"],
        json!({"kind": "quota", "count": 100, "counts_attempts": false,
               "period": {"kind": "fixed", "per_us": 86_400_000_000_u64}})
    );
    assert_eq!(policies[4]["limits"][1]["cost"], json!({"per_request": 1}));
}

#[test]
fn explain_says_what_applies_and_what_is_missing() {
    let world = World::new();
    let explained = world.get("/v1/explain/api?org=acme&ip=203.0.113.7").json();
    assert_eq!((&explained["policy"], &explained["verdict"]), (&json!("api"), &json!("admit")));
    let limits = explained["limits"].as_array().unwrap();
    assert_eq!(limits[0]["applies"], false);
    assert_eq!(limits[0]["missing"], json!(["user"]));
    assert_eq!(limits[0]["reading"], Value::Null);
    assert_eq!(limits[0]["limit"]["name"], "burst");
    assert_eq!(limits[1]["applies"], true);
    assert_eq!(limits[1]["missing"], json!([]));
    assert_eq!(limits[1]["reading"]["remaining"], 100);
}

#[test]
fn explain_charges_nothing_and_sees_what_was_charged() {
    let world = World::new();
    let ask = json!({"policy": "api", "subject": {"org": "acme", "user": "J\u{fc}rgen"}});
    for left in [3, 2, 1, 0] {
        for _ in 0..3 {
            let explained = world.get("/v1/explain/api?org=acme&user=J%C3%BCrgen").json();
            assert_eq!(explained["limits"][0]["reading"]["remaining"], left);
            assert_eq!(explained["verdict"], if left > 0 { "admit" } else { "deny" });
        }
        world.post("/v1/decide", &ask);
    }
}

#[test]
fn explain_takes_a_cost() {
    let world = World::new();
    let explained = world.get("/v1/explain/api?org=acme&user=u7&cost=4").json();
    assert_eq!(explained["verdict"], "deny");
    assert_eq!(explained["limits"][0]["reading"]["room"], "never");
}

#[test]
fn if_nothing_applies_explain_says_why() {
    let world = World::new();
    let reply = world.get("/v1/explain/api");
    assert_eq!(reply.status, 200);
    let explained = reply.json();
    assert_eq!(explained["verdict"], Value::Null);
    assert_eq!(explained["limits"][0]["missing"], json!(["org", "user"]));
    assert_eq!(explained["limits"][1]["missing"], json!(["ip"]));
}

#[test]
fn wrong_queries_are_named() {
    let world = World::new();
    for (query, field) in
        [("orgg=x", "/orgg"), ("cost=0", "/cost"), ("ip=1.2.3", "/ip"), ("org=a&org=b", "/org")]
    {
        let reply = world.get(&format!("/v1/explain/api?{query}"));
        assert_eq!(reply.status, 400);
        assert_eq!(reply.problem()["field"], field);
    }
    let reply = world.get("/v1/explain/apo");
    assert_eq!((reply.status, &reply.problem()["suggestion"]), (404, &json!("api")));
}

/// A bucket by organisation, larger for a plan, and a limit that counts by the answer.
fn with_plan() -> World {
    let gold = Override::exact(Dimension::Plan, "gold", bucket(1, 50)).unwrap();
    let burst = Limit::new(name("burst"), Scope::of([Dimension::Org]), bucket(1, 2));
    let window = Shape::Window(Window::try_new(5, Span::MINUTE, Counts::Admitted).unwrap());
    let probing = Limit::new(name("probing"), Scope::of([Dimension::Token]), window);
    let spec = PolicySpec::new(name("api"), FailureMode::FailOpen)
        .limit(burst.overridden(gold).unwrap())
        .limit(probing.counting_outcomes(Outcomes::REFUSED));
    let clock = Arc::new(ManualClock::new(NOW));
    let store = MemoryStore::new(BUDGET, Arc::clone(&clock));
    World::serving(&json!({}), store, clock, PolicySet::builder().policy(spec), None)
}

#[test]
fn a_plan_selects_numbers_however_it_is_told() {
    let world = with_plan();
    let explained = |query: &str| {
        let explained = world.get(&format!("/v1/explain/api?{query}")).json();
        explained["limits"][0]["limit"]["shape"]["burst"].clone()
    };
    assert_eq!(explained("org=a&plan=gold"), 50);
    assert_eq!(explained("org=a&plan=silver"), 2);
    assert_eq!(explained("org=a"), 2);
    let decide = |plan: &str| {
        let ask = json!({"policy": "api", "subject": {"org": "a", "plan": plan}});
        world.post("/v1/decide", &ask).json()["limit"].clone()
    };
    assert_eq!(decide("gold"), 50);
    assert_eq!(decide("silver"), 2);
}

#[test]
fn the_answers_that_a_limit_counts_are_listed() {
    let world = with_plan();
    let listed = world.get("/v1/policies").json();
    assert_eq!(listed["policies"][0]["limits"][0]["outcome"], json!([]));
    assert_eq!(listed["policies"][0]["limits"][1]["outcome"], json!([401, 403]));
}
