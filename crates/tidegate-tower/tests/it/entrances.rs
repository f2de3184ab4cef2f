//! A class that is an entrance is decided by a policy that fails closed, whoever asks and whatever is
//! reloaded.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Response, StatusCode};
use http_body_util::Full;
use tidegate_core::{ManualClock, PolicySet, PolicySetBuilder, Timestamp};
use tidegate_engine::file::{File, NoDoor};
use tidegate_engine::memory::{Budget, MemoryStore};
use tidegate_engine::{Engine, ready};
use tidegate_tower::routes::{Class, Route, Unfit};
use tidegate_tower::{Gate, GateError, Identity, Routes};
use tower::{Layer, ServiceExt, service_fn};

use crate::world::{acme, request};

type Store = MemoryStore<Arc<ManualClock>>;

const FITS: bool = true;
const OPEN: bool = false;

/// An HTTP class, the policy before authentication, the one behind it, and whether they go together.
/// Policies are called by what they protect, or by how they fail if that is nothing in particular.
const TABLE: [(&str, &str, &str, bool); 41] = [
    // One that stands alone.
    ("auth", "fail_open", "", OPEN),
    ("auth", "degraded", "", OPEN),
    ("auth", "read", "", OPEN),
    ("auth", "health", "", OPEN),
    // It fails closed, but to a tenth of its limits and not to the caps of an entrance.
    ("auth", "spend", "", OPEN),
    ("auth", "auth", "", FITS),
    ("auth", "admin", "", FITS),
    ("auth", "login", "", FITS),
    ("auth", "otp", "", FITS),
    ("auth", "step_up", "", FITS),
    ("admin", "fail_open", "", OPEN),
    ("admin", "degraded", "", OPEN),
    ("admin", "api_heavy", "", OPEN),
    ("admin", "admin", "", FITS),
    ("admin", "login", "", FITS),
    ("login", "fail_open", "", OPEN),
    ("login", "login", "", FITS),
    ("otp", "degraded", "", OPEN),
    ("otp", "otp", "", FITS),
    ("step_up", "fail_open", "", OPEN),
    ("step-up", "fail_open", "", OPEN),
    ("step_up", "step_up", "", FITS),
    // One in front of another.
    ("auth", "fail_open", "auth", FITS),
    ("auth", "degraded", "admin", FITS),
    ("auth", "auth", "auth", FITS),
    ("auth", "fail_open", "fail_open", OPEN),
    ("auth", "fail_open", "degraded", OPEN),
    ("auth", "auth", "fail_open", OPEN),
    ("auth", "auth", "bulk", OPEN),
    ("admin", "fail_open", "admin", FITS),
    ("admin", "fail_open", "write", OPEN),
    ("admin", "fail_open", "spend", OPEN),
    ("admin", "admin", "degraded", OPEN),
    ("login", "fail_open", "read", OPEN),
    // Classes that let nobody in.
    ("read", "fail_open", "", FITS),
    ("read", "fail_open", "degraded", FITS),
    ("write", "degraded", "fail_open", FITS),
    ("health", "fail_open", "", FITS),
    ("export", "fail_open", "fail_open", FITS),
    ("export", "auth", "auth", FITS),
    ("export", "fail_open", "spend", FITS),
];

/// How a policy of the table fails, and what it protects.
fn ways(called: &str) -> String {
    match called {
        "fail_open" | "degraded" => format!("failure_mode: {called}"),
        "login" | "otp" | "step_up" | "auth" | "admin" | "spend" => {
            format!("failure_mode: fail_closed\n    protects: {called}")
        }
        ordinary => format!("failure_mode: fail_open\n    protects: {ordinary}"),
    }
}

fn policies(early: &str, org: &str) -> PolicySetBuilder {
    let bucket = "bucket: { rate: 1/s, burst: 50 }";
    let mut text = format!(
        "version: 1\npolicies:\n  - name: front\n    {}\n    limits:\n      - {{ name: address, by: \
         [ip, class], {bucket} }}\n",
        ways(early)
    );
    if !org.is_empty() {
        text += &format!(
            "  - name: back\n    {}\n    limits:\n      - {{ name: org, by: [org, class], {bucket} }}\n",
            ways(org)
        );
    }
    let file: File<NoDoor> = File::parse("f.yaml", &text).unwrap_or_else(|error| panic!("{error}"));
    file.policies().clone()
}

/// Routes with this class, either for one path or for all that no route matches.
fn routes(class: &str, org: &str, is_default: bool) -> Routes {
    let of = |name: &str| {
        let class = Class::try_new(name, "front").unwrap();
        if org.is_empty() { class } else { class.then("back").unwrap() }
    };
    let routes = match is_default {
        true => Routes::builder(of(class)),
        false => Routes::builder(of("other")).class(of(class)).route(Route::new("/enter", class)),
    };
    routes.build().unwrap()
}

