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
use http::{Method, Request, Response, Version};
use http_body::Body;
use tidegate_core::{Span, Store};
use tidegate_engine::{Engine, ready};
use tidegate_tower::Peer;
use tidegate_tower::admin::{AdminGuard, TokenRefusal};
use tidegate_tower::serve::{BoxError, Host, ListenerRefusal, Origin, Share, Upload};
use tower::{Service, service_fn};

use crate::admin;
use crate::answer::{self, Answer, Payload};
use crate::body;
use crate::browser::{self, Fields, LocalEnd};
use crate::metrics::HeadRefusal;
use crate::route::{AdminRoute, Methods, ServerRoute};
use crate::routes;
use crate::state::ServerState;
use tidegate_tower::answer::{Code, Problem};

/// Which of the listeners a connection came to.
#[derive(Clone)]
pub(crate) enum ListenerSide {
    /// The listener for decisions.
    Main,
    /// The listener for operators, with the guard that checks their token.
    Admin(Arc<AdminGuard>),
}

/// Answers the connections of one listener, on one thread.
pub(crate) struct Desk<S> {
    shared: Arc<ServerState<S>>,
    side: ListenerSide,
}

/// Answers the requests of one connection.
struct ServedConnection<S> {
    shared: Arc<ServerState<S>>,
    side: ListenerSide,
    /// The address of the client; an IPv4 address mapped into IPv6 is kept as IPv4.
    peer: IpAddr,
    /// The server's end of the connection.
    local: LocalEnd,
    share: Arc<Share>,
    /// The connection, if it came to a listener of this server.
    origin: Option<Arc<Origin>>,
}

/// The decision server as a tower service, for programs that serve it beside something else on one
/// listener: [`Server::service`](crate::Server::service). The address of the client is the
/// [`Peer`](tidegate_tower::Peer) in a request's extensions, and the memory of its connection the
/// `Arc<`[`Share`]`>` there; [`Serve`](tidegate_tower::serve::Serve) puts both there.
pub struct Oracle<S>(Desk<S>);

/// The most bytes of a request target. It is less than a whole head may have, so that a longer target can
/// still be read and refused for what it is.
const MAX_TARGET: usize = 8 << 10;

// === impl Desk ===

impl<S: Store + 'static> Desk<S> {
    pub(crate) fn new(shared: &Arc<ServerState<S>>, side: ListenerSide) -> Self {
        Self { shared: Arc::clone(shared), side }
    }

    fn serve(&self, peer: IpAddr, local: LocalEnd, share: &Arc<Share>) -> ServedConnection<S> {
        ServedConnection {
            shared: Arc::clone(&self.shared),
            side: self.side.clone(),
            peer: peer.to_canonical(),
            local,
            share: Arc::clone(share),
            origin: None,
        }
    }
}

impl<S> Clone for Desk<S> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), side: self.side.clone() }
    }
}

impl<S: Store + 'static> Host for Desk<S> {
    type Body = Payload;

    fn connect(
        &self,
        origin: &Arc<Origin>,
    ) -> impl Service<Request<Upload>, Response = Answer, Error: Into<BoxError>, Future: Send>
    + Clone
    + Send
    + 'static {
        let local = LocalEnd::at(origin.local);
        let served = self.serve(origin.peer.ip(), local, &origin.share);
        let served = Arc::new(ServedConnection { origin: Some(Arc::clone(origin)), ..served });
        service_fn(move |request| Arc::clone(&served).answer(request))
    }

    fn refuse(&self, refusal: ListenerRefusal) -> Response<Bytes> {
        let answer = refusal.code.problem(refusal.detail).response();
        if let ListenerSide::Main = self.side {
            self.shared.tallies.mine().answered(ServerRoute::Other, answer.status(), Span::ZERO);
        }
        answer
    }
}

// === impl Oracle ===

impl<S: Store + 'static> Oracle<S> {
    pub(crate) fn new(shared: &Arc<ServerState<S>>) -> Self {
        Self(Desk::new(shared, ListenerSide::Main))
    }
}

impl<S> Clone for Oracle<S> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
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
        // The listener that serves this service knows the connection. A server of another make does not
        // tell: there the bound for one connection is one for each request, and that for all holds.
        let share = request.extensions().get::<Arc<Share>>().cloned();
        let share = share.unwrap_or_else(|| self.0.shared.serve.memory().share());
        let served = self.0.serve(peer, LocalEnd::default(), &share);
        Box::pin(Arc::new(served).answer(request))
    }
}

