//! Every way in which a request can be refused.

use http::StatusCode;
use tidegate_engine::DecideError;

/// Why a request was refused, for programs that branch on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// The request is past a limit, or a block keeps it out.
    RateLimitExceeded,
    /// The store has failed for long, and the local guardrails that decide meanwhile refuse.
    EnforcementDegraded,
    /// Whether the request may pass cannot be found out now, and its policy refuses meanwhile.
    Unavailable,
    /// The request was shed: more came at once than can be checked in time.
    Overloaded,
    /// The route asks for a scope that was not granted.
    InsufficientScope,
    /// The route needs an identity, and the request has none.
    AuthenticationRequired,
    /// The path has no canonical form.
    InvalidPath,
    /// The host has wired something wrongly; the log says what.
    Misconfigured,
}

// === impl Code ===

impl Code {
    /// All codes.
    pub const ALL: [Self; 8] = [
        Self::RateLimitExceeded,
        Self::EnforcementDegraded,
        Self::Unavailable,
        Self::Overloaded,
        Self::InsufficientScope,
        Self::AuthenticationRequired,
        Self::InvalidPath,
        Self::Misconfigured,
    ];

    /// The name used in bodies and logs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::RateLimitExceeded => "throttling.rate_limit_exceeded",
            Self::EnforcementDegraded => "throttling.enforcement_degraded",
            Self::Unavailable => "throttling.unavailable",
            Self::Overloaded => "throttling.overloaded",
            Self::InsufficientScope => "authorization.insufficient_scope",
            Self::AuthenticationRequired => "authentication.required",
            Self::InvalidPath => "request.invalid_path",
            Self::Misconfigured => "internal.misconfigured",
        }
    }

    /// The status of the response.
    #[must_use]
    pub const fn status(self) -> StatusCode {
        match self {
            Self::RateLimitExceeded | Self::EnforcementDegraded => StatusCode::TOO_MANY_REQUESTS,
            Self::Unavailable | Self::Overloaded => StatusCode::SERVICE_UNAVAILABLE,
            Self::InsufficientScope => StatusCode::FORBIDDEN,
            Self::AuthenticationRequired => StatusCode::UNAUTHORIZED,
            Self::InvalidPath => StatusCode::BAD_REQUEST,
            Self::Misconfigured => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// The sentence that tells the reason to people; it reveals nothing beyond the code.
    #[must_use]
    pub const fn message(self) -> &'static str {
        match self {
            Self::RateLimitExceeded => "Too many requests.",
            Self::EnforcementDegraded => {
                "Too many requests: for the time being, less than usual is admitted."
            }
            Self::Unavailable => "This cannot be checked right now.",
            Self::Overloaded => "Too many requests at once to check this one.",
            Self::InsufficientScope => "A scope that this request needs was not granted.",
            Self::AuthenticationRequired => "This request needs authentication.",
            Self::InvalidPath => "The path of this request has no canonical form.",
            Self::Misconfigured => "Something went wrong.",
        }
    }

    /// The type of a problem document (RFC 9457).
    #[must_use]
    pub const fn urn(self) -> &'static str {
        match self {
            Self::RateLimitExceeded => "urn:tidegate:problem:rate-limit-exceeded",
            Self::EnforcementDegraded => "urn:tidegate:problem:enforcement-degraded",
            Self::Unavailable => "urn:tidegate:problem:unavailable",
            Self::Overloaded => "urn:tidegate:problem:overloaded",
            Self::InsufficientScope => "urn:tidegate:problem:insufficient-scope",
            Self::AuthenticationRequired => "urn:tidegate:problem:authentication-required",
            Self::InvalidPath => "urn:tidegate:problem:invalid-path",
            Self::Misconfigured => "urn:tidegate:problem:misconfigured",
        }
    }

    /// The title of all problem documents of this type.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::RateLimitExceeded => "Rate limit exceeded",
            Self::EnforcementDegraded => "Enforcement degraded",
            Self::Unavailable => "Unavailable",
            Self::Overloaded => "Overloaded",
            Self::InsufficientScope => "Insufficient scope",
            Self::AuthenticationRequired => "Authentication required",
            Self::InvalidPath => "Invalid path",
            Self::Misconfigured => "Internal error",
        }
    }

    /// The wait before a retry, in whole seconds, of a code that comes without a decision.
    pub(crate) const fn retry_after(self) -> Option<u64> {
        match self {
            Self::Overloaded => Some(DecideError::RETRY_AFTER.as_secs_ceil()),
            _ => None,
        }
    }

    /// The gRPC status code, for clients that speak gRPC.
    #[must_use]
    pub const fn grpc_status(self) -> u16 {
        match self {
            // RESOURCE_EXHAUSTED
            Self::RateLimitExceeded | Self::EnforcementDegraded => 8,
            // UNAVAILABLE
            Self::Unavailable | Self::Overloaded => 14,
            // PERMISSION_DENIED
            Self::InsufficientScope => 7,
            // UNAUTHENTICATED
            Self::AuthenticationRequired => 16,
            // INVALID_ARGUMENT
            Self::InvalidPath => 3,
            // INTERNAL
            Self::Misconfigured => 13,
        }
    }
}
