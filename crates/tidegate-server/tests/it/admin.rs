//! The admin listener: who gets in, and what the verbs do.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};
use tidegate_core::{
    Attempts, Counts, Dimension, FailureMode, Limit, ManualClock, PolicySet, PolicySetBuilder,
    PolicySpec, Scope, Shape, Span, Stage, Store, StoreError, Threshold, Window,
};
use tidegate_engine::memory::MemoryStore;
use tidegate_test::stub::Waiting;

use crate::raw::{Client, Reply};
use crate::world::{BUDGET, Memory, NOW, World, bucket, name};

pub(crate) const TOKEN: &str = "a-token-that-nobody-guesses";

/// A door with an abuse log of its own, one that all attempts on an account count in, and a bucket.
fn door() -> PolicySetBuilder {
    let limit = |text: &str, shape| {
        Limit::new(name(text), Scope::of([Dimension::Account]), shape).with_named_key()
    };
    let tries = Threshold { block_at: 3, per: Span::MINUTE, block: Span::from_secs(30) };
    let all = Window::try_new(100, Span::MINUTE, Counts::Admitted).unwrap();
    let agents = Limit::new(name("agents"), Scope::of([Dimension::Agent]), bucket(9, 9));
    let spec = PolicySpec::new(name("door"), FailureMode::FailOpen)
        .limit(limit("tries", Shape::Attempts(Attempts::try_new(tries, None).unwrap())))
        .limit(limit("all", Shape::Window(all)).at_stage(Stage::Global))
        .limit(agents);
    PolicySet::builder().policy(spec)
}

pub(crate) fn world() -> World {
    let clock = Arc::new(ManualClock::new(NOW));
    let store: Memory = MemoryStore::new(BUDGET, Arc::clone(&clock));
    World::serving(&json!({"max_body": "1KiB"}), store, clock, door(), Some(TOKEN))
}

/// One request to the admin listener, with these header lines.
pub(crate) fn send<S: Store + 'static>(
    world: &World<S>,
    line: &str,
    headers: &str,
    body: &str,
) -> Reply {
    let mut client = Client::connect(world.admin.unwrap());
    let length = body.len();
    let json =
        if headers.contains("content-type") { "" } else { "content-type: application/json\r\n" };
    let head =
        format!("{line} HTTP/1.1\r\nhost: t\r\n{json}{headers}content-length: {length}\r\n\r\n");
    client.send(format!("{head}{body}").as_bytes());
    client.reply()
}

pub(crate) fn bearer(token: &str) -> String {
    format!("authorization: Bearer {token}\r\n")
}

fn list<S: Store + 'static>(world: &World<S>, query: &str) -> Reply {
    send(world, &format!("GET /admin/blocks?{query}"), &bearer(TOKEN), "")
}

fn operate<S: Store + 'static>(world: &World<S>, verb: &str, body: &Value) -> Reply {
    send(world, &format!("POST /admin/{verb}"), &bearer(TOKEN), &body.to_string())
}

#[track_caller]
fn done(world: &World, verb: &str, body: &Value) -> Value {
    let reply = operate(world, verb, body);
    assert_eq!(reply.status, 200, "{verb} {body}: {reply:?}");
    reply.json()
}

fn on(account: &str) -> Value {
    json!({"policy": "door", "subject": {"account": account}})
}

fn decide(world: &World, account: &str) -> Value {
    world.post("/v1/decide", &on(account)).json()
}

fn with(mut value: Value, more: &Value) -> Value {
    for (name, field) in more.as_object().unwrap() {
        value[name] = field.clone();
    }
    value
}

#[test]
fn t43_without_a_token_there_is_no_admin_anywhere() {
    let off = World::new();
    assert_eq!(off.admin, None);
    let on = world();
    for path in ["/admin", "/admin/", "/admin/blocks", "/admin/block", "/v1/admin/blocks"] {
        for main in [&off, &on] {
            let mut client = main.client();
            let head = format!("GET {path} HTTP/1.1\r\nhost: t\r\n{}\r\n", bearer(TOKEN));
            client.send(head.as_bytes());
            assert_eq!(client.reply().status, 404, "{path}: the main listener knows no operators");
        }
    }
    let described = off.get("/openapi.json").json()["paths"].to_string();
    assert!(!described.contains("admin"), "{described}");
}

