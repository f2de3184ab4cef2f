//! What a client is told: status, header fields and bodies.

mod code;

pub use code::Code;

use bytes::Bytes;
use http::{HeaderMap, Response};
use tidegate_core::{Decision, Timestamp};

use crate::request_id::RequestId;

/// How clients are answered: which header fields, which body.
#[derive(Clone, Debug, Default)]
pub struct Profile {}

/// What header fields say about a decision, kept until there is a response to write them into.
#[derive(Clone, Debug)]
pub(crate) struct Figures {}

/// A refusal, before it is written down.
#[derive(Debug)]
pub(crate) struct Refused<'a> {
    pub(crate) code: Code,
    pub(crate) decision: Option<Decision<'a>>,
    pub(crate) request_id: &'a RequestId,
    pub(crate) at: Timestamp,
    /// Whether the client speaks gRPC, and so reads the status from header fields of its own.
    pub(crate) grpc: bool,
}

// === impl Profile ===

impl Profile {
    /// The whole response.
    #[cold]
    pub(crate) fn refusal(&self, refused: &Refused<'_>) -> Response<Bytes> {
        let mut response = Response::new(Bytes::new());
        *response.status_mut() = refused.code.status();
        response
    }
}

// === impl Figures ===

impl Figures {
    /// What there is to say about this decision.
    pub(crate) fn of(_decision: &Decision<'_>) -> Self {
        Self {}
    }

    /// Whether less is left of this one than of the other: a refusal first, then the smaller share.
    pub(crate) fn is_scarcer_than(&self, _other: &Self) -> bool {
        false
    }

    /// Writes the header fields, in the place of any of these names that are there.
    pub(crate) fn write(&self, _profile: &Profile, _headers: &mut HeaderMap) {}
}
