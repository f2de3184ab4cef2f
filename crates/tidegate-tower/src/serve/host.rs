//! What a listener serves: a service for each connection.

use core::error::Error;
use core::task::{Context, Poll};
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::Body;
use tower_service::Service;

use super::admission::Voucher;
use super::memory::Share;
use super::upload::Upload;
use crate::answer::{MEDIA_TYPE, whole};
use crate::visit::Peer;

/// The error of a service or a body.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// A connection that is served: its ends, its protocol, its place and its memory.
#[derive(Debug)]
pub struct Origin {
    /// The client's end of the socket.
    pub peer: SocketAddr,
    /// Our end of the socket, if the connection is a socket.
    pub local: Option<SocketAddr>,
    /// The protocol that the client speaks.
    pub protocol: Protocol,
    /// The kind of place that the connection has. A reserved one is for health checks alone.
    pub place: PlaceKind,
    /// What vouches for the client, on a listener where connections give way.
    pub(super) voucher: Option<Voucher>,
    /// The memory that is counted for this connection.
    pub share: Arc<Share>,
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
pub enum PlaceKind {
    /// A place for everybody.
    Ordinary,
    /// A place that is kept for health checks when all others are taken.
    Reserved,
}

/// A request that the listener itself refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListenerRefusal {
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
    fn refuse(&self, refusal: ListenerRefusal) -> Response<Bytes> {
        refusal.problem()
    }
}

/// Serves every connection with a clone of one tower service. Each request has its [`Peer`](crate::Peer)
/// and the memory of its connection, an `Arc<`[`Share`]`>`, in its extensions.
#[derive(Clone, Debug)]
pub struct Each<V>(pub V);

/// Puts the peer and the memory of a connection into its requests.
#[derive(Clone, Debug)]
struct WithPeer<V> {
    service: V,
    peer: SocketAddr,
    share: Arc<Share>,
}

// === impl Origin ===

impl Origin {
    /// Vouches for the client: it has proved who it is, and its connection does not
    /// [give way](super::Bounds::give_way) to others any more.
    pub fn vouch(&self) {
        if let Some(voucher) = &self.voucher {
            voucher.vouch();
        }
    }
}

// === impl ListenerRefusal ===

impl ListenerRefusal {
    /// The refusal as a problem document (RFC 9457).
    #[must_use]
    pub fn problem(self) -> Response<Bytes> {
        let title = self.status.canonical_reason().unwrap_or("Refused");
        let document = serde_json::json!({"title": title, "status": self.status.as_u16(), "detail": self.detail});
        whole(self.status, MEDIA_TYPE, document.to_string())
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
        let (peer, share) = (origin.peer, Arc::clone(&origin.share));
        WithPeer { service: self.0.clone(), peer, share }
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
        let extensions = request.extensions_mut();
        extensions.insert(Peer(self.peer));
        extensions.insert(Arc::clone(&self.share));
        self.service.call(request)
    }
}
