//! An outage as clients of each class meet it behind both layers.

use std::convert::Infallible;
use std::future::ready;
use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use serde_json::Value;
use tidegate_core::{ManualClock, Span, StoreError, Timestamp};
use tidegate_engine::Engine;
use tidegate_engine::file::File;
use tidegate_test::probe;
use tidegate_test::stub::{Stub, StubWire};
use tidegate_tower::routes::{Class, Route};
use tidegate_tower::{Gate, Identity, Routes};
use tower::{Layer, ServiceExt, service_fn};

use crate::world::{acme, request};

const POLICIES: &str = "
version: 1
policies:
  - name: address
    failure_mode: fail_open
    limits:
      - { name: address, by: [ip, class], bucket: { rate: 100/s, burst: 1000 } }
  - name: entrance
    class: auth
    failure_mode: fail_closed
    limits:
      - { name: tries, by: [ip, class], window: { count: 100, per: 1min } }
  - name: probes
    class: health
    failure_mode: fail_open
    limits:
      - { name: probes, by: [ip, class], bucket: { rate: 100/s, burst: 1000 }, named_key: true }
  - name: read
    class: read
    failure_mode: degraded
    limits:
      - { name: org, by: [org, class], bucket: { rate: 50/s, burst: 100 } }
  - name: admin
    class: admin
    failure_mode: fail_closed
    limits:
      - { name: org, by: [org, class], bucket: { rate: 50/s, burst: 100 } }
";

/// A gate on a store that can be told to fail.
struct Outage {
    gate: Gate<Stub>,
    wire: Arc<StubWire>,
    clock: Arc<ManualClock>,
}

/// The status, `retry-after` and the code of an answer.
type Told = (u16, Option<String>, String);

// === impl Outage ===

impl Outage {
    /// A store that has answered before and is gone now: every policy has tripped.
    fn begun() -> Self {
        let clock = Arc::new(ManualClock::new(Timestamp::from_micros(1_800_000_000_000_000)));
        let store = Stub::in_memory(&clock);
        let wire = Arc::clone(store.wire());
        let file: File = File::parse("policies.yaml", POLICIES).unwrap();
        let engine = Engine::new(store, file.policies().clone().build(None).unwrap());
        let engine = Arc::new(engine.timed_by(clock.clone()));
        let gate = Gate::builder(engine, routes()).timed_by(clock.clone()).build().unwrap();
        let outage = Self { gate, wire, clock };
        probe(outage.gate.engine());
        outage.wire.fail(StoreError::Unavailable);
        for path in ["/reports", "/users", "/healthz", "/login"] {
            crate::world::finish(outage.send(Method::GET, path, Some(acme())));
        }
        outage.pass(10);
        outage
    }

    /// Lets seconds pass, with the probes that are due in them.
    fn pass(&self, seconds: u64) {
        for _ in 0..seconds {
            self.clock.advance(Span::SECOND);
            probe(self.gate.engine());
        }
    }

    async fn send(&self, method: Method, path: &str, who: Option<Identity>) -> Told {
        let service = service_fn(|_: Request<Full<Bytes>>| {
            ready(Ok::<_, Infallible>(Response::new(Full::<Bytes>::default())))
        });
        let stack = self.gate.early().layer(self.gate.org().layer(service));
        let answer = stack.oneshot(request(method, path, who)).await.unwrap();
        let status = answer.status().as_u16();
        let wait = answer.headers().get("retry-after");
        let wait = wait.map(|wait| wait.to_str().unwrap().to_owned());
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        (status, wait, body["error"]["code"].as_str().unwrap_or_default().to_owned())
    }

    fn ask(&self, method: Method, path: &str, who: Option<Identity>) -> Told {
        crate::world::finish(self.send(method, path, who))
    }

    /// The first answer that is not 200, and how many were before it.
    fn refusal(&self, path: &str, who: Option<&Identity>) -> (usize, Told) {
        let mut answers = (0..200).map(|_| self.ask(Method::GET, path, who.cloned()));
        answers.by_ref().enumerate().find(|(_, told)| told.0 != 200).unwrap()
    }
}

