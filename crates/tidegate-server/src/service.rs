//! How one request is answered: its head is checked, its route found, its body read.

use std::convert::Infallible;
use std::future::Future;
use std::net::{IpAddr, Ipv4Addr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, HeaderValue};
use http::request::Parts;
use http::{Method, Request, Response, StatusCode, Version};
use http_body::Body;
use tidegate_core::{Span, Store};
use tidegate_tower::Peer;
use tidegate_tower::serve::{BoxError, Host, Memory, Origin, Refusal, Share, Upload};
use tower_service::Service;

use crate::admin::{self, AdminRoute, Guard};
use crate::answer::{self, Answer, Payload};
use crate::body;
use crate::browser::{self, Fields, LocalEnd};
use crate::problem::{Kind, Problem};
use crate::route::Route;
use crate::routes;
use crate::state::{Shared, Worker};

/// Which of the listeners a connection came to.
#[derive(Clone)]
pub(crate) enum Side {
    /// The listener for decisions.
    Main,
    /// The listener for operators, with the guard that checks their token.
    Admin(Arc<Guard>),
}

/// Answers the connections of one listener, on one thread.
pub(crate) struct Desk<S> {
    worker: Arc<Worker<S>>,
    side: Side,
}

/// Answers the requests of one connection.
struct Door<S> {
    worker: Arc<Worker<S>>,
    side: Side,
    /// The address of the client; an IPv4 address mapped into IPv6 is kept as IPv4.
    peer: IpAddr,
    /// The server's end of the connection.
    local: LocalEnd,
    share: Arc<Share>,
}

/// The decision server as a tower service, for programs that serve it beside something else on one
/// listener: [`Server::service`](crate::Server::service). The address of the client is the
/// [`Peer`](tidegate_tower::Peer) in a request's extensions.
pub struct Oracle<S> {
    desk: Desk<S>,
    memory: Arc<Memory>,
}

/// The most bytes of a request target. It is less than a whole head may have, so that a longer target can
/// still be read and refused for what it is.
const MAX_TARGET: usize = 8 << 10;

// === impl Desk ===

impl<S: Store + 'static> Desk<S> {
    pub(crate) fn new(shared: &Arc<Shared<S>>, side: Side) -> Self {
        Self { worker: Arc::new(Worker::new(Arc::clone(shared))), side }
    }

    fn door(&self, peer: IpAddr, local: LocalEnd, share: &Arc<Share>) -> Arc<Door<S>> {
        Arc::new(Door {
            worker: Arc::clone(&self.worker),
            side: self.side.clone(),
            peer: peer.to_canonical(),
            local,
            share: Arc::clone(share),
        })
    }
}

impl<S> Clone for Desk<S> {
    fn clone(&self) -> Self {
        Self { worker: Arc::clone(&self.worker), side: self.side.clone() }
    }
}

impl<S: Store + 'static> Host for Desk<S> {
    type Body = Payload;

    fn lane(&self) -> Self {
        Self::new(&self.worker.shared, self.side.clone())
    }

    fn connect(
        &self,
        origin: &Arc<Origin>,
    ) -> impl Service<Request<Upload>, Response = Answer, Error: Into<BoxError>, Future: Send>
    + Clone
    + Send
    + 'static {
        let local = LocalEnd::at(origin.local());
        let door = self.door(origin.peer().ip(), local, origin.share());
        Answers(move |request| Arc::clone(&door).answer(request))
    }

    fn refuse(&self, refusal: Refusal) -> Response<Bytes> {
        let kind = match refusal.status {
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => Kind::HeadTooLarge,
            StatusCode::URI_TOO_LONG => Kind::UriTooLong,
            StatusCode::SERVICE_UNAVAILABLE => Kind::Busy,
            _ => Kind::Malformed,
        };
        let answer = answer::problem(&kind.problem(refusal.detail));
        if let Side::Main = self.side {
            self.worker.tally.answered(Route::Other, answer.status(), Span::ZERO);
        }
        answer.map(Payload::into_bytes)
    }
}

/// A service made of a function that is always ready.
#[derive(Clone)]
struct Answers<F>(F);

