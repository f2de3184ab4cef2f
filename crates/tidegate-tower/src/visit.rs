//! One request at the door.

use std::net::IpAddr;
use std::net::SocketAddr;
use std::sync::Arc;

use tidegate_core::Timestamp;

use crate::answer::Profile;
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
    /// The trace it belongs to.
    pub trace: TraceContext,
    /// The client: the peer, or whom trusted proxies vouch for.
    pub client: IpAddr,
    /// What it is about.
    pub endpoint: Arc<Endpoint>,
    /// When it came, by the clock of this node.
    pub at: Timestamp,
    /// Whether the early layer has let it pass.
    pub(crate) was_early: bool,
    /// How to answer, for extractors.
    #[cfg_attr(not(feature = "axum"), expect(dead_code, reason = "only extractors answer late"))]
    pub(crate) profile: Profile,
}

// === impl Visit ===

impl Visit {
    /// What ties this request to others in audit records: its trace, in hexadecimal.
    #[must_use]
    pub fn correlation_id(&self) -> String {
        self.trace.trace_id_hex()
    }
}