fn routes() -> Routes {
    let class = |name, early| Class::try_new(name, early).unwrap();
    Routes::builder(class("read", "address").then("read").unwrap())
        .class(class("admin", "address").then("admin").unwrap())
        .class(class("auth", "entrance"))
        .class(class("health", "probes"))
        .route(Route::new("/users", "admin").scope("reports:read"))
        .route(Route::new("/login", "auth"))
        .route(Route::new("/healthz", "health"))
        .build()
        .unwrap()
}

fn told(status: u16, wait: Option<&str>, code: &str) -> Told {
    (status, wait.map(str::to_owned), code.to_owned())
}

#[test]
fn a_prolonged_outage_is_told_as_degraded_enforcement_by_either_layer() {
    let outage = Outage::begun();
    // A tenth of 50/s: five at once, then the org layer refuses.
    let short = told(429, Some("1"), "throttling.rate_limit_exceeded");
    assert_eq!(outage.refusal("/reports", Some(&acme())), (5, short));
    outage.pass(300);
    let long = told(429, Some("1"), "throttling.enforcement_degraded");
    assert_eq!(outage.refusal("/reports", Some(&acme())), (5, long.clone()));
    // Strangers have the early layer alone: 60 in a minute by prefix and agent. Six are used up.
    outage.pass(60);
    let long = told(429, Some("60"), "throttling.enforcement_degraded");
    assert_eq!(outage.refusal("/reports", None), (60, long));
    // Reads of health have a budget of their own.
    let long = told(429, Some("60"), "throttling.enforcement_degraded");
    assert_eq!(outage.refusal("/healthz", None), (60, long));
}

#[test]
fn administrators_and_entrances_are_503_until_half_an_hour_is_over() {
    let outage = Outage::begun();
    for waited in [0, 301, 1_000] {
        outage.pass(waited);
        for method in [Method::GET, Method::HEAD, Method::POST, Method::DELETE] {
            let (status, wait, code) = outage.ask(method.clone(), "/users", Some(acme()));
            assert_eq!(status, 503, "{method} after {waited} s more");
            assert!(wait.is_some(), "{method}: when to come back");
            assert_eq!(code, "throttling.unavailable", "{method}");
        }
        let (status, wait, code) = outage.ask(Method::POST, "/login", None);
        assert_eq!((status, &*code), (503, "throttling.unavailable"), "after {waited} s more");
        assert!(wait.is_some());
    }
    // 1,301 of 1,800 s are over; then the caps of one-time passwords decide, ten in fifteen minutes.
    outage.pass(500);
    let (passed, refused) = outage.refusal("/users", Some(&acme()));
    assert_eq!((passed, refused), (10, told(429, Some("900"), "throttling.rate_limit_exceeded")));
}

#[test]
fn in_an_outage_health_is_read_and_never_written() {
    let outage = Outage::begun();
    let closed = told(503, None, "throttling.unavailable");
    for waited in [0, 301] {
        outage.pass(waited);
        for method in [Method::GET, Method::HEAD, Method::OPTIONS] {
            assert_eq!(outage.ask(method.clone(), "/healthz", None).0, 200, "{method}");
        }
        for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
            assert_eq!(outage.ask(method.clone(), "/healthz", None), closed, "{method}");
        }
        let own = Method::from_bytes(b"PURGE").unwrap();
        assert_eq!(outage.ask(own, "/healthz", None), closed, "a method that nobody knows");
    }
    outage.pass(60);
    let (passed, refused) = outage.refusal("/healthz", None);
    assert_eq!((passed, refused.0, refused.1.as_deref()), (60, 429, Some("60")));
    assert_eq!(outage.ask(Method::POST, "/healthz", None), closed, "whatever is left");
}

#[test]
fn with_the_store_health_takes_every_method() {
    let outage = Outage::begun();
    outage.wire.fail(None);
    outage.pass(600);
    assert_eq!(outage.ask(Method::POST, "/healthz", None).0, 200);
}
