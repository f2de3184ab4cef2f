//! A store that others keep: it makes requests wait, and it fails.

use std::convert::Infallible;
use std::fs;
use std::future::{Ready, ready};
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Waker};

use bytes::Bytes;
use http::header::{HeaderName, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use tidegate_core::{ManualClock, StoreError, Timestamp};
use tidegate_engine::Engine;
use tidegate_engine::file::File;
use tidegate_test::stub::{Call, Stub, StubWire};
use tidegate_tower::client::Trust;
use tidegate_tower::report::Metrics;
use tidegate_tower::{Body, Gate};
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::world::{POLICIES, acme, request, routes};

fn gate() -> (Gate<Stub>, Arc<StubWire>) {
    let (gate, wire, _) = gate_and_engine();
    (gate, wire)
}

fn gate_and_engine() -> (Gate<Stub>, Arc<StubWire>, Arc<Engine<Stub>>) {
    let clock = Arc::new(ManualClock::new(Timestamp::from_micros(1_800_000_000_000_000)));
    let file: File = File::parse("policies.yaml", POLICIES).unwrap();
    let store = Stub::in_memory(&clock);
    let wire = Arc::clone(store.wire());
    let engine = Engine::new(store, file.policies().clone().build(None).unwrap());
    let engine = Arc::new(engine.timed_by(clock.clone()));
    // The peer of all requests is a proxy, so that what it forwards is read.
    let header = HeaderName::from_static("x-forwarded-for");
    let trust = Trust::proxies([IpAddr::from([198, 51, 100, 7]).into()], header);
    let gate = Gate::builder(Arc::clone(&engine), routes()).timed_by(clock).trust(trust);
    (gate.build().unwrap(), wire, engine)
}

/// The service within: it serves whatever reaches it.
fn served(_: Request<Full<Bytes>>) -> Ready<Result<Response<Full<Bytes>>, Infallible>> {
    ready(Ok(Response::new(Full::default())))
}

async fn send(gate: &Gate<Stub>, path: &str) -> Response<Body<Body<Full<Bytes>>>> {
    let service = service_fn(served);
    let stack = gate.early().layer(gate.org().layer(service));
    stack.oneshot(request(Method::GET, path, Some(acme()))).await.unwrap()
}

#[tokio::test]
async fn requests_wait_for_the_store_and_are_counted_by_it() {
    let (gate, _) = gate();
    let mut statuses = Vec::new();
    for _ in 0..3 {
        statuses.push(send(&gate, "/reports/1").await.status().as_u16());
    }
    assert_eq!(statuses, [200, 200, 429]);
}

#[test]
fn a_request_given_up_while_it_is_decided_never_reaches_the_service() {
    let (gate, wire) = gate();
    let served = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&served);
    let service = service_fn(move |_: Request<Full<Bytes>>| {
        count.fetch_add(1, Ordering::Relaxed);
        ready(Ok::<_, Infallible>(Response::new(Full::<Bytes>::default())))
    });
    let mut stack = gate.org().layer(service);
    let mut context = Context::from_waker(Waker::noop());
    assert!(Service::<Request<Full<Bytes>>>::poll_ready(&mut stack, &mut context).is_ready());
    let mut call = Box::pin(stack.call(request(Method::GET, "/reports/1", Some(acme()))));
    assert!(call.as_mut().poll(&mut context).is_pending(), "the store has been asked");
    drop(call);
    assert_eq!(wire.count(Call::Charge), 0);
    assert_eq!(served.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn without_the_store_each_class_does_as_its_policy_says() {
    let (gate, wire) = gate();
    assert_eq!(send(&gate, "/reports/1").await.status(), StatusCode::OK);
    wire.fail(StoreError::Unavailable);
    let answer = send(&gate, "/reports/1").await;
    assert_eq!(answer.status(), StatusCode::OK, "local ceilings admit a little");
    let service = service_fn(served);
    let login = request(Method::POST, "/login", None);
    let answer = gate.early().layer(service).oneshot(login).await.unwrap();
    assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE, "an entrance fails closed");
}

#[tokio::test]
async fn p22_requests_that_pass_because_a_policy_fails_open_are_counted_by_the_layers() {
    let (gate, wire) = gate();
    assert_eq!(send(&gate, "/reports/1").await.status(), StatusCode::OK);
    let count = || {
        let text = Metrics::default().encode(gate.clone()).unwrap();
        let line =
            text.lines().find(|line| line.contains("fail_open_admitted_total{policy=\"address\"}"));
        line.and_then(|line| line.rsplit(' ').next()?.parse::<u64>().ok())
    };
    assert_eq!(count(), Some(0));
    wire.fail(StoreError::Unavailable);
    assert_eq!(send(&gate, "/reports/1").await.status(), StatusCode::OK);
    assert_eq!(count(), Some(1), "the early policy fails open, the other one is degraded");
}

#[tokio::test]
async fn a39_too_many_at_once_are_503_with_retry_after_in_every_layer() {
    let (gate, wire) = gate();
    assert_eq!(send(&gate, "/reports/1").await.status(), StatusCode::OK);
    let shed = |answer: &Response<Body<Body<Full<Bytes>>>>| {
        assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(answer.headers()["retry-after"], "1");
    };
    // The early layer; then the other one, behind an early one that has decided.
    wire.fail_next([StoreError::Contended]);
    shed(&send(&gate, "/reports/1").await);
    let service = service_fn(served);
    wire.fail_next([StoreError::Contended]);
    let asked = request(Method::GET, "/reports/1", Some(acme()));
    let answer = gate.org().layer(service).oneshot(asked).await.unwrap();
    assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(answer.headers()["retry-after"], "1");
    let mut asked = request(Method::POST, "/login", None);
    asked.headers_mut().insert("content-type", "application/grpc".parse().unwrap());
    wire.fail_next([StoreError::Contended]);
    let answer = gate.early().layer(service).oneshot(asked).await.unwrap();
    assert_eq!(answer.headers()["grpc-status"], "14", "UNAVAILABLE");
    assert_eq!(answer.headers()["retry-after"], "1");
    let text = Metrics::default().encode(gate.clone()).unwrap();
    let normal =
        |policy| text.contains(&format!("tidegate_mode{{policy=\"{policy}\",mode=\"normal\"}} 1"));
    assert!(normal("address") && normal("read"), "nothing was a failure of the store");
}

#[tokio::test]
async fn t24_no_request_counts_against_a_store_that_is_well() {
    let (gate, wire, engine) = gate_and_engine();
    let inputs = ["client_address", "forwarded", "path"].map(|target| {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
        fs::read_dir(corpus).unwrap().map(|file| fs::read(file.unwrap().path()).unwrap())
    });
    for input in inputs.into_iter().flatten() {
        let header = HeaderValue::from_bytes(&input).ok();
        let path = std::str::from_utf8(&input).ok().and_then(|path| path.parse().ok());
        for (method, identity) in [(Method::GET, Some(acme())), (Method::POST, None)] {
            let mut request = request(method, "/reports/1", identity);
            path.clone().into_iter().for_each(|path| *request.uri_mut() = path);
            for name in ["x-forwarded-for", "forwarded", "traceparent", "x-request-id"] {
                header.clone().and_then(|value| request.headers_mut().insert(name, value));
            }
            let stack = gate.early().layer(gate.org().layer(service_fn(served)));
            let status = stack.oneshot(request).await.unwrap().status();
            assert!(!status.is_server_error(), "{status}: {}", String::from_utf8_lossy(&input));
        }
    }
    assert!(wire.count(Call::Charge) >= 100, "most of them are counted");
    for policy in ["address", "entrance", "read", "write", "bulk"] {
        assert_eq!(engine.standing(policy).unwrap().failures, 0, "{policy}");
    }
}
