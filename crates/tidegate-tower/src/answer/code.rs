//! Every way in which a request can be refused.

use http::StatusCode;

/// Why a request was refused, for programs that branch on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// Past a limit, or blocked.
    RateLimitExceeded,
    /// Local guardrails refuse, and have decided for so long that it may be told.
    EnforcementDegraded,
    /// Whether it may pass cannot be found out, and the policy denies meanwhile.
    Unavailable,
    /// The route asks for a scope that was not granted.
    InsufficientScope,
    /// The route is for those who are known, and nobody has said who asks.
    AuthenticationRequired,
    /// The path has no canonical form.
    InvalidPath,
    /// The host has wired something wrongly; the log says what.
    Misconfigured,
}

// === impl Code ===

impl Code {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::RateLimitExceeded,
        Self::EnforcementDegraded,
        Self::Unavailable,
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
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Self::InsufficientScope => StatusCode::FORBIDDEN,
            Self::AuthenticationRequired => StatusCode::UNAUTHORIZED,
            Self::InvalidPath => StatusCode::BAD_REQUEST,
            Self::Misconfigured => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}
