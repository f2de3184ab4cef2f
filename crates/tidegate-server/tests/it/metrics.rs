//! `/metrics`.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::json;
use tidegate_core::{Changes, ManualClock, Store, StoreError};
use tidegate_test::openmetrics;
use tidegate_test::stub::Stub;

use crate::raw::{Client, post};
use crate::world::{NOW, World};

const SCRAPE: &[u8] = b"GET /metrics HTTP/1.1\r\nhost: t\r\n\r\n";

fn scrape<S: Store + 'static>(world: &World<S>) -> String {
    String::from_utf8(world.get("/metrics").body).unwrap()
}

/// Some of everything.
fn busy() -> World {
    let world = World::new();
    let ask = json!({"policy": "api", "subject": {"org": "acme", "user": "u7"}});
    for _ in 0..5 {
        world.post("/v1/decide", &ask);
    }
    world.post("/v1/decide", &json!({"policy": "api"}));
    world.post("/v1/decide", &json!({"policy": "unknown"}));
    world.post("/v1/peek", &ask);
    world.get("/nowhere");
    let mut malformed = world.client();
    malformed.send(b"\0\r\n\r\n");
    assert_eq!(malformed.reply().status, 400);
    world.get("/v1/gate/queue");
    world
}

#[test]
fn what_happened_is_counted() {
    let metrics = scrape(&busy());
    for line in [
        "tidegate_decisions_total{policy=\"api\",verdict=\"admit\"} 3",
        "tidegate_decisions_total{policy=\"api\",verdict=\"deny\"} 2",
        "tidegate_decisions_total{policy=\"queue\",verdict=\"admit\"} 1",
        "tidegate_refusals_total{policy=\"api\",limit=\"burst\"} 2",
        "tidegate_refusals_total{policy=\"api\",limit=\"per-address\"} 0",
        "tidegate_decide_errors_total{policy=\"api\",kind=\"nothing_applies\"} 1",
        "tidegate_http_requests_total{route=\"/v1/decide\",status=\"2xx\"} 5",
        "tidegate_http_requests_total{route=\"/v1/decide\",status=\"4xx\"} 2",
        "tidegate_http_requests_total{route=\"/v1/peek\",status=\"2xx\"} 1",
        "tidegate_http_requests_total{route=\"other\",status=\"4xx\"} 2",
        "tidegate_http_request_duration_seconds_count 11",
        "tidegate_policies 5",
        "tidegate_store_entries{shape=\"bucket\"} 2",
        "tidegate_events_dropped_total 0",
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line} in\n{metrics}");
    }
    assert!(metrics.contains("tidegate_build_info{version=\""));
}

#[test]
fn changes_of_a_shared_store_are_counted() {
    let store = Stub::<_>::failing(StoreError::Timeout);
    store.wire().change(Changes { restarts: 3, failovers: 2 });
    let world = World::start(&json!({}), store, Arc::new(ManualClock::new(NOW)));
    assert_eq!(world.post("/v1/decide", &json!({"policy": "queue"})).json()["trouble"], "timeout");
    let metrics = scrape(&world);
    for line in [
        "tidegate_store_changes_total{kind=\"restart\"} 3",
        "tidegate_store_changes_total{kind=\"failover\"} 2",
        "tidegate_store_failures_total{policy=\"queue\",kind=\"timeout\"} 1",
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line} in\n{metrics}");
    }
    openmetrics::lint(&metrics);
    assert!(!scrape(&World::new()).contains("store_changes"), "memory has no servers");
}

#[test]
fn promtool_has_nothing_to_say() {
    openmetrics::lint(&scrape(&busy()));
}

#[test]
fn openmetrics_is_sent_to_those_who_accept_it() {
    let world = busy();
    let mut client = world.client();
    assert_eq!(
        client.get("/metrics").header("content-type"),
        Some("text/plain; version=0.0.4; charset=utf-8")
    );
    client.send(
        b"GET /metrics HTTP/1.1\r\nhost: t\r\n\
          accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5\r\n\r\n",
    );
    let reply = client.reply();
    let content_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert_eq!(reply.header("content-type"), Some(content_type));
    let text = String::from_utf8(reply.body).unwrap();
    let families = openmetrics::read(&text).unwrap();
    // The clock of this world stands still, so every request is in the first bucket, up to 10 µs.
    let all = "histogram_quantile(1, tidegate_http_request_duration_seconds_bucket)";
    openmetrics::evaluates(&families, &format!("round({all} * 1e6)"), "10");
    assert!(text.contains("# TYPE tidegate_decisions counter\n"));
    assert!(text.contains("# UNIT tidegate_http_request_duration_seconds seconds\n"));
}

