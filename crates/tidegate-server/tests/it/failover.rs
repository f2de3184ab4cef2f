//! A store that fails, as hosts, end users and operators see it.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Value, json};
use tidegate_core::{ManualClock, Mode, Span, StoreError};
use tidegate_test::probe;
use tidegate_test::stub::{Stub, StubWire};
use tidegate_tower::answer::Code;

use crate::raw::Reply;
use crate::world::{NOW, World};

/// A server on such a store, and what makes it fail.
struct Outage {
    world: World<Stub>,
    wire: Arc<StubWire>,
}

// === impl Outage ===

impl Outage {
    /// With a store that fails like this from the start.
    fn of(error: Option<StoreError>) -> Self {
        let clock = Arc::new(ManualClock::new(NOW));
        let store = Stub::in_memory(&clock);
        let wire = Arc::clone(store.wire());
        wire.fail(error);
        let gate = json!({"trusted_peers": ["127.0.0.0/8"], "headers": {
            "org": "x-org", "user": "x-user", "account": "x-login", "ip": "x-forwarded-for",
        }});
        Self { world: World::start(&json!({ "gate": gate }), store, clock), wire }
    }

    fn fails_with(&self, error: Option<StoreError>) {
        self.wire.fail(error);
    }

    /// Lets time pass, with probes.
    fn pass(&self, seconds: u64) {
        for _ in 0..seconds {
            self.world.clock.advance(Span::SECOND);
            probe(&self.world.engine);
        }
    }

    fn decide(&self, policy: &str) -> Value {
        let subject = json!({"org": "acme", "user": "u7", "ip": "203.0.113.7", "account": "ada"});
        let reply = self.world.post("/v1/decide", &json!({"policy": policy, "subject": subject}));
        assert_eq!(reply.status, 200, "{:?}", reply.json());
        reply.json()
    }

    fn ask(&self, target: &str, headers: &str) -> Reply {
        let mut client = self.world.client();
        client.send(format!("GET {target} HTTP/1.1\r\nhost: t\r\n{headers}\r\n").as_bytes());
        client.reply()
    }

    fn metrics(&self) -> String {
        String::from_utf8(self.world.get("/metrics").body).unwrap()
    }

    fn metric(&self, series: &str) -> u64 {
        let metrics = self.metrics();
        let line = metrics.lines().find_map(|line| line.strip_prefix(&format!("{series} ")));
        line.unwrap_or_else(|| panic!("{series} in\n{metrics}")).parse().unwrap()
    }
}

const GONE: Option<StoreError> = Some(StoreError::Unavailable);

#[test]
fn p10_with_a_dead_store_logins_are_refused_and_interfaces_are_guarded_from_the_start() {
    let outage = Outage::of(GONE);
    let login = outage.decide("login");
    assert_eq!((&login["verdict"], &login["mode"]), (&json!("deny"), &json!("fail_closed")));
    assert_eq!((&login["trouble"], &login["retry_after"]), (&json!("unavailable"), &json!(10)));
    assert_eq!((login.get("guardrail"), &login["readings"]), (None, &json!([])));
    let api = outage.decide("api");
    assert_eq!((&api["verdict"], &api["mode"]), (&json!("admit"), &json!("fail_open")));
    let guardrail = json!({"by": api["guardrail"]["by"], "limit": 60, "per": 60, "remaining": 59});
    assert_eq!(api["guardrail"], guardrail);
    assert_eq!((&login["source"], &api["source"]), (&json!("global"), &json!("global")));
    let by = api["guardrail"]["by"].as_str().unwrap();
    assert!(by.contains("ip") && by.contains("agent"), "{by}");
    let peeked = outage.world.post("/v1/peek", &json!({"policy": "queue"})).json();
    assert_eq!((&peeked["mode"], &peeked["blocked"]), (&json!("fail_closed"), &json!(true)));
    let ask = json!({"requests": [{"policy": "queue"}]});
    let batch = outage.world.post("/v1/decide/batch", &ask).json();
    assert_eq!(batch["results"][0]["mode"], "fail_closed");
    let ready = outage.world.get("/readyz");
    assert_eq!((ready.status, &ready.json()["status"]), (200, &json!("degraded")));
    assert_eq!(ready.json()["modes"]["api"], "fail_open");
    assert_eq!(ready.json()["mode"], "fail_closed", "the worst");
}

