//! What the log says, and what it never does.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Empty;
use serde_json::Value;
use tidegate_core::{ManualClock, StoreError};
use tidegate_engine::Engine;
use tidegate_test::page::SharedBuffer;
use tidegate_test::stub::Failing;
use tower::ServiceExt as _;
use tower_layer::Layer as _;
use tracing::Level;
use tracing::subscriber::with_default;

use super::{Ask, CORRELATION, World};
use crate::answer::Code;
use crate::identity::Identity;
use crate::report::Reporter;
use crate::request_id::RequestId;
use crate::routes::{Class, Routes};
use crate::visit::Peer;
use crate::{Gate, report};

/// What is logged meanwhile, as JSON and as text for people.
pub(super) fn logged(level: Level, during: impl Fn()) -> (Vec<Value>, String) {
    let (json, text) = (SharedBuffer::default(), SharedBuffer::default());
    let on = |page: &SharedBuffer| {
        let page = page.clone();
        move || page.clone()
    };
    let to = tracing_subscriber::fmt().json().with_max_level(level).with_writer(on(&json));
    with_default(to.finish(), &during);
    let to = tracing_subscriber::fmt().with_ansi(false).with_max_level(level);
    with_default(to.with_writer(on(&text)).finish(), &during);
    let parsed = json.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    (parsed, text.text())
}

pub(super) fn acme() -> Identity {
    Identity::new("acme").user("u7").token("tok_3")
}

#[test]
fn a_refusal_is_told_with_the_fields_of_the_contract() {
    let (json, _) = logged(Level::INFO, || {
        let world = World::new();
        for _ in 0..6 {
            world.ask(&Reporter::default(), &Ask::of(acme()));
        }
    });
    let [line] = json.as_slice() else { panic!("one refusal, {json:?}") };
    assert_eq!((&line["level"], &line["target"]), (&"INFO".into(), &report::TARGET.into()));
    let fields = &line["fields"];
    for (field, value) in [
        ("stage", "org".into()),
        ("org_id", "acme".into()),
        ("user_id", "u7".into()),
        ("token_id", "tok_3".into()),
        ("endpoint_class", "read".into()),
        ("route", "/v1/reports/{id}".into()),
        ("policy", "api".into()),
        ("limit", "burst".into()),
        ("scope", "org".into()),
        ("bucket", "api/burst/org".into()),
        ("request_id", "req-7f3a".into()),
        ("correlation_id", CORRELATION.into()),
        ("error_code", "throttling.rate_limit_exceeded".into()),
        ("status", Value::from(429)),
        ("verdict", "deny".into()),
        ("mode", "normal".into()),
        ("retry_after_ms", Value::from(12_000)),
        ("server_time", "2026-01-01T00:00:00.000000Z".into()),
    ] {
        assert_eq!(fields[field], value, "{field}");
    }
    assert_eq!(fields.get("block"), None, "what does not apply is left out");
}

/// What was logged of the refusals of requests whose store has been gone from the start.
fn refusals_without_a_store(requests: &[Ask]) -> Vec<Value> {
    let (json, _) = logged(Level::INFO, || {
        let clock = Arc::new(ManualClock::new(super::NOW));
        let store = Failing::failing(StoreError::Unavailable);
        let engine = Engine::new(store, super::policies()).timed_by(clock);
        for ask in requests {
            super::rule(&engine, ask, |ruled| Reporter::default().ruled(ruled));
        }
    });
    let refused = |line: &Value| line["fields"]["message"] == "request refused";
    json.into_iter().filter(refused).map(|line| line["fields"].clone()).collect()
}

