//! `/v1/gate/{policy}`: as a reverse proxy asks.

use serde_json::json;

use crate::raw::Reply;
use crate::world::World;

fn behind_a_proxy() -> World {
    World::with(&json!({"gate": {
        "trusted_peers": ["127.0.0.0/8"],
        "headers": {"org": "x-org-id", "user": "x-user-id", "ip": "x-forwarded-for"},
    }}))
}

fn ask(world: &World, target: &str, headers: &str) -> Reply {
    let mut client = world.client();
    client.send(format!("GET {target} HTTP/1.1\r\nhost: t\r\n{headers}\r\n").as_bytes());
    client.reply()
}

#[test]
fn who_may_pass_gets_200_and_the_others_429() {
    let world = behind_a_proxy();
    let headers = "x-org-id: acme\r\nx-user-id: u7\r\nx-forwarded-for: 203.0.113.7\r\n";
    for _ in 0..3 {
        let passed = ask(&world, "/v1/gate/api", headers);
        assert_eq!((passed.status, passed.body.len()), (200, 0));
    }
    let refused = ask(&world, "/v1/gate/api", headers);
    assert_eq!(refused.status, 429);
    assert_eq!(refused.header("retry-after"), Some("1"), "rounded up");
    let other = headers.replace("u7", "u8");
    assert_eq!(ask(&world, "/v1/gate/api", &other).status, 200);
}

#[test]
fn refusals_have_the_name_of_the_request_the_time_and_what_is_left() {
    let world = behind_a_proxy();
    let headers = "x-org-id: acme\r\nx-user-id: u7\r\nx-request-id: req-7f3a\r\n";
    for _ in 0..3 {
        assert_eq!(ask(&world, "/v1/gate/api", headers).status, 200);
    }
    for (target, status) in [("/v1/gate/api", 429), ("/v1/gate/api?deny=403", 403)] {
        let refused = ask(&world, target, headers);
        assert_eq!(refused.status, status);
        let problem = refused.problem();
        assert_eq!(problem["request_id"], "req-7f3a");
        assert_eq!(problem["timestamp"], "2027-01-15T08:00:00.123456Z");
        assert_eq!(refused.header("x-request-id"), Some("req-7f3a"));
        // Three at once and ten a second: full again 0.3 s after 08:00:00.123456.
        assert_eq!(refused.header("ratelimit-limit"), Some("3;w=1"));
        assert_eq!(refused.header("ratelimit-remaining"), Some("0"));
        assert_eq!(refused.header("ratelimit-reset"), Some("1800000001"));
        assert_eq!(refused.header("ratelimit"), None, "that would name the limit");
        assert_eq!(refused.header("ratelimit-policy"), None, "so would that");
    }
    // No decision: no numbers.
    for (target, status) in
        [("/v1/gate/tokens", 403), ("/v1/gate/nothing", 404), ("/v1/gate/api?deny=500", 400)]
    {
        let refused = ask(&world, target, "x-request-id: req-7f3a\r\n");
        assert_eq!(refused.status, status);
        assert_eq!(refused.problem()["request_id"], "req-7f3a", "{target}");
        assert_eq!(refused.problem()["timestamp"], "2027-01-15T08:00:00.123456Z", "{target}");
        assert_eq!(refused.header("ratelimit-limit"), None, "{target}");
    }
}

#[test]
fn t40_a_name_that_could_do_harm_is_not_adopted() {
    let world = World::new();
    let long = format!("x-request-id: {}\r\n", "x".repeat(129));
    let twice = "x-request-id: one\r\nx-request-id: two\r\n";
    let mut seen = std::collections::BTreeSet::new();
    for headers in ["", "x-request-id: a b\r\n", "x-request-id: \"}\r\n", &long, twice] {
        let refused = ask(&world, "/v1/gate/nothing", headers);
        let made = refused.problem()["request_id"].as_str().unwrap().to_owned();
        assert_eq!(made.len(), 32, "{headers:?}: {made}");
        assert!(made.bytes().all(|byte| byte.is_ascii_hexdigit()), "{made}");
        assert_eq!(refused.header("x-request-id"), Some(&*made));
        seen.insert(made);
    }
    assert_eq!(seen.len(), 5, "each has its own");
}

#[test]
fn nginx_gets_403() {
    let world = behind_a_proxy();
    let headers = "x-org-id: acme\r\nx-user-id: u7\r\n";
    for _ in 0..3 {
        assert_eq!(ask(&world, "/v1/gate/api?deny=403", headers).status, 200);
    }
    let refused = ask(&world, "/v1/gate/api?deny=403", headers);
    assert_eq!(refused.status, 403);
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(ask(&world, "/v1/gate/api?deny=429", headers).status, 429);
    let world = World::with(&json!({"gate": {"deny_status": 403}}));
    assert_eq!(ask(&world, "/v1/gate/queue", "").status, 200);
    assert_eq!(ask(&world, "/v1/gate/queue", "").status, 403);
}

#[test]
fn t01_headers_of_strangers_do_not_count() {
    let world = World::new();
    for attempt in 0..100 {
        let forged = format!("x-forwarded-for: 198.51.100.{attempt}\r\nx-org-id: o{attempt}\r\n");
        assert_eq!(ask(&world, "/v1/gate/api", &forged).status, 200);
    }
    let refused = ask(&world, "/v1/gate/api", "x-forwarded-for: 192.0.2.1\r\n");
    assert_eq!(refused.status, 429, "all of them came from one address");
}

