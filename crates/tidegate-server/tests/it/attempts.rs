//! Attempts and blocks in answers: what was counted, which block holds, and until when.

use std::sync::Arc;

use serde_json::{Value, json};
use tidegate_core::{
    Attempts, Dimension, FailureMode, Limit, ManualClock, PolicySet, PolicySpec, Preset, Scope,
    Shape, Span, Threshold,
};
use tidegate_engine::memory::MemoryStore;

use crate::world::{BUDGET, NOW, World, name};

fn world() -> World {
    world_with(&json!({}))
}

fn world_with(settings: &Value) -> World {
    let clock = Arc::new(ManualClock::new(NOW));
    let store = MemoryStore::new(BUDGET, Arc::clone(&clock));
    let temp = Threshold { block_at: 3, per: Span::MINUTE, block: Span::from_secs(30) };
    let long = Threshold { block_at: 5, per: Span::HOUR, block: Span::HOUR };
    let codes = Shape::Attempts(Attempts::try_new(temp, Some(long)).unwrap());
    let codes = Limit::new(name("codes"), Scope::of([Dimension::Account]), codes);
    let voucher = PolicySpec::new(name("voucher"), FailureMode::FailOpen).limit(codes);
    let login = Preset::Login.policy(name("login"), FailureMode::FailClosed);
    let policies = PolicySet::builder().policy(login).policy(voucher);
    World::serving(settings, store, clock, policies, None)
}

fn ask(policy: &str) -> Value {
    json!({"policy": policy, "subject": {"account": "ada"}})
}

#[test]
fn a_block_is_told_with_its_scope_its_end_and_both_counts() {
    let world = world();
    let decide = || world.post("/v1/decide", &ask("voucher")).json();
    let admitted = decide();
    assert_eq!(admitted["verdict"], "admit");
    assert_eq!(admitted.get("block"), None);
    let reading = &admitted["readings"][0];
    assert_eq!((&reading["shape"], &reading["capacity"]), (&json!("attempts"), &json!(2)));
    assert_eq!(reading["attempts"], json!({"temp": 1, "long": 1, "block": null}));
    assert_eq!(decide()["verdict"], "admit");

    let refused = decide();
    let block = json!({
        "scope": "temp", "level": null, "ends_at": "2027-01-15T08:00:30.123456Z",
        "ends_in_us": 30_000_000, "begins": true,
    });
    assert_eq!((&refused["verdict"], &refused["block"]), (&json!("deny"), &block));
    assert_eq!(refused["readings"][0]["attempts"], json!({"temp": 3, "long": 3, "block": block}));

    world.clock.advance(Span::SECOND);
    let again = decide();
    assert_eq!(again["block"]["begins"], false);
    assert_eq!(again["block"]["ends_in_us"], 29_000_000);
    assert_eq!(again["block"]["ends_at"], block["ends_at"], "hammering makes it no longer");

    let longer = decide();
    assert_eq!(
        (&longer["block"]["scope"], &longer["block"]["begins"]),
        (&json!("long"), &json!(true))
    );
    assert_eq!(longer["block"]["ends_in_us"], 3_600_000_000_u64);
    assert_eq!(world.post("/v1/peek", &ask("voucher")).json()["block"]["begins"], false);
}

#[test]
fn blocks_are_counted_at_the_gate_too() {
    let gate = json!({"trusted_peers": ["127.0.0.0/8"], "headers": {"account": "x-login"}});
    let world = world_with(&json!({ "gate": gate }));
    let ask = b"GET /v1/gate/voucher HTTP/1.1\r\nhost: t\r\nx-login: ada\r\n\r\n";
    let mut client = world.client();
    for status in [200, 200, 429, 429] {
        client.send(ask);
        assert_eq!(client.reply().status, status);
    }
    let metrics = String::from_utf8(world.get("/metrics").body).unwrap();
    for line in [
        "limiter_blocked_total{scope=\"temp\"} 2",
        "tidegate_blocks_begun_total{policy=\"voucher\"} 1",
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line} in\n{metrics}");
    }
}

