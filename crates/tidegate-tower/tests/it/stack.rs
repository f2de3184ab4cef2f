//! What tower expects of a layer: readiness, clones, cancellation, and bodies left alone.

use std::convert::Infallible;
use std::future::{Pending, Ready, pending, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, Version};
use http_body::{Body, Frame, SizeHint};
use http_body_util::Full;
use tidegate_tower::{Degraded, Peer};
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::world::{PEER, POLICIES, World, acme, finish, request};

/// A service with one place, which is taken by whoever is told that it is ready.
struct OnePlace {
    free: Arc<AtomicUsize>,
    mine: bool,
}

impl Clone for OnePlace {
    fn clone(&self) -> Self {
        Self { free: Arc::clone(&self.free), mine: false }
    }
}

impl Drop for OnePlace {
    fn drop(&mut self) {
        if self.mine {
            self.free.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl<B> Service<Request<B>> for OnePlace {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        if self.mine {
            return Poll::Ready(Ok(()));
        }
        match self
            .free
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |free| free.checked_sub(1))
        {
            Ok(_) => {
                self.mine = true;
                Poll::Ready(Ok(()))
            }
            Err(_) => Poll::Pending,
        }
    }

    fn call(&mut self, _: Request<B>) -> Self::Future {
        assert!(self.mine, "called without having been ready");
        self.mine = false;
        self.free.fetch_add(1, Ordering::Relaxed);
        ready(Ok(Response::new(Full::default())))
    }
}

#[test]
fn a_refused_request_holds_no_place_of_the_service_within() {
    let world = World::new();
    let free = Arc::new(AtomicUsize::new(1));
    let mut stack = world.gate.org().layer(OnePlace { free: Arc::clone(&free), mine: false });
    let mut context = Context::from_waker(Waker::noop());
    for expected in [200, 200, 429, 429] {
        let is_ready = Service::<Request<Full<Bytes>>>::poll_ready(&mut stack, &mut context);
        assert!(is_ready.is_ready(), "nobody holds the place");
        let call = stack.call(request(Method::GET, "/reports/1", Some(acme())));
        let answer = finish(call).unwrap();
        assert_eq!(answer.status().as_u16(), expected);
        assert_eq!(free.load(Ordering::Relaxed), 1, "the place is free again");
    }
}

#[test]
fn a_service_that_is_not_ready_is_waited_for() {
    let world = World::new();
    let busy = OnePlace { free: Arc::new(AtomicUsize::new(0)), mine: false };
    let mut stack = world.gate.early().layer(busy);
    let mut context = Context::from_waker(Waker::noop());
    let is_ready = Service::<Request<Full<Bytes>>>::poll_ready(&mut stack, &mut context);
    assert!(is_ready.is_pending());
}

#[test]
fn what_is_given_up_stays_counted_and_stops_the_service() {
    let world = World::new();
    let never = service_fn(|_| -> Pending<Result<Response<Full<Bytes>>, Infallible>> { pending() });
    crate::store::answer_at_once(world.gate.engine().store());
    for _ in 0..2 {
        let stack = world.gate.org().layer(never);
        let call = stack.oneshot(request(Method::GET, "/reports/1", Some(acme())));
        assert!(tidegate_engine::ready(call).is_none(), "still at work, then dropped");
    }
    assert_eq!(world.statuses("/reports/1", &acme(), 1), [429]);
}

/// A body that must not be touched.
struct Untouchable(Option<u64>);

impl Body for Untouchable {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        panic!("a body was read to decide");
    }

    fn size_hint(&self) -> SizeHint {
        self.0.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

/// The `Connection` of the refusal of an upload.
fn refused_upload(length: Option<u64>, version: Version) -> Option<String> {
    let world = World::new();
    let service = service_fn(|_: Request<Untouchable>| {
        ready(Ok::<_, Infallible>(Response::new(Full::<Bytes>::default())))
    });
    let stack = world.gate.early().layer(world.gate.org().layer(service));
    let mut answers = (0..3).map(|_| {
        let (mut head, _) = request(Method::POST, "/reports", Some(acme())).into_parts();
        head.version = version;
        let upload = Request::from_parts(head, Untouchable(length));
        finish(stack.clone().oneshot(upload)).unwrap()
    });
    let refused = answers.find(|answer| answer.status() == StatusCode::TOO_MANY_REQUESTS).unwrap();
    Some(refused.headers().get("connection")?.to_str().unwrap().to_owned())
}

#[test]
fn t38_bodies_are_never_read_to_decide_and_t28_a_refused_upload_ends_its_connection() {
    let close = Some("close".to_owned());
    assert_eq!(refused_upload(Some(100 << 20), Version::HTTP_11), close);
    assert_eq!(refused_upload(None, Version::HTTP_11), close, "nobody knows where it ends");
    assert_eq!(refused_upload(Some(100), Version::HTTP_11), None, "it has come with the head");
    assert_eq!(refused_upload(None, Version::HTTP_2), None, "there requests are framed");
}

#[test]
fn what_passes_with_a_lower_quality_says_so_to_the_service() {
    let policies =
        POLICIES.replace("    class: write\n", "    class: write\n    overflow: degrade\n");
    let world = World::with(&policies, |gate| gate);
    let service = service_fn(|request: Request<Full<Bytes>>| {
        let degraded = request.extensions().get::<Degraded>().is_some();
        ready(Ok::<_, Infallible>(Response::new(Full::from(degraded.to_string()))))
    });
    let stack = world.gate.org().layer(service);
    let answers: Vec<String> = (0..3)
        .map(|_| {
            let call = stack.clone().oneshot(request(Method::POST, "/reports", Some(acme())));
            let answer = finish(call).unwrap();
            format!("{:?}", answer.into_body())
        })
        .collect();
    assert!(answers[1].contains("false") && answers[2].contains("true"), "{answers:?}");
}

#[test]
fn a_request_is_named_once_and_keeps_its_name() {
    let world = World::new();
    let mut named = request(Method::GET, "/reports/1", Some(acme()));
    named.headers_mut().insert("x-request-id", "from-the-edge-7".parse().unwrap());
    let answer = world.send(named);
    assert_eq!(answer.headers()["x-request-id"], "from-the-edge-7");
    let mut hostile = request(Method::GET, "/reports/1", Some(acme()));
    hostile.headers_mut().insert("x-request-id", "a b\tc".parse().unwrap());
    let answer = world.send(hostile);
    let made = answer.headers()["x-request-id"].to_str().unwrap().to_owned();
    assert_eq!(made.len(), 32, "made anew: {made}");
}

#[test]
fn t03_one_bucket_for_a_64_and_one_for_every_ipv4_address() {
    let world = World::new();
    let from = |peer: &str| {
        let mut request = request(Method::POST, "/login", None);
        request.extensions_mut().insert(Peer(peer.parse().unwrap()));
        world.send(request).status().as_u16()
    };
    let rotating: Vec<u16> =
        (1..=4).map(|host| from(&format!("[2001:db8:0:7::{host}]:443"))).collect();
    assert_eq!(rotating, [200, 200, 200, 429]);
    assert_eq!(from("[2001:db8:0:8::1]:443"), 200, "another subnet");
    let mapped: Vec<u16> =
        ["203.0.113.9:1", "[::ffff:203.0.113.9]:2", "[::ffff:cb00:7109]:3", "203.0.113.9:4"]
            .map(from)
            .to_vec();
    assert_eq!(mapped, [200, 200, 200, 429], "t04: one host, however it is written");
    assert_eq!(from(PEER), 200);
}
