//! `/v1/decide` and `/v1/peek`.

use std::sync::Arc;

use serde_json::{Value, json};
use tidegate_core::{
    Backoff, Counts, Dimension, FailureMode, Limit, ManualClock, PolicySet, PolicySpec, Scope,
    Shape, Span, Window,
};
use tidegate_engine::memory::MemoryStore;

use crate::world::{BUDGET, Memory, NOW, World, name};

fn api(user: &str) -> Value {
    json!({"policy": "api", "subject": {"org": "acme", "user": user, "ip": "203.0.113.7"}})
}

#[test]
fn an_admitted_request_says_everything() {
    let world = World::new();
    let reply = world.post("/v1/decide", &api("u7"));
    assert_eq!(reply.status, 200);
    assert_eq!(reply.header("content-type"), Some("application/json"));
    assert_eq!(reply.header("cache-control"), Some("no-store"));
    let expected = json!({
        "policy": "api", "verdict": "admit", "mode": "normal", "blocked": false,
        "source": "action", "binding": "burst", "limit": 3, "remaining": 2,
        "reset_after": 1, "retry_after": 0, "backoff_seconds": 0,
        "next_allowed_at": "2027-01-15T08:00:00.123456Z",
        "decided_at": "2027-01-15T08:00:00.123456Z",
        "retry_after_us": 0,
        "readings": [
            {"name": "burst", "scope": "org+user", "shape": "bucket", "capacity": 3,
             "remaining": 2, "room": "now", "retry_after_us": 0, "reset_after_us": 100_000,
             "backoff_us": 0, "stage": "action", "shadow": false},
            {"name": "per-address", "scope": "ip", "shape": "bucket", "capacity": 100,
             "remaining": 99, "room": "now", "retry_after_us": 0, "reset_after_us": 10_000,
             "backoff_us": 0, "stage": "action", "shadow": false},
        ],
    });
    assert_eq!(reply.json(), expected);
}

#[test]
fn a_limit_of_three_admits_three_and_tells_the_fourth_when() {
    let world = World::new();
    for remaining in [2, 1, 0] {
        assert_eq!(world.post("/v1/decide", &api("u7")).json()["remaining"], remaining);
    }
    let denied = world.post("/v1/decide", &api("u7"));
    assert_eq!(denied.status, 200, "a refusal is an answer");
    let denied = denied.json();
    assert_eq!(denied["verdict"], "deny");
    assert_eq!(denied["blocked"], true);
    assert_eq!(denied["binding"], "burst");
    assert_eq!(denied["retry_after_us"], 100_000);
    assert_eq!(denied["retry_after"], 1, "rounded up");
    assert_eq!(denied["next_allowed_at"], "2027-01-15T08:00:00.223456Z");
    assert_eq!(denied["readings"][0]["room"], "after");
    assert_eq!(denied["readings"][1]["remaining"], 97, "a refusal charges nothing");
    world.clock.advance(Span::from_micros(99_999));
    assert_eq!(world.post("/v1/decide", &api("u7")).json()["verdict"], "deny");
    world.clock.advance(Span::from_micros(1));
    assert_eq!(world.post("/v1/decide", &api("u7")).json()["verdict"], "admit", "the told wait");
    assert_eq!(world.post("/v1/decide", &api("u8")).json()["verdict"], "admit", "somebody else");
}

#[test]
fn a_cost_that_never_fits_is_denied_for_ever() {
    let world = World::new();
    let mut heavy = api("u7");
    heavy["cost"] = json!(4);
    let denied = world.post("/v1/decide", &heavy).json();
    assert_eq!(denied["verdict"], "deny");
    for never in ["retry_after", "retry_after_us", "next_allowed_at"] {
        assert_eq!(denied.get(never), Some(&Value::Null), "{never}");
    }
    assert_eq!(denied["readings"][0]["room"], "never");
    assert_eq!(denied["readings"][0]["retry_after_us"], Value::Null);
    heavy["cost"] = json!(3);
    assert_eq!(world.post("/v1/decide", &heavy).json()["remaining"], 0);
}

#[test]
fn a_peek_charges_nothing() {
    let world = World::new();
    for _ in 0..10 {
        let peeked = world.post("/v1/peek", &api("u7")).json();
        assert_eq!(peeked["verdict"], "admit");
        assert_eq!(peeked.get("ticket"), None);
    }
    assert_eq!(world.post("/v1/decide", &api("u7")).json()["remaining"], 2);
}

#[test]
fn overflow_decides_what_becomes_of_the_rest() {
    let world = World::new();
    for (policy, verdict, blocked) in [("queue", "queue", true), ("degrade", "degrade", false)] {
        let ask = json!({"policy": policy});
        assert_eq!(world.post("/v1/decide", &ask).json()["verdict"], "admit");
        let second = world.post("/v1/decide", &ask).json();
        assert_eq!((&second["verdict"], &second["blocked"]), (&json!(verdict), &json!(blocked)));
    }
}

