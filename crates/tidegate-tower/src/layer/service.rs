//! The service a layer makes.

use core::fmt;
use core::task::{Context, Poll};

use bytes::Bytes;
use http::header::{CONNECTION, HeaderValue};
use http::request::Parts;
use http::{Request, Response, StatusCode, Version};
use http_body::Body as HttpBody;
use tidegate_core::Store;
use tidegate_engine::{Engine, ready};
use tower_service::Service;

use super::Side;
use super::after::After;
use super::future::{CallState, GateFuture};
use crate::body::Body;
use crate::gate::{Gate, Passage, Ruling};
use crate::visit::Degraded;

/// The service of a layer: rules on requests, and hands those that may pass to the service within.
pub struct GateService<S, V> {
    pub(super) gate: Gate<S>,
    pub(super) side: Side,
    pub(super) inner: V,
}

/// The longest unread body that the server is left to read and discard: what was sent together with the
/// head is in its buffer already.
const SHORT: u64 = 8 << 10;

// === impl GateService ===

impl<S: Store + 'static, V: Clone> GateService<S, V> {
    /// Hands a request that may pass to the service within, which has said that it is ready.
    pub(super) fn pass<B, R>(
        &mut self,
        head: Parts,
        body: B,
        passage: Passage,
    ) -> CallState<S, V, V::Future, B, R>
    where
        V: Service<Request<B>, Response = Response<R>>,
    {
        let mut request = Request::from_parts(head, body);
        if passage.degraded {
            request.extensions_mut().insert(Degraded);
        }
        let after = Some(After { gate: self.gate.clone(), passage });
        CallState::Passing { future: self.inner.call(request), after }
    }

    /// Releases what the service within has set aside when it said it was ready. No request follows, and
    /// a client that is refused must not hold what others wait for.
    pub(super) fn release(&mut self) {
        self.inner = self.inner.clone();
    }
}

impl<S, V: Clone> Clone for GateService<S, V> {
    fn clone(&self) -> Self {
        Self { gate: self.gate.clone(), side: self.side, inner: self.inner.clone() }
    }
}

impl<S, V> fmt::Debug for GateService<S, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GateService").field("side", &self.side).finish_non_exhaustive()
    }
}

impl<S, V, B, R> Service<Request<B>> for GateService<S, V>
where
    S: Store + 'static,
    V: Service<Request<B>, Response = Response<R>> + Clone,
    B: HttpBody,
    R: HttpBody<Data = Bytes>,
{
    type Response = Response<Body<R>>;
    type Error = V::Error;
    type Future = GateFuture<S, V, B, R>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), V::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (mut head, body) = request.into_parts();
        // An engine that answers at once is done at the first poll, so no future has to be kept for
        // later. A request is never ruled on twice: it may have been counted.
        if Engine::<S>::AT_ONCE {
            let ruling = ready(self.gate.rule_on(self.side, &mut head));
            let state = match ruling.unwrap_or_else(|| Ruling::Refuse(Box::new(undecided()))) {
                Ruling::Pass(passage) => self.pass(head, body, passage),
                Ruling::Refuse(response) => {
                    self.release();
                    refused(*response, head.version, &body)
                }
            };
            return GateFuture { state };
        }
        // The service that is ready goes with the request; the clone that stays has to get ready again.
        let fresh = self.inner.clone();
        let inner = core::mem::replace(&mut self.inner, fresh);
        let (gate, side) = (self.gate.clone(), self.side);
        let judge = gate.clone();
        let judging = Box::pin(async move {
            let ruling = judge.rule_on(side, &mut head).await;
            (head, ruling)
        });
        let service = Self { gate, side, inner };
        GateFuture { state: CallState::Deciding { judging, service, body: Some(body) } }
    }
}

/// The answer to a request whose ruling waits although the engine never does, which would be a bug.
#[cold]
fn undecided() -> Response<Bytes> {
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
    response
}

/// The state of a refused request, with the refusal as it is sent. Unread bytes of the request could be taken for another request, so an HTTP/1
/// connection with more than a short unread body says that it closes (threat T28).
pub(super) fn refused<S, V, F, B: HttpBody, R>(
    response: Response<Bytes>,
    version: Version,
    body: &B,
) -> CallState<S, V, F, B, R> {
    let mut response = response.map(Body::refused);
    let unread = match body.size_hint().upper() {
        _ if body.is_end_stream() => false,
        Some(length) => length > SHORT,
        None => true,
    };
    if unread && version < Version::HTTP_2 {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    CallState::Answered { settling: None, response: Some(response) }
}
