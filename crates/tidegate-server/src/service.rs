//! One request: which route, which method, which answer.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, HOST, HeaderValue};
use http::request::Parts;
use http::{Method, Request, Version};
use hyper::body::{Body, Incoming};

use crate::accept::Side;
use crate::admin::{self, AdminRoute, Guard};
use crate::answer::{self, Answer, Payload, Stream};
use crate::body::{self, Deadline};
use crate::connection::watch::{Phase, Watch};
use crate::problem::{Kind, Problem};
use crate::route::Route;
use crate::routes;
use crate::worker::Worker;
use tidegate_core::Store;

/// What a client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Http1,
    Http2,
}

/// Answers the requests of one connection.
pub(crate) struct Door<S> {
    pub(crate) worker: Arc<Worker<S>>,
    pub(crate) watch: Arc<Watch>,
    /// Who is at the other end of the socket.
    pub(crate) peer: IpAddr,
    pub(crate) side: Side,
    pub(crate) protocol: Protocol,
}

/// The most bytes of a target. Less than a head may have, so that there is room to say so.
const MAX_TARGET: usize = 8 << 10;

/// The most fields of a head. HTTP/1 has the same bound in its parser.
const MAX_FIELDS: usize = 100;

// === impl Door ===

impl<S: Store + 'static> Door<S> {
    /// Answers one request, whatever it is.
    pub(crate) async fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
    ) -> Result<Answer, Infallible> {
        let clock = &self.worker.shared.clock;
        let began = clock.now();
        let stream = match self.protocol {
            Protocol::Http2 => Some(Stream::begin(&self.watch)),
            Protocol::Http1 => {
                self.watch.enter(Phase::Answer);
                None
            }
        };
        let (head, mut body) = request.into_parts();
        let (route, name) = match self.side {
            Side::Main => Route::of(head.uri.path()),
            Side::Admin(_) => (Route::Other, ""),
        };
        let routed = match &self.side {
            Side::Main => self.route(route, name, &head, &mut body).await,
            // Rare, so its size is not for every other request to carry.
            Side::Admin(guard) => Box::pin(self.operate(guard, &head, &mut body)).await,
        };
        let mut unclear = false;
        let mut answer = routed.unwrap_or_else(|problem| {
            unclear = problem.is(Kind::Malformed);
            refusal(route, &problem)
        });
        match stream {
            Some(stream) => {
                if head.method == Method::HEAD {
                    withhold(&mut answer);
                }
                answer.body_mut().of(stream);
            }
            None => {
                // A body in chunks never counts as read to its end: beside a length that hyper
                // does not show, somebody before us may have divided the bytes otherwise.
                if unclear || !body.is_end_stream() {
                    self.watch.leave_unread();
                    answer::close(&mut answer);
                }
                self.watch.enter(Phase::Write);
            }
        }
        let status = answer.status();
        let template = match self.side {
            Side::Main => {
                self.worker.tally.answered(route, status, clock.now().since(began));
                route.template()
            }
            // Operators are few and have a log; the metrics are about those who ask.
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
        body: &mut Incoming,
    ) -> Result<Answer, Problem> {
        self.check(head)?;
        if !route.answers(&head.method) {
            return Err(match route {
                Route::Other => Kind::NotFound.problem("`/openapi.json` says what there is"),
                _ => Kind::MethodNotAllowed.alone(),
            });
        }
        let worker = &*self.worker;
        match route {
            Route::Decide => routes::decide(worker, &self.json(head, body).await?).await,
            Route::Peek => routes::peek(worker, &self.json(head, body).await?).await,
            Route::Batch => routes::batch(worker, &self.json(head, body).await?).await,
            Route::Settle => routes::settle(worker, &self.json(head, body).await?).await,
            Route::Policies => routes::policies(worker),
            Route::Explain => routes::explain(worker, name, query(head)).await,
            Route::Gate => routes::gate(worker, name, self.peer, head).await,
            Route::Livez => Ok(routes::livez()),
            Route::Readyz => routes::readyz(worker),
            Route::Metrics => routes::metrics(worker, &head.headers).await,
            Route::Openapi => routes::openapi(),
            Route::Other => Err(Kind::NotFound.alone()),
        }
    }

    /// What an operator asks for, once it is clear that it is one.
    async fn operate(
        &self,
        guard: &Guard,
        head: &Parts,
        body: &mut Incoming,
    ) -> Result<Answer, Problem> {
        self.check(head)?;
        let worker = &*self.worker;
        if let Some(refusal) = guard.refuse(self.peer, &head.headers, worker.shared.clock.now()) {
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
            AdminRoute::Block => admin::block(worker, peer, &self.json(head, body).await?).await,
            AdminRoute::Unblock => {
                admin::unblock(worker, peer, &self.json(head, body).await?).await
            }
            AdminRoute::Reset => admin::reset(worker, peer, &self.json(head, body).await?).await,
            AdminRoute::Quotas => admin::quotas(worker, query(head)).await,
        }
    }

    /// Whether a head is within its bounds and names its host.
    fn check(&self, head: &Parts) -> Result<(), Problem> {
        let target = head.uri.path_and_query().map_or(0, |target| target.as_str().len());
        if target > MAX_TARGET {
            return Err(
                Kind::UriTooLong.problem(format!("a target has at most {MAX_TARGET} bytes"))
            );
        }
        if head.headers.len() > MAX_FIELDS {
            let detail = format!("a request has at most {MAX_FIELDS} header fields");
            return Err(Kind::HeadTooLarge.problem(detail));
        }
        if self.protocol == Protocol::Http1 && !names_one_host(head) {
            return Err(Kind::Malformed.problem("a request names its host, once"));
        }
        Ok(())
    }

    /// The body, if it is declared as JSON.
    async fn json(&self, head: &Parts, body: &mut Incoming) -> Result<Bytes, Problem> {
        body::is_json(&head.headers)?;
        let shared = &self.worker.shared;
        let settings = &shared.settings;
        let deadline = match self.protocol {
            Protocol::Http1 => Deadline::Watched(&self.watch),
            Protocol::Http2 => Deadline::After(settings.timeouts.body),
        };
        body::read(body, settings.max_body, deadline, &shared.bodies).await
    }
}

/// Whether it is clear which host is meant: RFC 9112 refuses anything else, because two readers might
/// choose differently. HTTP/1.0 did not have the field.
fn names_one_host(head: &Parts) -> bool {
    let mut hosts = head.headers.iter().filter(|(name, _)| *name == HOST);
    match (hosts.next(), hosts.next()) {
        (Some(_), None) => true,
        (None, _) => head.version < Version::HTTP_11,
        (Some(_), Some(_)) => false,
    }
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

/// Keeps the length of a body and not the body. With HTTP/1 hyper does this.
fn withhold(answer: &mut Answer) {
    let length = answer.body().size_hint().exact().unwrap_or(0);
    answer.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(length));
    *answer.body_mut() = Payload::default();
}