#[test]
fn p22_every_admission_of_a_policy_that_fails_open_is_counted() {
    let outage = Outage::of(None);
    assert_eq!(outage.decide("api")["mode"], "normal");
    outage.fails_with(GONE);
    let told: Vec<_> = (0..70).map(|_| outage.decide("api")).collect();
    let counted = |mode: &str, verdict: &str| {
        let of = |it: &&Value| it["mode"] == mode && it["verdict"] == verdict;
        u64::try_from(told.iter().filter(of).count()).unwrap()
    };
    assert_eq!(outage.metric("fail_open_admitted_total{policy=\"api\"}"), 3, "until it trips");
    for (mode, verdict) in [("fail_open", "admit"), ("degraded", "admit"), ("degraded", "deny")] {
        let series = "tidegate_decisions_by_mode_total{policy=\"api\",mode=";
        let series = format!("{series}\"{mode}\",verdict=\"{verdict}\"}}");
        assert_eq!(outage.metric(&series), counted(mode, verdict), "{series}");
        assert!(counted(mode, verdict) > 0, "{mode} {verdict}");
    }
    assert_eq!(counted("fail_open", "admit") + counted("degraded", "admit"), 60, "the locked cap");
    for (series, count) in [
        ("tidegate_mode{policy=\"api\",mode=\"degraded\"}", 1),
        ("tidegate_mode{policy=\"api\",mode=\"normal\"}", 0),
        ("tidegate_degraded_epochs_total{policy=\"api\"}", 1),
        ("tidegate_mode_changes_total{policy=\"api\",cause=\"degraded_entered\"}", 1),
        ("tidegate_store_failures_total{policy=\"api\",kind=\"unavailable\"}", 3),
        ("tidegate_failure_contract_info{version=\"2\",spec=\"1.0.0\",hardening=\"1.2.0\"}", 1),
    ] {
        assert_eq!(outage.metric(series), count, "{series}");
    }
}

/// How each policy stands, as `/v1/policies` says it.
fn standings(outage: &Outage) -> Vec<(String, Value)> {
    let listed = outage.world.get("/v1/policies").json();
    let policies = listed["policies"].as_array().unwrap();
    let of = |it: &Value| (it["name"].as_str().unwrap().to_owned(), it["standing"].clone());
    policies.iter().map(of).collect()
}

#[test]
fn p80_mode_epoch_and_failures_can_be_asked_at_any_time() {
    let outage = Outage::of(None);
    let check = |mode: &str, what: &str| {
        for (name, told) in standings(&outage) {
            let of = outage.world.engine.standing(&name).unwrap();
            let expected =
                json!({"mode": of.mode.name(), "epoch": of.epoch, "failures": of.failures});
            assert_eq!(told, expected, "{name}, {what}");
            if name == "login" {
                assert_eq!(told["mode"], mode, "{what}");
            }
        }
    };
    check("fail_closed", "nothing is known of the store yet");
    probe(&outage.world.engine);
    check("normal", "it has answered a probe");
    assert_eq!(outage.metric("tidegate_probes_total{policy=\"login\",outcome=\"good\"}"), 1);
    outage.fails_with(GONE);
    outage.decide("login");
    check("fail_closed", "one failure, and no answer since");
    outage.pass(10);
    check("degraded", "probes found it gone");
    outage.fails_with(None);
    outage.pass(290);
    check("degraded", "for five minutes at least");
    outage.pass(20);
    check("normal", "it is healthy");
    assert_eq!(outage.decide("login")["mode"], "normal");
    let ready = outage.world.get("/readyz").json();
    assert_eq!((&ready["status"], &ready["modes"]), (&json!("ready"), &json!({})));
    let left = "tidegate_mode_changes_total{policy=\"login\",cause=\"degraded_left\"}";
    assert_eq!(outage.metric(left), 1);
}

#[test]
fn p81_the_critical_signal_rides_in_the_decision() {
    let outage = Outage::of(Some(StoreError::Refused));
    assert_eq!(outage.decide("login")["alarm"], "refused");
    outage.fails_with(Some(StoreError::Corrupt { charge: 0 }));
    let told = outage.decide("queue");
    assert_eq!((&told["alarm"], &told["trouble"]), (&json!("corrupt"), &json!("corrupt")));
    assert_eq!(outage.metric("tidegate_alarms_total{policy=\"login\",alarm=\"refused\"}"), 1);
    assert_eq!(outage.metric("tidegate_alarms_total{policy=\"queue\",alarm=\"corrupt\"}"), 1);
}

