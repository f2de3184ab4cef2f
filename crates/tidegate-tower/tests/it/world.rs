//! A small API behind both layers, in time that a test moves.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use tidegate_core::{Cost, ManualClock, Span, Timestamp};
use tidegate_engine::Engine;
use tidegate_engine::file::File;
use tidegate_tower::routes::{Class, Route};
use tidegate_tower::{Body, Gate, GateBuilder, Identity, Peer, Routes};
use tower::{Layer, ServiceExt, service_fn};

pub(crate) use crate::store::{Store, store};

pub(crate) type Answer = Response<Body<Body<Full<Bytes>>>>;

/// The policies: two requests at once where not more is said.
pub(crate) const POLICIES: &str = "
version: 1
policies:
  - name: address
    failure_mode: fail_open
    limits:
      - { name: address, by: [ip, class], bucket: { rate: 1/s, burst: 6 } }
  - name: entrance
    class: auth
    failure_mode: fail_closed
    limits:
      - { name: tries, by: [ip, class], window: { count: 3, per: 1min } }
  - name: read
    class: read
    failure_mode: degraded
    limits:
      - { name: org, by: [org, class], bucket: { rate: 1/s, burst: 4 } }
      - { name: user, by: [org, user, class], bucket: { rate: 1/s, burst: 3 } }
      - { name: token, by: [org, token, class], bucket: { rate: 1/s, burst: 2 } }
  - name: write
    class: write
    failure_mode: degraded
    limits:
      - { name: burst, by: [org, class], bucket: { rate: 1/s, burst: 2 } }
      - { name: daily, by: [org, class], quota: { count: 5, per: day } }
  - name: bulk
    class: bulk
    failure_mode: degraded
    limits:
      - { name: jobs, by: [org, class], quota: { count: 25, per: day } }
";

/// The gate, its time, and what reached the service behind it.
pub(crate) struct World {
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) gate: Gate<Store>,
    pub(crate) served: Arc<AtomicU64>,
}

/// Where all requests come from unless something else is said.
pub(crate) const PEER: &str = "198.51.100.7:5000";

pub(crate) fn routes() -> Routes {
    let class = |name, early, policy: &str| Class::try_new(name, early).unwrap().then(policy);
    Routes::builder(class("write", "address", "write").unwrap())
        .class(class("read", "address", "read").unwrap())
        .class(class("bulk", "address", "bulk").unwrap())
        .class(Class::try_new("auth", "entrance").unwrap())
        .route(Route::new("/login", "auth").method(Method::POST))
        .route(Route::new("/reports/{id}", "read").method(Method::GET).scope("reports:read"))
        .route(Route::new("/public", "read"))
        .job(Route::new("export", "bulk").scope("reports:export").cost(Cost::try_new(10).unwrap()))
        .build()
        .unwrap()
}

// === impl World ===

impl World {
    pub(crate) fn new() -> Self {
        Self::with(POLICIES, |gate| gate)
    }

    pub(crate) fn with(
        policies: &str,
        change: impl FnOnce(GateBuilder<Store>) -> GateBuilder<Store>,
    ) -> Self {
        let clock = Arc::new(ManualClock::new(Timestamp::from_micros(1_800_000_000_000_000)));
        let file: File = File::parse("policies.yaml", policies).unwrap();
        let engine = Engine::new(store(&clock), file.policies().clone().build(None).unwrap());
        let gate = Gate::builder(Arc::new(engine), routes()).timed_by(clock.clone());
        let gate = change(gate).build().unwrap();
        Self { clock, gate, served: Arc::default() }
    }

    pub(crate) fn pass_time(&self, span: Span) {
        self.clock.advance(span);
    }

    /// Sends a request through both layers; authentication takes whoever the request says it is.
    pub(crate) fn send(&self, request: Request<Full<Bytes>>) -> Answer {
        let served = Arc::clone(&self.served);
        let service = service_fn(move |request: Request<Full<Bytes>>| {
            served.fetch_add(1, Ordering::Relaxed);
            handle(&request)
        });
        let stack = self.gate.early().layer(self.gate.org().layer(service));
        finish(stack.oneshot(request)).unwrap()
    }

    pub(crate) fn get(&self, path: &str, identity: &Identity) -> Answer {
        self.send(request(Method::GET, path, Some(identity.clone())))
    }

    pub(crate) fn statuses(&self, path: &str, identity: &Identity, count: usize) -> Vec<u16> {
        (0..count).map(|_| self.get(path, identity).status().as_u16()).collect()
    }

    pub(crate) fn served(&self) -> u64 {
        self.served.load(Ordering::Relaxed)
    }
}

/// The output of a future that comes back a few times at most, and never waits for anybody else.
pub(crate) fn finish<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    let mut polls = (0..100).map(|_| future.as_mut().poll(&mut context));
    let output = polls.find_map(|poll| match poll {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    });
    output.expect("the stores of these tests answer after a few polls")
}

pub(crate) fn request(
    method: Method,
    path: &str,
    identity: Option<Identity>,
) -> Request<Full<Bytes>> {
    let mut request = Request::new(Full::default());
    *request.method_mut() = method;
    *request.uri_mut() = path.parse().unwrap();
    request.extensions_mut().insert(Peer(PEER.parse::<SocketAddr>().unwrap()));
    if let Some(identity) = identity {
        request.extensions_mut().insert(identity);
    }
    request
}

/// Answers with the status that the header `want` asks for.
fn handle(request: &Request<Full<Bytes>>) -> Ready<Result<Response<Full<Bytes>>, Infallible>> {
    let mut response = Response::new(Full::from("served"));
    if let Some(status) = request.headers().get("want") {
        *response.status_mut() = StatusCode::from_bytes(status.as_bytes()).unwrap();
    }
    ready(Ok(response))
}

pub(crate) fn acme() -> Identity {
    Identity::new("acme").user("u1").token("t1").scopes(["reports:read", "reports:export"])
}