// === impl ServedConnection ===

impl<S: Store + 'static> ServedConnection<S> {
    /// Answers one request, whatever it is.
    async fn answer<B>(self: Arc<Self>, request: Request<B>) -> Result<Answer, Infallible>
    where
        B: Body<Data = Bytes> + Unpin,
    {
        let clock = &self.shared.clock;
        let began = clock.now();
        let (head, mut body) = request.into_parts();
        let (route, name) = match self.side {
            ListenerSide::Main => ServerRoute::of(head.uri.path()),
            ListenerSide::Admin(_) => (ServerRoute::Other, ""),
        };
        let routed = match &self.side {
            ListenerSide::Main => self.route(route, name, &head, &mut body).await,
            // Boxed, because operators are rare: otherwise the future of every request would be as large.
            ListenerSide::Admin(guard) => Box::pin(self.operate(guard, &head, &mut body)).await,
        };
        let mut answer = routed.unwrap_or_else(|problem| self.refusal(&head, &problem));
        if head.version == Version::HTTP_2 {
            if head.method == Method::HEAD {
                withhold(&mut answer);
            }
        } else if !body.is_end_stream() {
            answer::close(&mut answer);
        }
        let status = answer.status();
        let template = match self.side {
            ListenerSide::Main => {
                self.shared.tallies.mine().answered(route, status, clock.now().since(began));
                route.template()
            }
            // Not counted: operators are few and have a log; the metrics are about decisions.
            ListenerSide::Admin(_) => AdminRoute::at(head.uri.path()).template(),
        };
        tracing::debug!(route = template, status = status.as_u16(), "answered");
        Ok(answer)
    }

    async fn route(
        &self,
        route: ServerRoute,
        name: &str,
        head: &Parts,
        body: &mut (impl Body<Data = Bytes> + Unpin),
    ) -> Result<Answer, Problem> {
        check(head)?;
        let fields = Fields::of(&head.headers);
        if !self.is_open_to_pages(route) {
            self.check_browser(head, &fields)?;
        }
        let shared = &self.shared;
        let body = self.body(route.methods(), head, &fields, body).await?;
        match route {
            ServerRoute::Decide => asks::<S, _>(|| routes::decide(shared, &body)).await,
            ServerRoute::Peek => asks::<S, _>(|| routes::peek(shared, &body)).await,
            ServerRoute::Batch => asks::<S, _>(|| routes::batch(shared, &body, &self.share)).await,
            ServerRoute::Settle => asks::<S, _>(|| routes::settle(shared, &body)).await,
            ServerRoute::Explain => {
                asks::<S, _>(|| routes::explain(shared, name, query(head), &self.share)).await
            }
            ServerRoute::Gate => asks::<S, _>(|| routes::gate(shared, name, self.peer, head)).await,
            ServerRoute::Policies => Box::pin(routes::policies(shared)).await,
            ServerRoute::Metrics => Box::pin(routes::metrics(shared, &head.headers)).await,
            ServerRoute::Openapi => Box::pin(routes::openapi(shared)).await,
            ServerRoute::Livez => Ok(routes::livez()),
            ServerRoute::Readyz => Ok(routes::readyz(shared)),
            ServerRoute::Other => {
                Err(Code::NotFound.problem("`/openapi.json` lists the endpoints"))
            }
        }
    }

    /// Answers a request to the admin listener, once its token has been checked.
    async fn operate(
        &self,
        guard: &AdminGuard,
        head: &Parts,
        body: &mut (impl Body<Data = Bytes> + Unpin),
    ) -> Result<Answer, Problem> {
        check(head)?;
        let fields = Fields::of(&head.headers);
        self.check_browser(head, &fields)?;
        let shared = &self.shared;
        if let Err(refusal) = guard.admit(self.peer, &head.headers, shared.clock.now()) {
            if refusal != TokenRefusal::Missing {
                shared.head_refusals[HeadRefusal::WrongToken as usize].add_one();
            }
            return Ok(refusal.response().map(Payload::from));
        }
        if let Some(origin) = &self.origin {
            origin.vouch();
        }
        let route = AdminRoute::at(head.uri.path());
        let body = self.body(route.methods(), head, &fields, body).await?;
        match route {
            AdminRoute::Blocks => admin::blocks(shared, query(head), &self.share).await,
            AdminRoute::Block => admin::block(shared, self.peer, &body).await,
            AdminRoute::Unblock => admin::unblock(shared, self.peer, &body).await,
            AdminRoute::Reset => admin::reset(shared, self.peer, &body).await,
            AdminRoute::Quotas => admin::quotas(shared, query(head)).await,
            AdminRoute::Other => {
                let [paths @ .., last, _] = AdminRoute::ALL.map(AdminRoute::template);
                let there = format!("there are {} and {last}", paths.join(", "));
                Err(Code::NotFound.problem(there))
            }
        }
    }

    #[cold]
    fn refusal(&self, head: &Parts, problem: &Problem) -> Answer {
        let mut refusal = problem.response().map(Payload::from);
        if problem.code() == Code::MethodNotAllowed {
            let path = head.uri.path();
            let methods = match self.side {
                ListenerSide::Main => ServerRoute::of(path).0.methods(),
                ListenerSide::Admin(_) => AdminRoute::at(path).methods(),
            };
            answer::allow(&mut refusal, methods.allowed());
        }
        refusal
    }

    /// Whether requests of this route are answered whatever host they name and whatever page sent them. A
    /// health check changes nothing, tells no secret, and must not fail because of a name. At the gate a
    /// trusted proxy passes on the header fields of its own client, which name another host.
    fn is_open_to_pages(&self, route: ServerRoute) -> bool {
        match route {
            ServerRoute::Livez | ServerRoute::Readyz => true,
            ServerRoute::Gate => self.shared.settings.gate.trust.trusts(self.peer),
            _ => false,
        }
    }

    /// Refuses a request that a browser sends for a page that has no business here.
    fn check_browser(&self, head: &Parts, fields: &Fields<'_>) -> Result<(), Problem> {
        let shared = &self.shared;
        browser::check(&shared.settings.hosts, &self.local, head, fields).map_err(|turned| {
            shared.head_refusals[turned.reason() as usize].add_one();
            turned.problem()
        })
    }

    /// Checks the method of a request, and reads its body if the endpoint takes one.
    async fn body(
        &self,
        methods: Methods,
        head: &Parts,
        fields: &Fields<'_>,
        body: &mut (impl Body<Data = Bytes> + Unpin),
    ) -> Result<Bytes, Problem> {
        match methods {
            Methods::None => Ok(Bytes::new()),
            _ if !methods.contain(&head.method) => Err(Code::MethodNotAllowed.alone()),
            Methods::Get => Ok(Bytes::new()),
            Methods::Post => {
                body::is_json(fields)?;
                let settings = &self.shared.settings;
                body::read(body, settings.max_body, settings.timeouts.body, &self.share).await
            }
        }
    }
}