#[test]
fn t43_wrong_tokens_are_refused_and_counted_and_the_right_one_always_gets_in() {
    let world = world();
    for headers in ["", "authorization: Basic YTpi\r\n", &bearer(TOKEN).repeat(2)] {
        let reply = send(&world, "GET /admin/blocks", headers, "");
        assert_eq!(reply.status, 401, "{headers:?}");
        assert_eq!(reply.problem()["code"], "authentication.required");
        assert!(reply.header("www-authenticate").unwrap().starts_with("Bearer"), "{reply:?}");
    }
    for number in 0..10 {
        let headers = format!("{}x-forwarded-for: 192.0.2.{number}\r\n", bearer("guess"));
        assert_eq!(send(&world, "GET /admin/blocks", &headers, "").status, 401);
    }
    for path in ["/admin/blocks", "/other"] {
        let headers = format!("{}x-forwarded-for: 192.0.2.77\r\n", bearer("guess"));
        let reply = send(&world, &format!("GET {path}"), &headers, "");
        assert_eq!(reply.status, 429, "no header makes another address of it");
        assert_eq!(reply.header("retry-after"), Some("60"));
        assert!(reply.problem()["detail"].as_str().unwrap().contains("not the admin token"));
        assert_eq!(list(&world, "").status, 200, "wrong tokens keep no operator out");
    }
    let metrics = String::from_utf8(world.get("/metrics").body).unwrap();
    let line = "tidegate_http_requests_refused_total{reason=\"wrong_token\"} 12";
    assert!(metrics.lines().any(|found| found == line), "{line} in\n{metrics}");
    world.clock.advance(Span::MINUTE);
    assert_eq!(send(&world, "GET /admin/blocks", &bearer("guess"), "").status, 401);
}

#[test]
fn t43_nothing_is_told_or_done_without_the_token() {
    let world = world();
    let body = with(on("alice"), &json!({"for": "1h"})).to_string();
    for line in ["POST /admin/block", "GET /nowhere", "POST /admin/blocks", "GET /admin/reset"] {
        let reply = send(&world, line, "", &body);
        assert_eq!(reply.status, 401, "{line}: not even which paths there are");
    }
    assert_eq!(decide(&world, "alice")["verdict"], "admit");
}

#[test]
fn a_block_keeps_out_until_it_is_lifted() {
    let world = world();
    let blocked = done(&world, "block", &with(on("alice"), &json!({"for": "15min"})));
    assert_eq!(blocked["policy"], "door");
    let change = &blocked["changes"][0];
    assert_eq!((&change["limit"], &change["changed"]), (&json!("tries"), &json!(true)));
    assert_eq!(
        (&change["block"]["scope"], &change["block"]["ends_in"]),
        (&json!("operator"), &json!(900))
    );
    let denied = decide(&world, "alice");
    assert_eq!((&denied["verdict"], &denied["retry_after"]), (&json!("deny"), &json!(900)));
    assert_eq!(denied["next_allowed_at"], change["block"]["until"]);
    assert_eq!(decide(&world, "bob")["verdict"], "admit", "nobody else is concerned");
    let shorter = done(&world, "block", &with(on("alice"), &json!({"level": "L2"})));
    assert_eq!(shorter["changes"][0]["changed"], false, "a block is never made shorter");
    assert_eq!(shorter["changes"][0]["block"]["ends_in"], 900);
    let lifted = done(&world, "unblock", &on("alice"));
    assert_eq!(
        (&lifted["changes"][0]["changed"], &lifted["changes"][0]["block"]),
        (&json!(true), &Value::Null)
    );
    assert_eq!(decide(&world, "alice")["verdict"], "admit");
    assert_eq!(done(&world, "unblock", &on("nobody"))["changes"][0]["changed"], false);
}

#[test]
fn a_block_that_attempts_began_is_listed_counted_and_lifted() {
    let world = world();
    let verdicts: Vec<_> = (0..4).map(|_| decide(&world, "alice")["verdict"].clone()).collect();
    assert_eq!(verdicts, ["admit", "admit", "deny", "deny"]);
    done(&world, "block", &with(on("bob"), &json!({"level": "L3", "limit": "tries"})));
    decide(&world, "bob");
    let listed = every_block(&world, "");
    let told = |scope: &str| listed.iter().find(|block| block["scope"] == scope).unwrap().clone();
    assert_eq!(listed.len(), 2);
    assert_eq!(
        (&told("temp")["policy"], &told("temp")["limit"]),
        (&json!("door"), &json!("tries"))
    );
    assert_eq!((&told("temp")["ends_in"], &told("temp")["level"]), (&json!(30), &Value::Null));
    assert_eq!(
        (&told("operator")["ends_in"], &told("operator")["level"]),
        (&json!(300), &json!("L3"))
    );
    let metrics = String::from_utf8(world.get("/metrics").body).unwrap();
    for line in [
        "limiter_blocked_total{scope=\"temp\"} 2",
        "limiter_blocked_total{scope=\"long\"} 0",
        "limiter_blocked_total{scope=\"operator\"} 1",
        "tidegate_blocks_begun_total{policy=\"door\"} 1",
        "tidegate_store_entries{shape=\"attempts\"} 2",
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line} in\n{metrics}");
    }
    let key = json!({"key": told("temp")["key"]});
    let lifted = done(&world, "unblock", &key);
    assert_eq!((&lifted["policy"], &lifted["changes"][0]["changed"]), (&Value::Null, &json!(true)));
    assert_eq!(done(&world, "unblock", &key)["changes"][0]["changed"], false);
    assert_eq!(decide(&world, "alice")["verdict"], "admit");
    assert_eq!(every_block(&world, "").len(), 1);
}

