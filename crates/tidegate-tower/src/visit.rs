//! One request at the door.

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

/// The address of the socket's other end. Whoever accepts connections puts it into the extensions of
/// every request; nothing else says where a request came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Peer(pub SocketAddr);

/// Stands in the extensions of a request that passes with a lower quality of service, because its policy
/// says so instead of refusing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Degraded;

/// What the door has found out about one request. The early layer puts it into the request's
/// extensions.
#[derive(Clone, Debug)]
pub struct Visit {
    /// What the request is called.
    pub request_id: RequestId,
    /// The trace it belongs to, if whoever sent it traces.
    pub trace: Option<TraceContext>,
    /// The client: the peer, or whom trusted proxies vouch for.
    pub client: IpAddr,
    /// What it is about.
    pub endpoint: Arc<Endpoint>,
    /// When it came, by the clock of this node.
    pub at: Timestamp,
    /// Whether the early layer has let it pass.
    pub(crate) was_early: bool,
    /// How to answer.
    pub(crate) profile: Profile,
}

// === impl Visit ===

impl Visit {
    /// What ties this request to others in audit records: its trace, in hexadecimal, or else its own name.
    #[must_use]
    pub fn correlation_id(&self) -> String {
        self.trace.map_or_else(|| self.request_id.to_string(), |trace| trace.trace_id_hex())
    }

    /// A refusal in the words of the gate, for a host that refuses on its own: a token that nobody knows,
    /// a password that is wrong.
    #[must_use]
    pub fn refuse(&self, code: Code) -> Response<Bytes> {
        let Self { request_id, at, profile, .. } = self;
        profile.refusal(&Refused { code, decision: None, request_id, at: *at, grpc: false })
    }
}
