//! A store that others keep: it makes requests wait, and it fails.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use tidegate_core::{
    Amended, Amendment, Batch, Blocks, Counter, ManualClock, Page, Readings, Receipt, Settlement,
    Span, Store, StoreError, Timestamp,
};
use tidegate_engine::Engine;
use tidegate_engine::file::File;
use tidegate_engine::memory::{Budget, MemoryStore};
use tidegate_tower::{Body, Gate};
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::world::{POLICIES, acme, request, routes};

/// A store at the other end of a wire that is as good as any, until it is cut.
struct Wired {
    memory: MemoryStore<Arc<ManualClock>>,
    wire: Arc<Wire>,
}

#[derive(Default)]
struct Wire {
    cut: AtomicBool,
    charges: AtomicU64,
}

impl Wired {
    /// Comes back once before there is an answer, as from a socket.
    async fn trip(&self) -> Result<(), StoreError> {
        let mut sent = false;
        poll_fn(|context| {
            if sent {
                return Poll::Ready(());
            }
            sent = true;
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
        match self.wire.cut.load(Ordering::Relaxed) {
            true => Err(StoreError::Unavailable),
            false => Ok(()),
        }
    }
}

impl Store for Wired {
    fn name(&self) -> &'static str {
        "wired"
    }

    async fn charge(&self, batch: &Batch<'_>, readings: &mut Readings) -> Result<(), StoreError> {
        self.trip().await?;
        self.wire.charges.fetch_add(1, Ordering::Relaxed);
        self.memory.charge(batch, readings).await
    }

    async fn peek(&self, batch: &Batch<'_>, readings: &mut Readings) -> Result<(), StoreError> {
        self.trip().await?;
        self.memory.peek(batch, readings).await
    }

    async fn settle(&self, settlement: &Settlement<'_>) -> Result<Receipt, StoreError> {
        self.trip().await?;
        self.memory.settle(settlement).await
    }

    async fn amend(
        &self,
        counter: Counter<'_>,
        what: Amendment,
        within: Span,
    ) -> Result<Amended, StoreError> {
        self.trip().await?;
        self.memory.amend(counter, what, within).await
    }

    async fn blocks(&self, page: Page<'_>) -> Result<Blocks, StoreError> {
        self.trip().await?;
        self.memory.blocks(page).await
    }
}

fn gate() -> (Gate<Wired>, Arc<Wire>) {
    let clock = Arc::new(ManualClock::new(Timestamp::from_micros(1_800_000_000_000_000)));
    let file: File = File::parse("policies.yaml", POLICIES).unwrap();
    let wire = Arc::<Wire>::default();
    let memory = MemoryStore::new(Budget::default(), Arc::clone(&clock));
    let store = Wired { memory, wire: Arc::clone(&wire) };
    let engine = Engine::new(store, file.policies().clone().build(None).unwrap());
    let engine = engine.timed_by(clock.clone());
    (Gate::builder(Arc::new(engine), routes()).timed_by(clock).build().unwrap(), wire)
}

async fn send(gate: &Gate<Wired>, path: &str) -> Response<Body<Body<Full<Bytes>>>> {
    let service = service_fn(async |_: Request<Full<Bytes>>| {
        Ok::<_, std::convert::Infallible>(Response::new(Full::<Bytes>::default()))
    });
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
        std::future::ready(Ok::<_, std::convert::Infallible>(Response::new(
            Full::<Bytes>::default(),
        )))
    });
    let mut stack = gate.org().layer(service);
    let mut context = Context::from_waker(Waker::noop());
    assert!(Service::<Request<Full<Bytes>>>::poll_ready(&mut stack, &mut context).is_ready());
    let mut call = Box::pin(stack.call(request(Method::GET, "/reports/1", Some(acme()))));
    assert!(call.as_mut().poll(&mut context).is_pending(), "the store has been asked");
    drop(call);
    assert_eq!(wire.charges.load(Ordering::Relaxed), 0);
    assert_eq!(served.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn without_the_store_each_class_does_as_its_policy_says() {
    let (gate, wire) = gate();
    assert_eq!(send(&gate, "/reports/1").await.status(), StatusCode::OK);
    wire.cut.store(true, Ordering::Relaxed);
    let answer = send(&gate, "/reports/1").await;
    assert_eq!(answer.status(), StatusCode::OK, "local ceilings admit a little");
    let service = service_fn(async |_: Request<Full<Bytes>>| {
        Ok::<_, std::convert::Infallible>(Response::new(Full::<Bytes>::default()))
    });
    let login = request(Method::POST, "/login", None);
    let answer = gate.early().layer(service).oneshot(login).await.unwrap();
    assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE, "an entrance fails closed");
}
