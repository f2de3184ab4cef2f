//! Why a request was not decided, and so must not pass.

use tidegate_core::{Name, Span};

/// Why there is no decision.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecideError {
    /// No limit of the policy applies to the subject.
    #[error(
        "no limit of policy `{policy}` applies: the subject has none of the facts its limits \
         count by; pass them, or add a limit on `ip` or a global one"
    )]
    NothingApplies {
        /// The policy. Boxed, so that a decision or its error fits into two registers: handed on
        /// through memory, it costs an awaited decision ten nanoseconds.
        policy: Box<Name>,
    },
    /// More requests came at once than the store can be asked about in time, so this one was shed:
    /// nothing was counted, and nothing is known about who asks. Answer with 503, and with
    /// [`RETRY_AFTER`](Self::RETRY_AFTER) as the time to come back.
    #[error("too many requests at once; this one was shed, try again later")]
    Overloaded,
}

// === impl DecideError ===

impl DecideError {
    /// How long to wait after a request was [shed](Self::Overloaded).
    pub const RETRY_AFTER: Span = Span::SECOND;
}