#[test]
fn a_look_weighs_what_it_says_and_takes_nothing() {
    let world = World::new();
    let ask = |cost: u64| json!({"policy": "tokens", "subject": {"org": "acme"}, "cost": cost});
    assert_eq!(world.post("/v1/decide", &ask(60)).json()["remaining"], 40);
    for (cost, verdict) in [(41, "deny"), (40, "admit"), (40, "admit"), (101, "deny")] {
        let looked = world.post("/v1/peek", &ask(cost)).json();
        assert_eq!((&looked["verdict"], &looked["remaining"]), (&json!(verdict), &json!(40)));
    }
}

#[test]
fn a_global_limit_that_refuses_is_the_source() {
    let world = World::new();
    let ask = json!({"policy": "login", "subject": {"account": "a@b", "ip": "203.0.113.7"}});
    assert_eq!(world.post("/v1/decide", &ask).json()["source"], "global");
    let denied = world.post("/v1/decide", &ask).json();
    assert_eq!((&denied["verdict"], &denied["source"]), (&json!("deny"), &json!("global")));
    assert_eq!(denied["binding"], "flood");
}

#[test]
fn attempts_go_below_zero() {
    let world = World::new();
    let ask = json!({"policy": "login", "subject": {"account": "a@b"}});
    let left: Vec<_> =
        (0..4).map(|_| world.post("/v1/decide", &ask).json()["remaining"].clone()).collect();
    assert_eq!(left, [1, 0, -1, -2]);
}

#[test]
fn a_backoff_is_told_in_whole_seconds() {
    let clock = Arc::new(ManualClock::new(NOW));
    let store: Memory = MemoryStore::new(BUDGET, Arc::clone(&clock));
    let backoff = Backoff::exponential(Span::from_millis(10_500), 2, Span::HOUR);
    let window = Window::try_new(1, Span::MINUTE, Counts::Attempts(Some(backoff))).unwrap();
    let limit = Limit::new(name("tries"), Scope::of([Dimension::Org]), Shape::Window(window));
    let spec = PolicySpec::new(name("tries"), FailureMode::FailOpen).limit(limit);
    let policies = PolicySet::builder().policy(spec);
    let world = World::serving(&json!({}), store, clock, policies, None);
    let ask = json!({"policy": "tries", "subject": {"org": "acme"}});
    // 10.5 s for the first attempt that is refused, then twice as long, and no longer than the window.
    for (verdict, seconds) in [("admit", 0), ("deny", 11), ("deny", 21), ("deny", 42), ("deny", 61)]
    {
        let told = world.post("/v1/decide", &ask).json();
        assert_eq!(told["verdict"], verdict);
        assert_eq!(told["backoff_seconds"], seconds);
        assert!(told["retry_after"].as_u64().unwrap() >= seconds, "{told}");
    }
}

#[test]
fn t04_all_spellings_of_an_address_are_one() {
    let world = World::new();
    let spellings = ["203.0.113.7", "::ffff:203.0.113.7", "::ffff:cb00:7107", "64:ff9b::cb00:7107"];
    for (asked, ip) in spellings.into_iter().enumerate() {
        let ask = json!({"policy": "api", "subject": {"ip": ip}});
        let left = world.post("/v1/decide", &ask).json()["remaining"].clone();
        assert_eq!(left, 99 - asked, "{ip}");
    }
}

#[test]
fn t43_a_missing_content_type_is_not_taken_for_json() {
    let world = World::new();
    let mut client = world.client();
    let body = api("u7").to_string();
    let head =
        format!("POST /v1/decide HTTP/1.1\r\nhost: t\r\ncontent-length: {}\r\n\r\n", body.len());
    client.send([head.as_bytes(), body.as_bytes()].concat().as_slice());
    assert_eq!(client.reply().status, 415);
    assert_eq!(world.post("/v1/decide", &api("u7")).json()["remaining"], 2, "nothing was counted");
}

#[test]
fn an_empty_org_is_none_and_an_empty_account_is_an_account() {
    let world = World::new();
    let nobody = json!({"policy": "api", "subject": {"org": "", "user": "u7"}});
    assert_eq!(world.post("/v1/decide", &nobody).status, 422, "no limit counts nobody");
    let blank = json!({"policy": "login", "subject": {"account": ""}});
    let verdict = |_| world.post("/v1/decide", &blank).json()["verdict"].clone();
    assert_eq!([0, 1, 2].map(verdict), ["admit", "admit", "deny"]);
}