impl<F, T, R> Service<R> for Answers<F>
where
    F: FnMut(R) -> T,
    T: Future<Output = Result<Answer, Infallible>>,
{
    type Response = Answer;
    type Error = Infallible;
    type Future = T;

    #[inline]
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    #[inline]
    fn call(&mut self, request: R) -> T {
        (self.0)(request)
    }
}

// === impl Oracle ===

impl<S: Store + 'static> Oracle<S> {
    pub(crate) fn new(shared: &Arc<Shared<S>>) -> Self {
        Self { desk: Desk::new(shared, Side::Main), memory: Arc::clone(shared.serve.memory()) }
    }
}

impl<S> Clone for Oracle<S> {
    fn clone(&self) -> Self {
        Self { desk: self.desk.clone(), memory: Arc::clone(&self.memory) }
    }
}

impl<S, B> Service<Request<B>> for Oracle<S>
where
    S: Store + 'static,
    B: Body<Data = Bytes> + Unpin + Send + 'static,
{
    type Response = Answer;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Answer, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let peer = request.extensions().get::<Peer>().map(|peer| peer.0.ip());
        // An unknown peer gets an address that nobody trusts.
        let peer = peer.unwrap_or(Ipv4Addr::UNSPECIFIED.into());
        let door = self.desk.door(peer, LocalEnd::default(), &self.memory.share());
        Box::pin(door.answer(request))
    }
}

// === impl Door ===

