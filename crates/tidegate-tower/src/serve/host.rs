//! What a listener serves: a service for each connection.

use core::error::Error;
use core::task::{Context, Poll};
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use http::{Request, Response, StatusCode};
use http_body::Body;
use tower_service::Service;

use super::memory::Share;
use super::upload::Upload;
use crate::visit::Peer;

/// The error of a service or a body.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// A connection that is served: its ends, its protocol, its place and its memory.
#[derive(Debug)]
pub struct Origin {
    pub(super) peer: SocketAddr,
    pub(super) local: Option<SocketAddr>,
    pub(super) protocol: Protocol,
    pub(super) place: Place,
    pub(super) share: Arc<Share>,
}

/// The protocol that a client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.0 or HTTP/1.1.
    Http1,
    /// HTTP/2 with prior knowledge.
    Http2,
}

/// The kind of place that a connection has at its listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A place for everybody.
    Ordinary,
    /// A place that is kept for health checks when all others are taken.
    Reserved,
}

/// A request that the listener itself refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The status of the answer.
    pub status: StatusCode,
    /// What is wrong, in plain English; nothing of the request is in it.
    pub detail: &'static str,
}

/// Makes the service that answers the requests of one connection.
///
/// [`Each`] is a host for any tower service, which it [clones](Clone) for each connection.
pub trait Host: Clone + Send + 'static {
    /// The bodies of the responses, with trailers if they have any.
    type Body: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static;

    /// Makes the host of one more thread, for state that threads should not share.
    #[must_use]
    fn lane(&self) -> Self {
        self.clone()
    }

    /// Makes the service of a connection.
    fn connect(
        &self,
        origin: &Arc<Origin>,
    ) -> impl Service<
        Request<Upload>,
        Response = Response<Self::Body>,
        Error: Into<BoxError>,
        Future: Send,
    > + Clone
    + Send
    + 'static;

    /// The answer to a request that the listener refuses: a problem document unless this is overridden.
    fn refuse(&self, refusal: Refusal) -> Response<Bytes> {
        refusal.problem()
    }
}

/// Serves every connection with a clone of one tower service. Each request has its [`Peer`](crate::Peer)
/// in its extensions.
#[derive(Clone, Debug)]
pub struct Each<V>(pub V);

/// Puts the peer of a connection into its requests.
#[derive(Clone, Debug)]
struct WithPeer<V> {
    service: V,
    peer: SocketAddr,
}

// === impl Origin ===

impl Origin {
    /// The client's end of the socket.
    #[must_use]
    pub const fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// Our end of the socket, if the connection is a socket.
    #[must_use]
    pub const fn local(&self) -> Option<SocketAddr> {
        self.local
    }

    /// The protocol that the client speaks.
    #[must_use]
    pub const fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// The kind of place that the connection has. A reserved one is for health checks alone.
    #[must_use]
    pub const fn place(&self) -> Place {
        self.place
    }

    /// The memory that is counted for this connection.
    #[must_use]
    pub const fn share(&self) -> &Arc<Share> {
        &self.share
    }
}

// === impl Refusal ===

impl Refusal {
    /// The refusal as a problem document (RFC 9457).
    #[must_use]
    pub fn problem(self) -> Response<Bytes> {
        let title = self.status.canonical_reason().unwrap_or("Refused");
        let document = serde_json::json!({"title": title, "status": self.status.as_u16(), "detail": self.detail});
        let mut response = Response::new(Bytes::from(document.to_string()));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }
}

// === impl Each ===

impl<V, B> Host for Each<V>
where
    V: Service<Request<Upload>, Response = Response<B>> + Clone + Send + 'static,
    V::Future: Send,
    V::Error: Into<BoxError>,
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    type Body = B;

    fn connect(
        &self,
        origin: &Arc<Origin>,
    ) -> impl Service<Request<Upload>, Response = Response<B>, Error: Into<BoxError>, Future: Send>
    + Clone
    + Send
    + 'static {
        WithPeer { service: self.0.clone(), peer: origin.peer }
    }
}

// === impl WithPeer ===

impl<V: Service<Request<Upload>>> Service<Request<Upload>> for WithPeer<V> {
    type Response = V::Response;
    type Error = V::Error;
    type Future = V::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), V::Error>> {
        self.service.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<Upload>) -> V::Future {
        request.extensions_mut().insert(Peer(self.peer));
        self.service.call(request)
    }
}
