//! One request, as the layers have seen it.

use std::net::IpAddr;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use tidegate_core::Timestamp;

use crate::answer::{Code, Profile, Refused};
use crate::request_id::RequestId;
use crate::routes::Endpoint;
use crate::trace::TraceContext;

/// The address of the socket's other end. The code that accepts connections puts it into the extensions
/// of every request; nothing else says where a request came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Peer(pub SocketAddr);

/// Marks a request, in its extensions, that passes with a lower quality of service, because its policy
/// degrades it instead of refusing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Degraded;

/// What the gate has found out about one request. The first layer that sees the request puts it into the
/// extensions.
#[derive(Clone, Debug)]
pub struct Visit {
    /// The id of the request.
    pub request_id: RequestId,
    /// The trace that the request belongs to, if its sender traces.
    pub trace: Option<TraceContext>,
    /// The address of the client: the peer, or the one that trusted proxies vouch for.
    pub client: IpAddr,
    /// The endpoint that the request is for.
    pub endpoint: Arc<Endpoint>,
    /// When the request came, by the clock of this node.
    pub at: Timestamp,
    /// Whether the request has passed the early layer.
    pub(crate) was_early: bool,
    /// The profile in which the gate answers.
    pub(crate) profile: Profile,
}

// === impl Visit ===

impl Visit {
    /// The id that ties this request to others in audit records: its trace id in hexadecimal, or else
    /// its own id.
    #[must_use]
    pub fn correlation_id(&self) -> String {
        self.trace.map_or_else(|| self.request_id.to_string(), |trace| trace.trace_id_hex())
    }

    /// A refusal in the profile of the gate, for a host that refuses on its own: a token that nobody
    /// knows, a password that is wrong.
    #[must_use]
    pub fn refuse(&self, code: Code) -> Response<Bytes> {
        let Self { request_id, at, profile, .. } = self;
        profile.refusal(&Refused::new(code, request_id, *at))
    }
}
