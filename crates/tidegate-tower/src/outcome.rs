//! Limits that count by outcome: charged at the start, given back unless the outcome counts.
//!
//! Counting only when the response is there would let as many pass at once as one can send before the
//! first has failed. A request that is given up before its response stays counted, for nobody knows
//! what would have come of it.

use http::{HeaderValue, Response};
use tidegate_core::{Decision, Outcomes, Store, Ticket};
use tidegate_engine::Engine;

/// A charge that is given back unless the outcome counts.
#[derive(Debug)]
pub(crate) struct PendingCharge {
    /// The ticket with which the charge is settled.
    pub(crate) ticket: Ticket,
    /// The outcomes that count; for any other the charge is given back.
    pub(crate) outcomes: Outcomes,
}

// === impl PendingCharge ===

impl PendingCharge {
    /// The charge of this decision, if it may have to be given back.
    #[inline]
    pub(crate) fn of<S: Store>(engine: &Engine<S>, decision: &Decision<'_>) -> Option<Self> {
        let outcomes = *decision.policy().outcomes()?;
        Some(Self { ticket: engine.ticket(decision)?, outcomes })
    }
}

/// The outcome of a response, as an HTTP status. gRPC tells it in the field `grpc-status`.
pub(crate) fn of<B>(response: &Response<B>) -> u16 {
    match response.headers().get("grpc-status").map(HeaderValue::as_bytes) {
        Some(b"16") => 401,
        Some(b"7") => 403,
        _ => response.status().as_u16(),
    }
}