#[test]
fn a_refusal_by_a_local_cap_is_told_with_its_bucket() {
    let bucket = |fields: &Value| {
        ["policy", "limit", "scope", "bucket", "request_id", "mode"]
            .map(|field| fields.get(field).and_then(Value::as_str).unwrap_or_default().to_owned())
    };
    // 60 in a minute by prefix and agent.
    let told = refusals_without_a_store(&vec![Ask::of(acme()); 61]);
    let [told] = told.as_slice() else { panic!("one refusal: {told:?}") };
    assert_eq!(
        bucket(told),
        ["api", "", "ip+agent", "api/guardrail/ip+agent", "req-7f3a", "degraded"]
    );
    // The ceiling of a limit: one in a second.
    let ask = Ask { policy: "slow", ..Ask::of(acme()) };
    let told = refusals_without_a_store(&[ask.clone(), ask]);
    let [told] = told.as_slice() else { panic!("one refusal: {told:?}") };
    assert_eq!(bucket(told), ["slow", "", "", "slow/ceiling", "req-7f3a", "degraded"]);
    // Each organisation has room below its ceiling, and all of them are one prefix and agent.
    let orgs = (0..61).map(|org| Identity::new(format!("org {org}")));
    let asks: Vec<_> = orgs.map(|org| Ask { policy: "slow", ..Ask::of(org) }).collect();
    let told = refusals_without_a_store(&asks);
    let [told] = told.as_slice() else { panic!("one refusal: {told:?}") };
    assert_eq!(
        bucket(told),
        ["slow", "", "ip+agent", "slow/guardrail/ip+agent", "req-7f3a", "degraded"]
    );
    // Denied by nobody in particular, then by the cap of addresses: 20 in ten minutes.
    let ask = Ask::from([198, 51, 100, 7].into(), "login");
    let told = refusals_without_a_store(&vec![ask; 24]);
    assert_eq!(told.len(), 4);
    assert_eq!(bucket(&told[0]), ["login", "", "", "", "req-7f3a", "fail_closed"]);
    assert_eq!(bucket(&told[3]), ["login", "", "ip", "login/guardrail/ip", "req-7f3a", "degraded"]);
}

#[test]
fn a_block_is_a_warning_and_degrading_is_told_too() {
    let (json, _) = logged(Level::INFO, || {
        let (world, reporter) = (World::new(), Reporter::default());
        for _ in 0..22 {
            world.ask(&reporter, &Ask::from([198, 51, 100, 7].into(), "login"));
        }
        for _ in 0..2 {
            world.ask(&reporter, &Ask { policy: "soft", ..Ask::of(acme()) });
        }
    });
    let told: Vec<_> = json
        .iter()
        .map(|line| (line["level"].as_str().unwrap(), &line["fields"]["verdict"]))
        .collect();
    assert_eq!(told, [("WARN", &"deny".into()), ("INFO", &"degrade".into())]);
    assert_eq!(json[0]["fields"]["block"], "temp");
    assert_eq!(json[1]["fields"]["status"], Value::Null, "it has passed");
}

#[test]
fn what_the_host_has_to_mend_is_an_error() {
    let (json, _) = logged(Level::INFO, || {
        let reporter = Reporter::default();
        reporter.unseen(Code::Misconfigured, &RequestId::generate());
        reporter.unseen(Code::InvalidPath, &RequestId::generate());
    });
    let told: Vec<_> =
        json.iter().map(|line| (&line["level"], &line["fields"]["status"])).collect();
    assert_eq!(told, [(&"ERROR".into(), &500.into()), (&"INFO".into(), &400.into())]);
}

#[test]
fn exactly_one_in_so_many_of_those_that_pass_is_told() {
    let told = |level, reporter: fn() -> Reporter| {
        let (json, _) = logged(level, || {
            let (world, reporter) = (World::new(), reporter());
            for org in 0..20 {
                assert!(world.ask(&reporter, &Ask::of(Identity::new(format!("org{org}")))));
            }
        });
        json.len()
    };
    let sampling = || Reporter::default().sampling(NonZeroU32::new(4).unwrap());
    assert_eq!(told(Level::DEBUG, sampling), 5);
    assert_eq!(told(Level::DEBUG, Reporter::default), 0);
    assert_eq!(told(Level::INFO, sampling), 0);
}

