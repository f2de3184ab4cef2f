//! An error that is a response: status, headers and a compact body.

use core::fmt;

use http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};
use serde::Serialize;
use serde_json::Value;
use tidegate_core::Timestamp;

use super::code::Code;
use crate::request_id::RequestId;

/// The reason for an error, for clients that branch on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorCode {
    /// Too many attempts at something about identity: a login, a verification.
    TooManyAttempts,
    /// Too many requests of any other kind.
    RateLimited,
    /// Whether the request may pass cannot be found out now.
    ServiceUnavailable,
    /// The request itself cannot be understood.
    BadRequest,
    /// The request needs authentication.
    Unauthorized,
    /// The caller is known, but may not do this.
    Forbidden,
    /// A fault of the server itself.
    InternalServerError,
}

/// An error that can be sent as a response: a status, header fields and a compact body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorResponse {
    code: ErrorCode,
    message: String,
    retry_after: Option<u64>,
    /// A detail for operators; only debug builds show it.
    detail: Option<String>,
    request: Option<(RequestId, Timestamp)>,
}

/// The kind of build that answers: details are told by debug builds only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Build {
    Debug,
    Release,
}

#[derive(Serialize)]
struct Body<'a> {
    code: &'static str,
    message: &'a str,
    context: Context<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timestamp: Option<String>,
}

#[derive(Serialize)]
struct Context<'a> {
    #[serde(rename = "retryAfter", skip_serializing_if = "Option::is_none")]
    retry_after: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'a str>,
}

// === impl ErrorCode ===

impl ErrorCode {
    /// The compact code for a refusal by a layer; `attempts` says that the policy guards identity.
    pub(super) const fn of(code: Code, attempts: bool) -> Self {
        match code {
            Code::RateLimitExceeded | Code::EnforcementDegraded if attempts => {
                Self::TooManyAttempts
            }
            Code::RateLimitExceeded | Code::EnforcementDegraded => Self::RateLimited,
            Code::Unavailable | Code::Overloaded => Self::ServiceUnavailable,
            Code::InsufficientScope => Self::Forbidden,
            Code::AuthenticationRequired => Self::Unauthorized,
            Code::InvalidPath => Self::BadRequest,
            Code::Misconfigured => Self::InternalServerError,
        }
    }

    /// The name used in bodies.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::TooManyAttempts => "TooManyAttempts",
            Self::RateLimited => "RateLimited",
            Self::ServiceUnavailable => "ServiceUnavailable",
            Self::BadRequest => "BadRequest",
            Self::Unauthorized => "Unauthorized",
            Self::Forbidden => "Forbidden",
            Self::InternalServerError => "InternalServerError",
        }
    }

    /// The HTTP status that this code is answered with.
    #[must_use]
    pub const fn status(self) -> StatusCode {
        match self {
            Self::TooManyAttempts | Self::RateLimited => StatusCode::TOO_MANY_REQUESTS,
            Self::ServiceUnavailable => StatusCode::SERVICE_UNAVAILABLE,
            Self::BadRequest => StatusCode::BAD_REQUEST,
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::Forbidden => StatusCode::FORBIDDEN,
            Self::InternalServerError => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    const fn message(self) -> &'static str {
        match self {
            Self::TooManyAttempts => "Too many attempts.",
            Self::RateLimited => "Too many requests.",
            Self::ServiceUnavailable => "This cannot be checked right now. Try again later.",
            Self::BadRequest => "This request cannot be understood.",
            Self::Unauthorized => "This request needs authentication.",
            Self::Forbidden => "This request is not allowed.",
            Self::InternalServerError => "Something went wrong.",
        }
    }
}

// === impl ErrorResponse ===

impl ErrorResponse {
    /// An error with the usual message of its code.
    #[must_use]
    pub fn new(code: ErrorCode) -> Self {
        let message = code.message().to_owned();
        Self { code, message, retry_after: None, detail: None, request: None }
    }

    /// Replaces the usual message.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.message = message.into();
        self
    }

    /// Adds the wait before a retry: in `Retry-After`, and in the body as `context.retryAfter`.
    #[must_use]
    pub const fn with_retry_after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// Adds a detail for operators, which only debug builds show.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// Adds the id and the time of the request.
    #[must_use]
    pub fn with_request(mut self, request_id: &RequestId, at: Timestamp) -> Self {
        self.request = Some((request_id.clone(), at));
        self
    }

    /// The reason for this error.
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        self.code
    }

    /// The status of the response.
    #[must_use]
    pub const fn status(&self) -> StatusCode {
        self.code.status()
    }

    /// The message for people.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The wait before a retry, in seconds, if one is told.
    #[must_use]
    pub const fn retry_after(&self) -> Option<u64> {
        self.retry_after
    }

    /// The compact body, as JSON.
    #[must_use]
    pub fn body(&self) -> Value {
        serde_json::to_value(self.form(Build::THIS)).unwrap_or_default()
    }

    /// The compact body, as the bytes that are sent.
    pub(super) fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(&self.form(Build::THIS)).unwrap_or_default()
    }

    fn form(&self, build: Build) -> Body<'_> {
        let detail = match build {
            Build::Debug => self.detail.as_deref(),
            Build::Release => None,
        };
        Body {
            code: self.code.name(),
            message: &self.message,
            context: Context { retry_after: self.retry_after, detail },
            request_id: self.request.as_ref().map(|(request_id, _)| request_id.as_str()),
            timestamp: self.request.as_ref().map(|(_, at)| at.rfc3339().to_string()),
        }
    }
}

impl fmt::Display for ErrorResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl core::error::Error for ErrorResponse {}

impl From<ErrorResponse> for Response<String> {
    /// The error as a whole response, which any server that knows the `http` crate can send.
    fn from(error: ErrorResponse) -> Self {
        let body = serde_json::to_string(&error.form(Build::THIS)).unwrap_or_default();
        let mut response = Self::new(body);
        *response.status_mut() = error.status();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(seconds) = error.retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

// === impl Build ===

impl Build {
    /// The kind of build that this code belongs to.
    const THIS: Self = if cfg!(debug_assertions) { Self::Debug } else { Self::Release };
}

#[cfg(test)]
mod tests {
    //! What each kind of build tells.

    use super::*;

    fn body(build: Build) -> String {
        let error =
            ErrorResponse::new(ErrorCode::ServiceUnavailable).with_detail("no route to 10.0.0.7");
        serde_json::to_string(&error.form(build)).unwrap()
    }

    #[test]
    fn t40_details_are_told_by_debug_builds_and_never_by_release_builds() {
        let usual = r#""code":"ServiceUnavailable","message":"This cannot be checked right now. Try again later.""#;
        let detail = r#""context":{"detail":"no route to 10.0.0.7"}"#;
        assert_eq!(body(Build::Debug), format!("{{{usual},{detail}}}"));
        assert_eq!(body(Build::Release), format!(r#"{{{usual},"context":{{}}}}"#));
    }

    #[test]
    fn a_build_with_debug_assertions_is_a_debug_build() {
        assert_eq!(Build::THIS == Build::Debug, cfg!(debug_assertions));
    }
}