#[test]
fn p82_refusals_name_nothing_from_within() {
    let world = behind_a_proxy();
    let headers = "x-org-id: acme\r\nx-user-id: u7\r\n";
    let mut replies: Vec<_> = (0..4).map(|_| ask(&world, "/v1/gate/api", headers)).collect();
    replies.push(ask(&world, "/v1/gate/apii", headers));
    replies.push(ask(&world, "/v1/gate/tokens", ""));
    let failing = crate::limits::failing_world();
    let store_fails = failing.get("/v1/gate/queue");
    assert_eq!(store_fails.status, 503);
    assert_eq!(store_fails.header("retry-after"), Some("10"));
    replies.push(store_fails);
    for reply in replies {
        let text = format!("{:?} {}", reply.headers, String::from_utf8_lossy(&reply.body));
        let text = crate::failover::told(text.to_lowercase()).replace("no-store", "");
        let text = text.replace("ratelimit-limit", "").replace("ratelimit-", "");
        for internal in [
            "burst",
            "per-address",
            "policy",
            "limit",
            "store",
            "mode",
            "memory",
            "unavailable",
            "acme",
            "u7",
            "203.0.113.7",
            "apii",
        ] {
            assert!(!text.contains(internal), "{internal} in {text}");
        }
    }
}

#[test]
fn who_cannot_be_counted_does_not_pass() {
    let world = behind_a_proxy();
    assert_eq!(ask(&world, "/v1/gate/tokens", "").status, 403, "no organisation was told");
    assert_eq!(ask(&world, "/v1/gate/tokens", "x-org-id: acme\r\n").status, 200);
    assert_eq!(ask(&world, "/v1/gate/nothing", "x-org-id: acme\r\n").status, 404);
}

#[test]
fn ambiguous_requests_are_refused() {
    let world = behind_a_proxy();
    let long = format!("x-org-id: {}\r\n", "x".repeat(257));
    assert_eq!(ask(&world, "/v1/gate/tokens", &long).status, 400);
    let twice = "x-org-id: acme\r\nx-org-id: other\r\n";
    assert_eq!(ask(&world, "/v1/gate/tokens", twice).status, 400, "t30");
    assert_eq!(ask(&world, "/v1/gate/api?deny=500", "").status, 400);
}

#[test]
fn overflow_reaches_the_proxy() {
    let world = World::new();
    assert_eq!(ask(&world, "/v1/gate/degrade", "").header("tidegate-verdict"), None);
    let degraded = ask(&world, "/v1/gate/degrade", "");
    assert_eq!((degraded.status, degraded.header("tidegate-verdict")), (200, Some("degrade")));
    assert_eq!(ask(&world, "/v1/gate/queue", "").status, 200);
    let queued = ask(&world, "/v1/gate/queue", "");
    assert_eq!((queued.status, queued.header("retry-after")), (429, Some("1")));
}

#[test]
fn a_head_is_decided_like_a_get() {
    let world = World::new();
    let mut client = world.client();
    for expected in [200, 429] {
        client.send(b"HEAD /v1/gate/queue HTTP/1.1\r\nhost: t\r\n\r\n");
        assert_eq!(client.head_reply().status, expected);
    }
    assert_eq!(client.get("/livez").status, 200, "no body was in the way");
}

#[test]
fn t07_what_is_not_named_as_a_fact_is_none() {
    let world = behind_a_proxy();
    let passed = (0..9).filter(|attempt| {
        let headers = format!(
            "x-org-id: acme\r\nx-user-id: u7\r\nx-forwarded-for: 203.0.113.7\r\n\
             x-account: a{attempt}\r\nx-real-ip: 198.51.100.{attempt}\r\nforwarded: for=198.51.100.{attempt}\r\n\
             x-api-key: k{attempt}\r\ncookie: session={attempt}\r\nuser-agent: b{attempt}\r\n"
        );
        ask(&world, "/v1/gate/api", &headers).status == 200
    });
    assert_eq!(passed.count(), 3);
    for extra in ["email", "key", "path", "x-user-id"] {
        let subject = json!({"org": "acme", "user": "u8", extra: "somebody"});
        let refused = world.post("/v1/decide", &json!({"policy": "api", "subject": subject}));
        assert_eq!(refused.status, 400, "{extra}");
    }
}

#[test]
fn t22_the_time_that_a_client_tells_is_not_the_time() {
    let world = behind_a_proxy();
    let later = "Fri, 15 Jan 2027 08:05:00 GMT";
    let passed = (0..9).filter(|seconds| {
        let headers = format!(
            "x-org-id: acme\r\nx-user-id: u7\r\ndate: {later}\r\nif-modified-since: {later}\r\n\
             x-request-start: t=1900000000{seconds}\r\nx-timestamp: 190000000{seconds}\r\n"
        );
        ask(&world, "/v1/gate/api", &headers).status == 200
    });
    assert_eq!(passed.count(), 3, "none of it is minutes later");
    for field in ["now", "at", "time", "timestamp", "created_at"] {
        let mut ask = json!({"policy": "api", "subject": {"org": "acme", "user": "u8"}});
        ask[field] = json!(1_900_000_000);
        assert_eq!(world.post("/v1/decide", &ask).status, 400, "{field}");
    }
    let ask = json!({"policy": "api", "subject": {"org": "acme", "user": "u8"}});
    assert_eq!(world.post("/v1/decide", &ask).status, 200);
}
