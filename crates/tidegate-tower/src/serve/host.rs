//! What a listener serves: a service for each connection.

use core::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use tower::util::MapRequest;
use tower_service::Service;

use super::admission::Voucher;
use super::memory::Share;
use super::upload::Upload;
use crate::answer::Code;
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
    /// The reason, which has the status of the answer.
    pub code: Code,
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
        refusal.code.problem(refusal.detail).response()
    }
}

/// Serves every connection with a clone of one tower service. Each request has its [`Peer`](crate::Peer)
/// and the memory of its connection, an `Arc<`[`Share`]`>`, in its extensions.
#[derive(Clone, Debug)]
pub struct Each<V>(pub V);

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
        let (peer, share) = (Peer(origin.peer), Arc::clone(&origin.share));
        MapRequest::new(self.0.clone(), move |mut request: Request<Upload>| {
            let extensions = request.extensions_mut();
            extensions.insert(peer);
            extensions.insert(Arc::clone(&share));
            request
        })
    }
}