#[test]
fn local_caps_refuse_with_the_usual_status_and_say_when_an_outage_is_prolonged() {
    let outage = Outage::of(GONE);
    let who = "x-login: ada\r\nx-forwarded-for: 203.0.113.7\r\n";
    for _ in 0..3 {
        let closed = outage.ask("/v1/gate/login?deny=403", who);
        assert_eq!((closed.status, closed.header("retry-after")), (503, Some("10")));
    }
    for _ in 0..3 {
        assert_eq!(outage.ask("/v1/gate/login", who).status, 200, "degraded");
    }
    let refused = outage.ask("/v1/gate/login", who);
    assert_eq!((refused.status, refused.header("retry-after")), (429, Some("600")));
    assert_eq!(outage.ask("/v1/gate/login?deny=403", who).status, 403);
    let told = outage.decide("login");
    assert_eq!((&told["block"]["level"], &told["block"]["scope"]), (&json!("L2"), &json!("temp")));
    assert_eq!(told["guardrail"]["limit"], 3, "by account");
    let flood = || {
        for _ in 0..60 {
            outage.ask("/v1/gate/api", who);
        }
        outage.ask("/v1/gate/api", who)
    };
    let usual = "throttling.rate_limit_exceeded";
    assert_eq!((flood().status, &flood().problem()["code"]), (429, &usual.into()));
    outage.world.clock.advance(Span::from_secs(301));
    let refused = flood();
    assert_eq!(refused.problem()["code"], "throttling.enforcement_degraded");
    assert_eq!(refused.status, 429);
    let login = outage.ask("/v1/gate/login", who);
    assert_eq!((login.status, &login.problem()["code"]), (429, &usual.into()));
}

#[test]
fn p82_nothing_from_within_shows_in_what_end_users_get() {
    let kinds = [
        StoreError::Unavailable,
        StoreError::Timeout,
        StoreError::Contended,
        StoreError::Corrupt { charge: 0 },
        StoreError::Version { charge: 0 },
        StoreError::Refused,
    ];
    let who = "x-org: c4n4ry\r\nx-user: c4n4ry\r\nx-login: c4n4ry\r\n";
    let mut seen = BTreeSet::new();
    for kind in kinds {
        let outage = Outage::of(Some(kind));
        for after in [0, 301] {
            outage.world.clock.advance(Span::from_secs(after));
            for target in ["login", "api", "tokens", "queue", "degrade", "api?deny=403"] {
                // More than local caps admit.
                for _ in 0..if target == "api" { 61 } else { 12 } {
                    let reply = outage.ask(&format!("/v1/gate/{target}"), who);
                    clean(&reply);
                    let code = (reply.status != 200).then(|| reply.problem()["code"].clone());
                    let code = code.as_ref().and_then(Value::as_str).unwrap_or_default();
                    seen.insert((reply.status, code.replace("throttling.", "")));
                }
            }
        }
    }
    let expected = [
        (200, ""),
        (403, "enforcement_degraded"),
        (403, "rate_limit_exceeded"),
        (429, "enforcement_degraded"),
        (429, "rate_limit_exceeded"),
        (503, "overloaded"),
        (503, "unavailable"),
    ];
    let expected = expected.map(|(status, code)| (status, code.to_owned()));
    assert_eq!(seen, BTreeSet::from(expected), "every way to answer");
}

/// A text in lower case without the codes that end users may be told, as the layers tell them.
pub(crate) fn told(mut text: String) -> String {
    for code in [Code::EnforcementDegraded, Code::RateLimitExceeded, Code::Unavailable] {
        for part in [code.name(), &code.urn(), code.title()] {
            text = text.replace(&format!("\"{}\"", part.to_lowercase()), "");
        }
    }
    text
}

/// Looks at every byte of a reply but for what the seeds prescribe.
fn clean(reply: &Reply) {
    let mut text = String::from_utf8_lossy(&reply.body).to_lowercase();
    for (name, value) in &reply.headers {
        write!(text, "\n{name}: {value}").unwrap();
    }
    let text = told(text).replace("no-store", "");
    let modes = Mode::ALL.map(Mode::name).into_iter().filter(|name| *name != "normal");
    let others = ["c4n4ry", "store", "stub", "guardrail", "policy", "epoch", "login", "tokens"];
    for internal in modes.chain(others).chain(StoreError::NAMES) {
        assert!(!text.contains(internal), "{internal} in {text}");
    }
}

#[test]
fn p83_a_store_that_fails_adds_no_series_whatever_is_asked() {
    let outage = Outage::of(None);
    let series = || {
        let metrics = outage.metrics();
        let samples = metrics.lines().filter(|line| !line.starts_with('#'));
        let samples = samples.filter(|line| !line.starts_with("tidegate_http_"));
        samples.map(|line| line.rsplit_once(' ').unwrap().0.to_owned()).collect::<BTreeSet<_>>()
    };
    let before = series();
    assert!(before.len() <= 5 * 60, "{} series for five policies", before.len());
    let kinds = [
        None,
        GONE,
        Some(StoreError::Refused),
        Some(StoreError::Corrupt { charge: 0 }),
        Some(StoreError::Version { charge: 1 }),
    ];
    for (round, kind) in kinds.into_iter().enumerate() {
        outage.fails_with(kind);
        for policy in ["api", "login", "tokens", "queue", "degrade", "\"}\n1", "unknown"] {
            let fact = format!("{policy}\"}},x=\"{round}\n");
            let subject = json!({"org": fact, "user": fact, "account": fact, "agent": fact});
            let ask = json!({"policy": policy, "subject": subject});
            outage.world.post("/v1/decide", &ask);
            outage.world.post("/v1/peek", &ask);
        }
        outage.pass(11);
    }
    assert_eq!(series(), before);
}