/// Names and label sets, without the values.
fn series(metrics: &str) -> BTreeSet<String> {
    let samples = metrics.lines().filter(|line| !line.starts_with('#'));
    samples.map(|line| line.rsplit_once(' ').unwrap().0.to_owned()).collect()
}

fn any_request() -> impl Strategy<Value = Vec<u8>> {
    let text = "[!-~&&[^\"\\\\]]{1,20}";
    let decide = (text, text, text, any::<i64>()).prop_map(|(policy, org, user, cost)| {
        let subject = json!({"org": org, "user": user, "agent": policy});
        let ask = json!({"policy": policy, "subject": subject, "cost": cost});
        post("/v1/decide", ask.to_string().as_bytes())
    });
    let known = (text, text).prop_map(|(org, user)| {
        let ask = json!({"policy": "api", "subject": {"org": org, "user": user}});
        post("/v1/decide", ask.to_string().as_bytes())
    });
    let get = ("(GET|PUT|[A-Z]{1,8})", "[a-z0-9/._-]{0,20}", "[a-z]{1,10}", "[!-~]{0,20}")
        .prop_map(|(method, path, header, value)| {
            let head =
                format!("{method} /{path} HTTP/1.1\r\nhost: t\r\nx-{header}: {value}\r\n\r\n");
            head.into_bytes()
        });
    let gate = (text, "[a-z0-9._-]{1,20}").prop_map(|(org, policy)| {
        format!("GET /v1/gate/{policy} HTTP/1.1\r\nhost: t\r\nx-org: {org}\r\n\r\n").into_bytes()
    });
    prop_oneof![decide, known, get, gate]
}

/// What the label `route` can be.
const ROUTES: [&str; 12] = [
    "/v1/decide",
    "/v1/decide/batch",
    "/v1/peek",
    "/v1/settle",
    "/v1/policies",
    "/v1/explain/{policy}",
    "/v1/gate/{policy}",
    "/livez",
    "/readyz",
    "/metrics",
    "/openapi.json",
    "other",
];

#[test]
fn p83_no_request_adds_a_series() {
    let world = busy();
    // Every route and class of status there can be is known in advance.
    let known: BTreeSet<String> = ROUTES
        .iter()
        .flat_map(|route| ["1xx", "2xx", "3xx", "4xx", "5xx"].map(|class| (route, class)))
        .map(|(route, class)| {
            format!("tidegate_http_requests_total{{route=\"{route}\",status=\"{class}\"}}")
        })
        .collect();
    let before: BTreeSet<_> = series(&scrape(&world));
    let mut runner = TestRunner::new(Config { cases: 400, ..Config::default() });
    runner
        .run(&any_request(), |request| {
            let mut client = Client::connect(world.address);
            client.try_send(&request);
            let _ = client.try_reply(true);
            Ok(())
        })
        .unwrap();
    let after = series(&scrape(&world));
    assert!(before.len() <= 5 * 64, "{} series for five policies", before.len());
    let new: Vec<_> = after.difference(&before).filter(|series| !known.contains(*series)).collect();
    assert_eq!(new, Vec::<&String>::new());
}

#[test]
fn t12_scrapes_that_nobody_waits_for_are_not_made_one_after_another() {
    let clock = Arc::new(ManualClock::new(NOW));
    let store: Stub = Stub::in_memory(&clock);
    let wire = Arc::clone(store.wire());
    let world = World::start(&json!({}), store, clock);
    let first = scrape(&world);
    let looks = wire.looks();
    assert_ne!(looks, 0, "a scrape counts the counters");
    let held = wire.hold_looks();
    let mut patient = world.client();
    patient.send(SCRAPE);
    while wire.looks() == looks {}
    for _ in 0..2_000 {
        world.client().send(SCRAPE);
    }
    assert_eq!(scrape(&world), first, "nobody waits for the one that is being made");
    // Those who are gone take no places for long: who waits and who asks are left.
    while world.get("/readyz").json()["connections"].as_u64().unwrap() > 2 {}
    drop(held);
    assert_eq!(patient.reply().status, 200);
    assert_eq!(wire.looks(), looks + 1, "and nothing was left to do for them");
}
