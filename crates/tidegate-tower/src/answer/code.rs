//! Every reason for which a request is refused or cannot be answered: one list for the layers, the
//! decision server with its gate, and the admin listener.

use std::borrow::Cow;

use http::StatusCode;
use tidegate_core::{Decision, Fallback, Mode, Verdict};
use tidegate_engine::DecideError;

use super::problem::Problem;

/// Makes the enum, the list of its variants and their constants from one table: the status, the name, the
/// last part of the problem type (empty for `about:blank`), and the title.
macro_rules! codes {
    ($($(#[$doc:meta])* $code:ident = $status:literal, $name:literal, $kind:literal, $title:literal;)*) => {
        /// Why a request was refused, for programs that branch on it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Code {
            $($(#[$doc])* $code,)*
        }

        impl Code {
            /// All codes, first [those of the layers](Self::OF_LAYERS).
            pub const ALL: [Self; [$($status),*].len()] = [$(Self::$code),*];

            /// The status, the name, the last part of the problem type, and the title.
            const fn row(self) -> (u16, &'static str, &'static str, &'static str) {
                match self {
                    $(Self::$code => ($status, $name, $kind, $title),)*
                }
            }
        }
    };
}

codes! {
    /// The request is past a limit, or a block keeps it out.
    RateLimitExceeded =
        429, "throttling.rate_limit_exceeded", "rate-limit-exceeded", "Rate limit exceeded";
    /// The store has failed for long, and the local guardrails that decide meanwhile refuse.
    EnforcementDegraded =
        429, "throttling.enforcement_degraded", "enforcement-degraded", "Enforcement degraded";
    /// Not now: whether the request may pass cannot be found out and its policy refuses meanwhile, or a
    /// page could not be made.
    Unavailable = 503, "throttling.unavailable", "unavailable", "Unavailable";
    /// The request was shed: more came at once than can be checked in time.
    Overloaded = 503, "throttling.overloaded", "overloaded", "Overloaded";
    /// The route asks for a scope that was not granted.
    InsufficientScope =
        403, "authorization.insufficient_scope", "insufficient-scope", "Insufficient scope";
    /// The request needs an identity or a token, and has none, or a wrong one.
    AuthenticationRequired =
        401, "authentication.required", "authentication-required", "Authentication required";
    /// The path has no canonical form.
    InvalidPath = 400, "request.invalid_path", "invalid-path", "Invalid path";
    /// The host has wired something wrongly; the log says what.
    Misconfigured = 500, "internal.misconfigured", "misconfigured", "Internal error";
    /// The request is not HTTP as it should be.
    Malformed = 400, "request.malformed", "", "Bad Request";
    /// The body is not JSON.
    NotJson = 400, "request.not_json", "not-json", "The body is not JSON";
    /// A field is missing, unknown, there twice, or has a value it cannot have.
    InvalidField = 400, "request.invalid_field", "invalid-field", "Invalid field";
    /// The ticket is not one of this process or its fleet.
    BadTicket = 400, "ticket.bad", "bad-ticket", "Not a ticket";
    /// The request is refused, and the client is told no more.
    Forbidden = 403, "authorization.forbidden", "", "Forbidden";
    /// A web page of another origin has sent the request.
    CrossSite = 403, "request.cross_site", "cross-site", "Sent by a web page of another origin";
    /// There is nothing at this path.
    NotFound = 404, "request.not_found", "", "Not Found";
    /// There is no policy of that name.
    UnknownPolicy = 404, "request.unknown_policy", "unknown-policy", "No such policy";
    /// The path does not answer this method.
    MethodNotAllowed = 405, "request.method_not_allowed", "", "Method Not Allowed";
    /// The body came too slowly.
    Timeout = 408, "request.timeout", "", "Request Timeout";
    /// The ticket has been settled before.
    TicketSettled = 409, "ticket.settled", "ticket-settled", "The ticket was settled before";
    /// The ticket is too old.
    TicketExpired = 410, "ticket.expired", "ticket-expired", "The ticket has expired";
    /// The body is too large.
    BodyTooLarge = 413, "request.body_too_large", "", "Content Too Large";
    /// The target of the request is too long.
    UriTooLong = 414, "request.uri_too_long", "", "URI Too Long";
    /// The body is not declared as JSON.
    UnsupportedMediaType = 415, "request.unsupported_media_type", "", "Unsupported Media Type";
    /// The request names another server.
    Misdirected = 421, "request.misdirected", "", "Misdirected Request";
    /// No limit of the policy applies to the subject.
    NothingApplies =
        422, "request.nothing_applies", "nothing-applies", "No limit applies to the subject";
    /// The head of the request is too large, or has too many fields.
    HeadTooLarge = 431, "request.head_too_large", "", "Request Header Fields Too Large";
    /// Too much at once: bodies and answers hold all the memory they may, or a page is still being made.
    Busy = 503, "throttling.busy", "busy", "Too much at once";
    /// The store failed.
    StoreFailed = 503, "internal.store_failed", "store-failed", "The store failed";
}

// === impl Code ===

impl Code {
    /// The codes that the layers refuse with.
    pub const OF_LAYERS: &'static [Self] = Self::ALL.as_slice().split_at(8).0;

    /// The reason why a decision refuses; none if it does not.
    #[must_use]
    pub fn of(decision: &Decision<'_>) -> Option<Self> {
        match (decision.verdict(), decision.mode()) {
            (Verdict::Admit | Verdict::Degrade, _) => None,
            // An outage says nothing about the client, so this is no refusal for what the client did.
            (_, Mode::FailClosed) => Some(Self::Unavailable),
            _ if is_degraded_for_long(decision) => Some(Self::EnforcementDegraded),
            _ => Some(Self::RateLimitExceeded),
        }
    }

    /// A problem document with this code. The detail is cut if it is long.
    pub fn problem(self, detail: impl Into<Cow<'static, str>>) -> Problem {
        Problem::new(self, detail.into())
    }

    /// A problem document with this code and no detail: its title says it all.
    #[must_use]
    pub fn alone(self) -> Problem {
        self.problem("")
    }

    /// The name used in bodies and logs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.row().1
    }

    /// The status of the response.
    #[must_use]
    pub fn status(self) -> StatusCode {
        StatusCode::from_u16(self.row().0).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// The type of a problem document (RFC 9457); `about:blank` where the status says it all.
    #[must_use]
    pub fn urn(self) -> Cow<'static, str> {
        match self.row().2 {
            "" => "about:blank".into(),
            kind => format!("urn:tidegate:problem:{kind}").into(),
        }
    }

    /// The title of all problem documents of this type.
    #[must_use]
    pub const fn title(self) -> &'static str {
        self.row().3
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
            _ => self.title(),
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
        match self.row().0 {
            // RESOURCE_EXHAUSTED
            429 => 8,
            // UNAVAILABLE
            503 => 14,
            // PERMISSION_DENIED
            403 => 7,
            // UNAUTHENTICATED
            401 => 16,
            // INTERNAL
            500 => 13,
            // INVALID_ARGUMENT
            _ => 3,
        }
    }
}

/// Whether local guardrails have decided for so long that end users may know.
fn is_degraded_for_long(decision: &Decision<'_>) -> bool {
    let by_guardrails = matches!(
        decision.policy().fallback(),
        Fallback::Guarded | Fallback::Ceilings | Fallback::Health | Fallback::Spend
    );
    by_guardrails && decision.failsafe().is_some_and(|failsafe| failsafe.prolonged)
}