#[test]
fn a_block_on_a_ladder_has_a_level_and_explain_tells_it() {
    let world = world();
    for _ in 0..5 {
        assert_eq!(world.post("/v1/decide", &ask("login")).json()["verdict"], "admit");
    }
    let refused = world.post("/v1/decide", &ask("login")).json();
    assert_eq!(refused["binding"], "login-account");
    assert_eq!((&refused["block"]["level"], &refused["retry_after"]), (&json!("L1"), &json!(15)));
    assert_eq!(refused["readings"][0]["attempts"]["long"], Value::Null, "there is one window");

    let explained = world.get("/v1/explain/login?account=ada").json();
    let limits = explained["limits"].as_array().unwrap();
    let limit = |text: &str| limits.iter().find(|limit| limit["limit"]["name"] == text).unwrap();
    assert_eq!(limit("login-account")["reading"]["attempts"]["block"]["level"], "L1");
    let distributed = limit("login-distributed");
    assert_eq!(distributed["applies"], false);
    assert_eq!(distributed["missing"], json!(["ip"]), "whose distinct values it counts");
    let vouched = world.get("/v1/explain/login?account=ada&device=d1").json();
    assert_eq!(vouched["verdict"], "admit");
    let limits = vouched["limits"].as_array().unwrap();
    let account = limits.iter().find(|limit| limit["limit"]["name"] == "login-account").unwrap();
    assert_eq!((&account["applies"], &account["missing"]), (&json!(false), &json!([])));
}

#[test]
fn attempts_are_listed_with_their_windows_or_their_ladder() {
    let listed = world().get("/v1/policies").json();
    let voucher = &listed["policies"][1]["limits"][0];
    assert_eq!(
        voucher["shape"],
        json!({
            "kind": "attempts",
            "temp": {"block_at": 3, "per_us": 60_000_000, "block_us": 30_000_000},
            "long": {"block_at": 5, "per_us": 3_600_000_000_u64, "block_us": 3_600_000_000_u64},
            "ladder": null, "counts_attempts": true,
        })
    );
    let login = &listed["policies"][0]["limits"];
    let limit =
        |text: &str| login.as_array().unwrap().iter().find(|limit| limit["name"] == text).unwrap();
    let account = limit("login-account");
    assert_eq!(account["shape"]["ladder"], json!({"from": "L1", "to": "L4"}));
    assert_eq!(account["shape"]["counts_attempts"], false);
    assert_eq!((&account["unless"], &account["forgives"]), (&json!("device"), &json!(true)));
    assert_eq!(limit("login-spray")["distinct"], "account");
}

/// A host that looks accounts up by what it is answered forgives the same spellings as the limits do.
#[test]
fn t17_answers_tell_the_account_as_it_was_counted() {
    let world = world();
    let typed = json!({"policy": "login", "subject": {"account": " \u{ff21}d\u{200b}A\"\\ "}});
    for path in ["/v1/decide", "/v1/peek"] {
        assert_eq!(world.post(path, &typed).json()["account"], "ada\"\\", "{path}");
    }
    let batch = json!({"requests": [typed, {"policy": "login", "subject": {"ip": "192.0.2.1"}}]});
    let results = world.post("/v1/decide/batch", &batch).json();
    assert_eq!(results["results"][0]["account"], "ada\"\\");
    assert_eq!(results["results"][1].get("account"), None, "none was told");
    let explained = world.get("/v1/explain/login?account=%20ADA%C2%AD").json();
    assert_eq!(explained["account"], "ada");
    assert_eq!(world.get("/v1/explain/login?ip=192.0.2.1").json().get("account"), None);
}

#[test]
fn limits_of_ipv6_blocks_are_listed_as_such_and_leave_ipv4_alone() {
    let world = world();
    let of = |ip: &str| world.get(&format!("/v1/explain/login?ip={ip}")).json();
    for (ip, applies) in [("192.0.2.1", false), ("::ffff:192.0.2.1", false), ("2001:db8::1", true)]
    {
        let explained = of(ip);
        let limits = explained["limits"].as_array().unwrap();
        for name in ["login-prefix-56", "login-prefix-48"] {
            let limit = limits.iter().find(|limit| limit["limit"]["name"] == name).unwrap();
            assert_eq!(limit["limit"]["only"], "ipv6");
            assert_eq!(limit["applies"], applies, "{name} of {ip}");
        }
        let narrow = limits.iter().find(|limit| limit["limit"]["name"] == "login-prefix").unwrap();
        assert_eq!((&narrow["limit"]["only"], &narrow["applies"]), (&Value::Null, &json!(true)));
    }
}