#[test]
fn how_long_a_block_still_holds_is_told_by_the_clock_of_the_store() {
    let of_the_store = Arc::new(ManualClock::new(NOW));
    let store: Memory = MemoryStore::new(BUDGET, Arc::clone(&of_the_store));
    let ten_minutes_ahead = Arc::new(ManualClock::new(NOW.after(Span::from_secs(600))));
    let world = World::serving(&json!({}), store, ten_minutes_ahead, door(), Some(TOKEN));
    done(&world, "block", &with(on("alice"), &json!({"for": "15min"})));
    of_the_store.advance(Span::MINUTE);
    let listed = &every_block(&world, "")[0];
    assert_eq!(
        (&listed["ends_in"], &listed["ends_in_us"]),
        (&json!(840), &json!(840_000_000)),
        "{listed}"
    );
}

#[test]
fn resetting_an_action_leaves_the_global_counter() {
    let world = world();
    let left = |decision: &Value, limit: &str| {
        let readings = decision["readings"].as_array().unwrap();
        let reading = readings.iter().find(|reading| reading["name"] == limit).unwrap();
        reading["remaining"].clone()
    };
    decide(&world, "alice");
    let before = decide(&world, "alice");
    assert_eq!((left(&before, "tries"), left(&before, "all")), (json!(0), json!(98)));
    let reset = done(&world, "reset", &on("alice"));
    assert_eq!(reset["changes"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&reset["changes"][0]["limit"], &reset["changes"][0]["changed"]),
        (&json!("tries"), &json!(true))
    );
    let after = decide(&world, "alice");
    assert_eq!((left(&after, "tries"), left(&after, "all")), (json!(1), json!(97)));
    let named = done(&world, "reset", &with(on("alice"), &json!({"limit": "all"})));
    assert_eq!(named["changes"][0]["changed"], true, "unless it is named");
    assert_eq!(left(&decide(&world, "alice"), "all"), json!(99));
}

/// Every block there is, a page at a time.
fn every_block(world: &World, query: &str) -> Vec<Value> {
    let (mut blocks, mut after) = (Vec::new(), String::new());
    loop {
        let page = list(world, &format!("{query}{after}")).json();
        blocks.extend(page["blocks"].as_array().unwrap().iter().cloned());
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => return blocks,
        }
    }
}

#[test]
fn blocks_are_listed_page_by_page() {
    let world = world();
    for number in 0..40 {
        let account = format!("canary-{number}");
        done(&world, "block", &with(on(&account), &json!({"for": "1h"})));
    }
    let pages = every_block(&world, "at_most=50");
    let keys: BTreeSet<_> = pages.iter().map(|block| block["key"].to_string()).collect();
    assert_eq!((pages.len(), keys.len()), (40, 40), "each of them once");
    assert_ne!(list(&world, "at_most=50").json()["next"], Value::Null, "in more than one page");
    let text = serde_json::to_string(&pages).unwrap();
    assert!(!text.contains("canary"), "t41: accounts do not show: {text}");
    world.clock.advance(Span::HOUR);
    assert_eq!(every_block(&world, "").len(), 0, "what has ended is not listed");
}