#[test]
fn explain_says_what_applies_although_the_store_does_not_answer() {
    let outage = Outage::of(GONE);
    let explained = outage.world.get("/v1/explain/api?org=acme&ip=203.0.113.7").json();
    assert_eq!((&explained["mode"], &explained["verdict"]), (&json!("fail_open"), &json!("admit")));
    let limits = explained["limits"].as_array().unwrap();
    assert_eq!((&limits[0]["applies"], &limits[1]["applies"]), (&json!(false), &json!(true)));
    assert_eq!(limits[1]["reading"], Value::Null);
}

#[test]
fn what_cannot_be_settled_is_a_problem_of_ours() {
    let outage = Outage::of(None);
    let ticket = outage.decide("tokens")["ticket"].clone();
    outage.fails_with(GONE);
    let reply = outage.world.post("/v1/settle", &json!({"ticket": ticket, "cost": 0}));
    assert_eq!(reply.status, 503);
    assert_eq!(reply.problem()["type"], "urn:tidegate:problem:store-failed");
}

#[test]
fn a39_too_many_at_once_is_503_with_retry_after_at_every_door_and_feeds_nothing() {
    let outage = Outage::of(None);
    probe(&outage.world.engine);
    let ticket = outage.decide("tokens")["ticket"].clone();
    outage.fails_with(Some(StoreError::Contended));
    let subject = json!({"org": "acme", "user": "u7", "ip": "203.0.113.7", "account": "ada"});
    let ask = json!({"policy": "api", "subject": subject});
    let shed = |reply: &Reply| {
        assert_eq!((reply.status, reply.header("retry-after")), (503, Some("1")));
        let problem = reply.problem();
        assert_eq!(problem["type"], "urn:tidegate:problem:overloaded");
        assert_eq!((&problem["status"], &problem["retry_after"]), (&json!(503), &json!(1)));
    };
    for _ in 0..4 {
        shed(&outage.world.post("/v1/decide", &ask));
        shed(&outage.world.post("/v1/peek", &ask));
    }
    shed(&outage.world.get("/v1/explain/api?org=acme&ip=203.0.113.7"));
    shed(&outage.world.post("/v1/settle", &json!({"ticket": ticket, "cost": 0})));
    let batch = outage.world.post("/v1/decide/batch", &json!({"requests": [ask, ask]}));
    assert_eq!(batch.status, 200);
    for (place, result) in batch.json()["results"].as_array().unwrap().iter().enumerate() {
        assert_eq!(result["type"], "urn:tidegate:problem:overloaded");
        assert_eq!((&result["status"], &result["retry_after"]), (&json!(503), &json!(1)));
        assert_eq!(result["field"], format!("/requests/{place}"));
    }
    for target in ["/v1/gate/api", "/v1/gate/login", "/v1/gate/api?deny=403"] {
        let reply = outage.ask(target, "x-org: acme\r\nx-user: u7\r\nx-login: ada\r\n");
        assert_eq!((reply.status, reply.header("retry-after")), (503, Some("1")));
        assert_eq!(reply.problem()["code"], "throttling.overloaded");
        let detail = format!("{} Try again in 1 second.", Code::Overloaded.message());
        assert_eq!(reply.problem()["detail"], detail, "nothing from within");
    }
    assert_eq!(outage.metric("tidegate_shed_total{policy=\"api\"}"), 8 + 1 + 2 + 2);
    assert_eq!(outage.metric("tidegate_shed_total{policy=\"login\"}"), 1);
    assert_eq!(outage.metric("tidegate_shed_total{policy=\"tokens\"}"), 1);
    let errors = "tidegate_decide_errors_total{policy=\"api\",kind=\"overloaded\"}";
    assert_eq!(outage.metric(errors), 4 + 2 + 2, "decisions, and no looks");
    for (policy, standing) in standings(&outage) {
        assert_eq!(standing["mode"], "normal", "{policy}: {standing}");
    }
    outage.fails_with(None);
    assert_eq!(outage.decide("api")["mode"], "normal");
}