#[test]
fn t40_p84_hostile_ids_stay_on_their_line() {
    let hostile = [
        "\n{\"level\":\"error\",\"fields\":{}}",
        "\u{1b}[2J\u{1b}]0;owned\u{7}",
        "x user_id=root status=200",
        "\" , \"org_id\":\"other",
        "\u{202e}gro\u{2028}\u{85}\r",
        &"A".repeat(10_000),
    ];
    let asked = || {
        for id in hostile {
            let (world, reporter) = (World::new(), Reporter::default());
            let ask = Ask { route: id.into(), ..Ask::of(Identity::new(id).user(id).token(id)) };
            for _ in 0..6 {
                world.ask(&reporter, &ask);
            }
        }
    };
    let (json, text) = logged(Level::DEBUG, asked);
    assert_eq!(json.len(), hostile.len(), "one line for each refusal");
    assert_eq!(text.lines().count(), hostile.len());
    assert!(!text.chars().any(|char| char.is_control() && char != '\n'), "{text}");
    assert!(!text.contains(['\u{202e}', '\u{2028}', '\u{85}']), "{text}");
    assert!(text.lines().all(|line| line.len() < 2_000), "values are cut");
    // Who reads `key=value` finds each key once, outside of quotes.
    for line in text.lines() {
        let outside: String = line.replace("\\\"", "").split('"').step_by(2).collect();
        assert_eq!(outside.matches("user_id=").count(), 1, "{line}");
        assert_eq!(outside.matches("status=").count(), 1, "{line}");
    }
    for line in json {
        assert_eq!(line["level"], "INFO");
        assert!(line["fields"]["org_id"].as_str().unwrap().chars().count() <= 129 * 8);
    }
}

/// Every policy stands open: each request that passes is told of, with its mode.
#[test]
fn p22_a_request_that_passes_because_its_policy_fails_open_is_logged() {
    let (json, _) = logged(Level::WARN, || {
        let clock = Arc::new(ManualClock::new(super::NOW));
        let store = Failing::failing(StoreError::Unavailable);
        let engine = Engine::new(store, super::policies()).timed_by(clock);
        super::rule(&engine, &Ask::of(acme()), |ruled| Reporter::default().ruled(ruled));
    });
    let [line] = json.as_slice() else { panic!("one line: {json:?}") };
    assert_eq!(line["level"], "WARN");
    assert_eq!(line["fields"]["message"], "request admitted without the store");
    assert_eq!(line["fields"]["mode"], "fail_open");
    assert_eq!(line["fields"]["policy"], "api");
    assert_eq!(line["fields"]["org_id"], "acme");
}

#[test]
fn t41_p84_secrets_never_appear() {
    let secrets = ["Bearer canary-a", "canary-b", "canary-c", "canary-d", "203.0.113.77"];
    let client: IpAddr = [203, 0, 113, 77].into();
    let (json, text) = logged(Level::TRACE, || {
        let world = World::new();
        let routes = Routes::builder(Class::try_new("public", "front").unwrap()).build().unwrap();
        let reporter = Reporter::default().sampling(NonZeroU32::MIN);
        let gate = Gate::builder(Arc::clone(&world.engine), routes).reporter(reporter);
        let gate = gate.timed_by(world.clock).build().unwrap();
        let within = tower::service_fn(|_: Request<Empty<Bytes>>| async {
            Ok::<_, Infallible>(Response::new(Empty::<Bytes>::new()))
        });
        for _ in 0..5 {
            let mut request = Request::builder()
                .uri("/reset/canary-b?token=canary-c")
                .header("authorization", secrets[0])
                .header("cookie", "session=canary-d")
                .body(Empty::new())
                .unwrap();
            request.extensions_mut().insert(Peer(SocketAddr::new(client, 4_000)));
            tidegate_engine::ready(gate.early().layer(within).oneshot(request)).unwrap().unwrap();
        }
    });
    assert_eq!(json.len(), 5, "three that pass and two that do not, {json:?}");
    assert!(json.iter().all(|line| line["fields"]["route"] == "other"));
    let all = format!("{json:?}{text}");
    for secret in secrets {
        assert!(!all.contains(secret), "{secret} in {all}");
    }
}