#[test]
fn what_is_wrong_is_told_with_its_field_and_nothing_is_done() {
    let world = world();
    let alice = on("alice");
    for (verb, body, status, field) in [
        ("block", alice.clone(), 400, "/for"),
        ("block", with(alice.clone(), &json!({"for": "1h", "level": "L1"})), 400, "/level"),
        ("block", with(alice.clone(), &json!({"for": "1h", "limit": "triess"})), 400, "/limit"),
        ("block", with(alice.clone(), &json!({"for": "1h", "limit": "all"})), 400, "/limit"),
        ("block", with(alice.clone(), &json!({"for": "1h", "policy": "doors"})), 404, "/policy"),
        ("block", with(alice.clone(), &json!({"for": "1h", "until": 1})), 400, "/until"),
        ("block", with(alice.clone(), &json!({"for": "1h", "subject": {}})), 422, "/subject"),
        ("unblock", with(alice.clone(), &json!({"limit": "all"})), 400, "/limit"),
        ("unblock", json!({"key": "not a key"}), 400, "/key"),
        ("unblock", json!({"policy": "door", "subject": {"agent": "x"}}), 422, "/subject"),
        ("unblock", with(alice.clone(), &json!({"limit": "agents"})), 422, "/subject"),
        ("reset", json!({"policy": "door", "subject": {}}), 422, "/subject"),
        ("reset", with(alice, &json!({"for": "1h"})), 400, "/for"),
    ] {
        let reply = operate(&world, verb, &body);
        assert_eq!(reply.status, status, "{verb} {body}: {reply:?}");
        assert_eq!(reply.problem()["field"], field, "{verb} {body}");
    }
    let typo = with(on("alice"), &json!({"for": "1h", "limit": "triess"}));
    assert_eq!(operate(&world, "block", &typo).problem()["suggestion"], "tries");
    assert_eq!(list(&world, "after=nowhere").problem()["field"], "/after");
    assert_eq!(list(&world, "at_most=0").problem()["field"], "/at_most");
    assert_eq!(decide(&world, "alice")["verdict"], "admit");
}

#[test]
fn the_admin_listener_is_as_hard_as_the_other() {
    let world = world();
    let token = bearer(TOKEN);
    assert_eq!(send(&world, "GET /admin", &token, "").status, 404);
    let reply = send(&world, "DELETE /admin/block", &token, "");
    assert_eq!((reply.status, reply.header("allow")), (405, Some("POST")));
    let reply = send(&world, "POST /admin/blocks", &token, "");
    assert_eq!((reply.status, reply.header("allow")), (405, Some("GET, HEAD")));
    let reply = send(&world, "POST /admin/block", &token, &" ".repeat(1_025));
    assert_eq!((reply.status, reply.header("connection")), (413, Some("close")));
    let typed = format!("{token}content-type: text/plain\r\n");
    assert_eq!(send(&world, "POST /admin/block", &typed, "{}").status, 415);
    let long = format!("{token}x: {}\r\n", "y".repeat(17_000));
    assert_eq!(send(&world, "GET /admin/blocks", &long, "").status, 431);
    let many = "x: y\r\n".repeat(101);
    assert_eq!(send(&world, "GET /admin/blocks", &many, "").status, 431, "before it is counted");
    let unread = send(&world, "POST /admin/block", &bearer("wrong"), &" ".repeat(10_000));
    assert_eq!((unread.status, unread.header("connection")), (401, Some("close")));
    let mut idle: Vec<_> = (0..64).map(|_| Client::connect(world.admin.unwrap())).collect();
    assert!(idle.iter_mut().take(32).all(Client::is_closed), "one address has its share");
    assert_eq!(world.get("/livez").status, 200, "and takes nothing from those who ask");
}

#[test]
fn t34_strangers_who_hold_every_connection_give_way_to_an_operator() {
    let world = world();
    let mut silent: Vec<_> = (0..32).map(|_| Client::connect(world.admin.unwrap())).collect();
    let mut operator = Client::connect(world.admin.unwrap());
    let request =
        format!("GET /admin/blocks HTTP/1.1\r\nhost: t\r\n{}\r\n", bearer(TOKEN)).into_bytes();
    operator.send(&request);
    assert_eq!(operator.reply().status, 200);
    assert!(silent[0].is_closed(), "the oldest has made room");
    // Whoever has shown the token stays, however many come, and whatever wrong tokens they bring.
    for _ in 0..100 {
        let mut stranger = Client::connect(world.admin.unwrap());
        stranger
            .try_send(b"GET /admin/blocks HTTP/1.1\r\nhost: t\r\nauthorization: Bearer x\r\n\r\n");
        silent.push(stranger);
    }
    operator.send(&request);
    assert_eq!(operator.reply().status, 200);
    assert!(silent[1..32].iter_mut().all(Client::is_closed));
}

#[test]
fn a_store_that_fails_is_told_to_operators_too() {
    let clock = Arc::new(ManualClock::new(NOW));
    let store = Waiting::failing(StoreError::Unavailable);
    let world = World::serving(&json!({}), store, clock, door(), Some(TOKEN));
    assert_eq!(list(&world, "").status, 503);
    for verb in ["unblock", "reset"] {
        let reply = operate(&world, verb, &on("alice"));
        assert_eq!(reply.problem()["type"], "urn:tidegate:problem:store-failed", "{verb}");
    }
}