fn gate(policies: &PolicySetBuilder, routes: Routes) -> Result<Gate<Store>, GateError> {
    let clock = Arc::new(ManualClock::new(Timestamp::from_micros(1_800_000_000_000_000)));
    let set: PolicySet = policies.clone().build(None).unwrap();
    let engine = Engine::new(MemoryStore::new(Budget::default(), Arc::clone(&clock)), set);
    Gate::builder(Arc::new(engine), routes).timed_by(clock).build()
}

/// Sends a request through these layers: both, or the one behind authentication alone.
fn send(gate: &Gate<Store>, identity: Option<Identity>, is_early: bool) -> StatusCode {
    let service =
        service_fn(|_| async { Ok::<_, Infallible>(Response::new(Full::<Bytes>::default())) });
    let request = request(Method::POST, "/enter", identity);
    let inner = gate.org().layer(service);
    match is_early {
        true => ready(gate.early().layer(inner).oneshot(request)).unwrap().unwrap().status(),
        false => ready(inner.oneshot(request)).unwrap().unwrap().status(),
    }
}

#[test]
fn p04_a34_an_entrance_needs_a_policy_that_fails_closed_when_a_gate_is_built() {
    for (class, early, org, fits) in TABLE {
        for is_default in [false, true] {
            let gate = gate(&policies(early, org), routes(class, org, is_default));
            match gate.map(drop) {
                Ok(()) => assert!(fits, "{class} {early} {org}"),
                Err(GateError::Unfit(Unfit::OpenEntrance { .. })) => {
                    assert!(!fits, "{class} {early} {org}");
                }
                Err(other) => panic!("{class} {early} {org}: {other}"),
            }
        }
    }
}

#[test]
fn p04_a34_no_reload_of_a_gate_opens_an_entrance() {
    for (class, early, org, fits) in TABLE {
        let closed = if org.is_empty() { "" } else { "auth" };
        let gate = gate(&policies("auth", closed), routes(class, org, false)).unwrap();
        let before = Arc::clone(&gate.engine().policies());
        let reloaded = gate.reload(&policies(early, org));
        assert_eq!(reloaded.is_ok(), fits, "{class} {early} {org}");
        let kept = Arc::ptr_eq(&before, &gate.engine().policies());
        assert_eq!(kept, !fits, "what is refused changes nothing");
        assert_eq!(send(&gate, Some(acme()), true), StatusCode::OK, "{class} {early} {org}");
    }
}

#[test]
fn p04_a34_a_reload_behind_the_gate_opens_no_entrance() {
    for (class, early, org, fits) in TABLE {
        let closed = if org.is_empty() { "" } else { "auth" };
        let gate = gate(&policies("auth", closed), routes(class, org, false)).unwrap();
        assert_eq!(send(&gate, Some(acme()), true), StatusCode::OK);
        gate.engine().reload(&policies(early, org)).unwrap();
        let answer = if fits { StatusCode::OK } else { StatusCode::INTERNAL_SERVER_ERROR };
        assert_eq!(send(&gate, Some(acme()), true), answer, "{class} {early} {org}");
    }
}

#[test]
fn p04_a34_an_early_policy_that_fails_open_is_never_the_last_word_at_an_entrance() {
    for (early, answer) in [
        ("fail_open", StatusCode::UNAUTHORIZED),
        ("degraded", StatusCode::UNAUTHORIZED),
        ("auth", StatusCode::OK),
        ("login", StatusCode::OK),
    ] {
        let gate = gate(&policies(early, "admin"), routes("admin", "admin", false)).unwrap();
        assert_eq!(send(&gate, None, true), answer, "nobody is known: {early}");
        assert_eq!(send(&gate, Some(acme()), true), StatusCode::OK, "{early}");
    }
    let gate = gate(&policies("fail_open", "degraded"), routes("read", "read", false)).unwrap();
    assert_eq!(send(&gate, None, true), StatusCode::OK, "elsewhere it is");
}

#[test]
fn a34_where_only_the_early_policy_decides_the_org_layer_alone_lets_nobody_through() {
    for class in ["auth", "read"] {
        let gate = gate(&policies("auth", ""), routes(class, "", false)).unwrap();
        let alone = send(&gate, Some(acme()), false);
        assert_eq!(alone, StatusCode::INTERNAL_SERVER_ERROR, "nothing has limited it: {class}");
        assert_eq!(send(&gate, Some(acme()), true), StatusCode::OK);
    }
}

#[test]
fn a34_a_refusal_says_what_to_write() {
    let told = |early, org, class| {
        let refused = gate(&policies(early, org), routes(class, org, false)).unwrap_err();
        refused.to_string()
    };
    assert_eq!(
        told("fail_open", "", "admin"),
        "class `admin` is an entrance (`admin`), but policy `front`, which decides about it, protects \
         nothing in particular: an outage of the store could be a way in; write `failure_mode: \
         fail_closed` and `protects: admin` in that policy, or let a policy like that decide"
    );
    let told = told("auth", "bulk", "step-up");
    assert!(
        told.starts_with("class `step-up` is an entrance (`step_up`), but policy `back`"),
        "{told}"
    );
    assert!(told.contains("protects `bulk`: "), "{told}");
    assert!(told.contains("`protects: step_up` in that policy"), "{told}");
}