impl<S: Store + 'static> Door<S> {
    /// Answers one request, whatever it is.
    async fn answer<B>(self: Arc<Self>, request: Request<B>) -> Result<Answer, Infallible>
    where
        B: Body<Data = Bytes> + Unpin,
    {
        let clock = &self.worker.shared.clock;
        let began = clock.now();
        let (head, mut body) = request.into_parts();
        let (route, name) = match self.side {
            Side::Main => Route::of(head.uri.path()),
            Side::Admin(_) => (Route::Other, ""),
        };
        let routed = match &self.side {
            Side::Main => self.route(route, name, &head, &mut body).await,
            // Boxed, because operators are rare: otherwise the future of every request would be as large.
            Side::Admin(guard) => Box::pin(self.operate(guard, &head, &mut body)).await,
        };
        let mut answer = routed.unwrap_or_else(|problem| refusal(route, &problem));
        if head.version == Version::HTTP_2 {
            if head.method == Method::HEAD {
                withhold(&mut answer);
            }
        } else if !body.is_end_stream() {
            answer::close(&mut answer);
        }
        let status = answer.status();
        let template = match self.side {
            Side::Main => {
                self.worker.tally.answered(route, status, clock.now().since(began));
                route.template()
            }
            // Not counted: operators are few and have a log; the metrics are about decisions.
            Side::Admin(_) => AdminRoute::of(head.uri.path()).map_or("other", AdminRoute::path),
        };
        tracing::debug!(route = template, status = status.as_u16(), "answered");
        Ok(answer)
    }

    async fn route(
        &self,
        route: Route,
        name: &str,
        head: &Parts,
        body: &mut (impl Body<Data = Bytes> + Unpin),
    ) -> Result<Answer, Problem> {
        check(head)?;
        let fields = Fields::of(&head.headers);
        if !self.is_open_to_pages(route) {
            self.check_browser(head, &fields)?;
        }
        if !route.answers(&head.method) {
            return Err(match route {
                Route::Other => Kind::NotFound.problem("`/openapi.json` lists the endpoints"),
                _ => Kind::MethodNotAllowed.alone(),
            });
        }
        let worker = &*self.worker;
        match route {
            Route::Decide => routes::decide(worker, &self.json(&fields, body).await?).await,
            Route::Peek => routes::peek(worker, &self.json(&fields, body).await?).await,
            Route::Batch => {
                routes::batch(worker, &self.json(&fields, body).await?, &self.share).await
            }
            Route::Settle => routes::settle(worker, &self.json(&fields, body).await?).await,
            Route::Policies => routes::policies(worker).await,
            Route::Explain => routes::explain(worker, name, query(head)).await,
            Route::Gate => routes::gate(worker, name, self.peer, head).await,
            Route::Livez => Ok(routes::livez()),
            Route::Readyz => routes::readyz(worker),
            Route::Metrics => routes::metrics(worker, &head.headers).await,
            Route::Openapi => routes::openapi(worker).await,
            Route::Other => Err(Kind::NotFound.alone()),
        }
    }

    /// Answers a request to the admin listener, once its token has been checked.
    async fn operate(
        &self,
        guard: &Guard,
        head: &Parts,
        body: &mut (impl Body<Data = Bytes> + Unpin),
    ) -> Result<Answer, Problem> {
        check(head)?;
        let fields = Fields::of(&head.headers);
        self.check_browser(head, &fields)?;
        let worker = &*self.worker;
        let (now, refusals) = (worker.shared.clock.now(), &worker.shared.head_refusals);
        if let Some(refusal) = guard.refuse(self.peer, &head.headers, now, refusals) {
            return Ok(refusal);
        }
        let there =
            "there are /admin/blocks, /admin/block, /admin/unblock, /admin/reset and /admin/quotas";
        let route = AdminRoute::of(head.uri.path());
        let route = route.ok_or_else(|| Kind::NotFound.problem(there))?;
        if !route.answers(&head.method) {
            let mut refusal = answer::problem(&Kind::MethodNotAllowed.alone());
            answer::allow(&mut refusal, route.methods());
            return Ok(refusal);
        }
        let peer = self.peer;
        match route {
            AdminRoute::Blocks => admin::blocks(worker, query(head)).await,
            AdminRoute::Block => admin::block(worker, peer, &self.json(&fields, body).await?).await,
            AdminRoute::Unblock => {
                admin::unblock(worker, peer, &self.json(&fields, body).await?).await
            }
            AdminRoute::Reset => admin::reset(worker, peer, &self.json(&fields, body).await?).await,
            AdminRoute::Quotas => admin::quotas(worker, query(head)).await,
        }
    }

    /// Whether requests of this route are answered whatever host they name and whatever page sent them. A
    /// health check changes nothing, tells no secret, and must not fail because of a name. At the gate a
    /// trusted proxy passes on the header fields of its own client, which name another host.
    fn is_open_to_pages(&self, route: Route) -> bool {
        match route {
            Route::Livez | Route::Readyz => true,
            Route::Gate => self.worker.shared.settings.gate.trust.trusts(self.peer),
            _ => false,
        }
    }

    /// Refuses a request that a browser sends for a page that has no business here.
    fn check_browser(&self, head: &Parts, fields: &Fields<'_>) -> Result<(), Problem> {
        let shared = &self.worker.shared;
        browser::check(&shared.settings.hosts, &self.local, head, fields).map_err(|turned| {
            shared.head_refusals.count(turned.reason());
            turned.problem()
        })
    }

    /// Reads the body, if it is declared as JSON.
    async fn json(
        &self,
        fields: &Fields<'_>,
        body: &mut (impl Body<Data = Bytes> + Unpin),
    ) -> Result<Bytes, Problem> {
        body::is_json(fields)?;
        let settings = &self.worker.shared.settings;
        body::read(body, settings.max_body, settings.timeouts.body, &self.share).await
    }
}

/// Refuses a request whose target is longer than [`MAX_TARGET`].
fn check(head: &Parts) -> Result<(), Problem> {
    let target = head.uri.path_and_query().map_or(0, |target| target.as_str().len());
    if target > MAX_TARGET {
        return Err(Kind::UriTooLong.problem(format!("a target has at most {MAX_TARGET} bytes")));
    }
    Ok(())
}

fn query(head: &Parts) -> &str {
    head.uri.query().unwrap_or_default()
}

#[cold]
fn refusal(route: Route, problem: &Problem) -> Answer {
    let mut refusal = answer::problem(problem);
    if problem.is(Kind::MethodNotAllowed)
        && let Some(methods) = route.methods()
    {
        answer::allow(&mut refusal, methods);
    }
    refusal
}

/// Removes the body of an answer to `HEAD` and keeps its length. With HTTP/1 hyper does this.
fn withhold(answer: &mut Answer) {
    let length = answer.body().size_hint().exact().unwrap_or(0);
    answer.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(length));
    *answer.body_mut() = Payload::default();
}
