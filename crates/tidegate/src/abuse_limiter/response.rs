//! An error that is a response: status, headers and a compact body.

use core::fmt;

use http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};
use serde_json::{Value, json};

/// What went wrong, for clients that branch on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorCode {
    /// Too many attempts at something about identity: a login, a verification.
    TooManyAttempts,
    /// Too many of anything else.
    RateLimited,
    /// Whether it may pass cannot be found out now.
    ServiceUnavailable,
    /// Something that should not happen.
    InternalServerError,
}

/// An error that is a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorResponse {
    code: ErrorCode,
    message: String,
    retry_after: Option<u64>,
    /// What an operator wants to know, and nobody else may.
    detail: Option<String>,
}

// === impl ErrorCode ===

impl ErrorCode {
    /// The name used in bodies.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::TooManyAttempts => "TooManyAttempts",
            Self::RateLimited => "RateLimited",
            Self::ServiceUnavailable => "ServiceUnavailable",
            Self::InternalServerError => "InternalServerError",
        }
    }

    /// Its status.
    #[must_use]
    pub const fn status(self) -> StatusCode {
        match self {
            Self::TooManyAttempts | Self::RateLimited => StatusCode::TOO_MANY_REQUESTS,
            Self::ServiceUnavailable => StatusCode::SERVICE_UNAVAILABLE,
            Self::InternalServerError => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    const fn message(self) -> &'static str {
        match self {
            Self::TooManyAttempts => "Too many attempts.",
            Self::RateLimited => "Too many requests.",
            Self::ServiceUnavailable => "This cannot be checked right now. Try again later.",
            Self::InternalServerError => "Something went wrong.",
        }
    }
}

// === impl ErrorResponse ===

impl ErrorResponse {
    /// An error with the usual words.
    #[must_use]
    pub fn new(code: ErrorCode) -> Self {
        Self { code, message: code.message().to_owned(), retry_after: None, detail: None }
    }

    /// Says it in other words.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.message = message.into();
        self
    }

    /// Says when to come back: in the header, and in the body as `context.retryAfter`.
    #[must_use]
    pub const fn with_retry_after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// Adds what an operator wants to know. It is shown in debug builds only.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// The code.
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        self.code
    }

    /// The status of the response.
    #[must_use]
    pub const fn status(&self) -> StatusCode {
        self.code.status()
    }

    /// The message.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// When to come back, in seconds.
    #[must_use]
    pub const fn retry_after(&self) -> Option<u64> {
        self.retry_after
    }

    /// The body.
    #[must_use]
    pub fn body(&self) -> Value {
        let mut context = json!({});
        if let Some(seconds) = self.retry_after {
            context["retryAfter"] = seconds.into();
        }
        if let Some(detail) = self.detail.as_ref().filter(|_| cfg!(debug_assertions)) {
            context["detail"] = detail.as_str().into();
        }
        json!({ "code": self.code.name(), "message": self.message, "context": context })
    }
}

impl fmt::Display for ErrorResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl core::error::Error for ErrorResponse {}

impl From<ErrorResponse> for Response<String> {
    /// The whole response, as any server that knows the `http` crate can send it.
    fn from(error: ErrorResponse) -> Self {
        let mut response = Self::new(error.body().to_string());
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
