//! An error that is a response: status, headers and a compact body.

use http::header::RETRY_AFTER;
use http::{HeaderValue, Response, StatusCode};
use serde::Serialize;
use serde_json::Value;
use tidegate_core::Timestamp;

use super::code::Code;
use super::problem::{JSON, whole};
use crate::request_id::RequestId;

/// Makes the enum and the constants of its variants from one table: the status and the usual message.
macro_rules! error_codes {
    ($($(#[$about:meta])* $Code:ident = $status:ident, $message:literal;)*) => {
        /// The reason for an error, for clients that branch on it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ErrorCode {
            $($(#[$about])* $Code,)*
        }

        impl ErrorCode {
            /// The name used in bodies, the HTTP status and the usual message.
            const fn row(self) -> (&'static str, StatusCode, &'static str) {
                match self {
                    $(Self::$Code => (stringify!($Code), StatusCode::$status, $message),)*
                }
            }
        }
    };
}

error_codes! {
    /// Too many attempts at something about identity: a login, a verification.
    TooManyAttempts = TOO_MANY_REQUESTS, "Too many attempts.";
    /// Too many requests of any other kind.
    RateLimited = TOO_MANY_REQUESTS, "Too many requests.";
    /// Whether the request may pass cannot be found out now.
    ServiceUnavailable =
        SERVICE_UNAVAILABLE, "This cannot be checked right now. Try again later.";
    /// The request itself cannot be understood.
    BadRequest = BAD_REQUEST, "This request cannot be understood.";
    /// The request needs authentication.
    Unauthorized = UNAUTHORIZED, "This request needs authentication.";
    /// The caller is known, but may not do this.
    Forbidden = FORBIDDEN, "This request is not allowed.";
    /// A fault of the server itself.
    InternalServerError = INTERNAL_SERVER_ERROR, "Something went wrong.";
}

/// An error that can be sent as a response: a status, header fields and a compact body.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ErrorResponse {
    code: ErrorCode,
    message: String,
    retry_after: Option<u64>,
    /// A detail for operators; only debug builds show it.
    detail: Option<String>,
    request: Option<(RequestId, Timestamp)>,
}

/// Whether details are told: by debug builds only.
const TELLS_DETAILS: bool = cfg!(debug_assertions);

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
    pub(super) fn of(code: Code, attempts: bool) -> Self {
        match code.status() {
            StatusCode::TOO_MANY_REQUESTS if attempts => Self::TooManyAttempts,
            StatusCode::TOO_MANY_REQUESTS => Self::RateLimited,
            StatusCode::SERVICE_UNAVAILABLE => Self::ServiceUnavailable,
            StatusCode::FORBIDDEN => Self::Forbidden,
            StatusCode::UNAUTHORIZED => Self::Unauthorized,
            StatusCode::INTERNAL_SERVER_ERROR => Self::InternalServerError,
            _ => Self::BadRequest,
        }
    }

    /// The name used in bodies.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.row().0
    }

    /// The HTTP status that this code is answered with.
    #[must_use]
    pub const fn status(self) -> StatusCode {
        self.row().1
    }
}

// === impl ErrorResponse ===

impl ErrorResponse {
    /// An error with the usual message of its code.
    #[must_use]
    pub fn new(code: ErrorCode) -> Self {
        let message = code.row().2.to_owned();
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
        serde_json::to_value(self.form(TELLS_DETAILS)).unwrap_or_default()
    }

    /// The compact body, as the bytes that are sent.
    pub(super) fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(&self.form(TELLS_DETAILS)).unwrap_or_default()
    }

    fn form(&self, tells_details: bool) -> Body<'_> {
        let detail = self.detail.as_deref().filter(|_| tells_details);
        Body {
            code: self.code.name(),
            message: &self.message,
            context: Context { retry_after: self.retry_after, detail },
            request_id: self.request.as_ref().map(|(request_id, _)| request_id.as_str()),
            timestamp: self.request.as_ref().map(|(_, at)| at.rfc3339().to_string()),
        }
    }
}

impl From<ErrorResponse> for Response<String> {
    /// The error as a whole response, which any server that knows the `http` crate can send.
    fn from(error: ErrorResponse) -> Self {
        let body = serde_json::to_string(&error.form(TELLS_DETAILS)).unwrap_or_default();
        let mut response = whole(error.status(), JSON, body);
        if let Some(seconds) = error.retry_after {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    //! What each kind of build tells.

    use super::*;

    fn body(tells_details: bool) -> String {
        let error =
            ErrorResponse::new(ErrorCode::ServiceUnavailable).with_detail("no route to 10.0.0.7");
        serde_json::to_string(&error.form(tells_details)).unwrap()
    }

    #[test]
    fn t40_details_are_told_by_debug_builds_and_never_by_release_builds() {
        let usual = r#""code":"ServiceUnavailable","message":"This cannot be checked right now. Try again later.""#;
        let detail = r#""context":{"detail":"no route to 10.0.0.7"}"#;
        assert_eq!(body(true), format!("{{{usual},{detail}}}"));
        assert_eq!(body(false), format!(r#"{{{usual},"context":{{}}}}"#));
    }

    #[test]
    fn a_build_with_debug_assertions_is_a_debug_build() {
        assert_eq!(TELLS_DETAILS, cfg!(debug_assertions));
    }
}