/// Answers a request that asks the store and waits for nothing else. A case and its readings take three
/// kilobytes, and hyper moves the future of every request. So they are not kept in it: a store that never
/// waits is asked within one poll, and for any other they are boxed.
#[inline]
async fn asks<S, F>(route: impl FnOnce() -> F) -> Result<Answer, Problem>
where
    S: Store,
    F: Future<Output = Result<Answer, Problem>>,
{
    match Engine::<S>::AT_ONCE {
        true => {
            let unready = || Code::StoreFailed.problem("the store in memory has not answered");
            ready(route()).ok_or_else(unready)?
        }
        false => Box::pin(route()).await,
    }
}

/// Refuses a request whose target is longer than [`MAX_TARGET`].
fn check(head: &Parts) -> Result<(), Problem> {
    let target = head.uri.path_and_query().map_or(0, |target| target.as_str().len());
    if target > MAX_TARGET {
        return Err(Code::UriTooLong.problem(format!("a target has at most {MAX_TARGET} bytes")));
    }
    Ok(())
}

fn query(head: &Parts) -> &str {
    head.uri.query().unwrap_or_default()
}

/// Removes the body of an answer to `HEAD` and keeps its length. With HTTP/1 hyper does this.
fn withhold(answer: &mut Answer) {
    let length = answer.body().size_hint().exact().unwrap_or(0);
    answer.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(length));
    *answer.body_mut() = Payload::default();
}
