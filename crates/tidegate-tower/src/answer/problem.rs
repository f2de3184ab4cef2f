//! The one writer of problem documents (RFC 9457), for every door.
//!
//! What a client sent is echoed only where it helps, and never more than a little of it.

use std::borrow::Cow;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::{Response, StatusCode};
use serde::{Serialize, Serializer, ser::SerializeMap as _};
use tidegate_core::{Span, Timestamp};

use super::code::Code;
use crate::request_id::RequestId;

/// A problem document: what is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    code: Code,
    /// The status, which is that of the code unless a client knows only others.
    status: StatusCode,
    /// What is wrong this time, and what to do about it; may be empty.
    detail: Cow<'static, str>,
    /// The field that is wrong, as a JSON pointer into the body, or into the query as an object.
    field: Option<Cow<'static, str>>,
    /// The name that may have been meant.
    suggestion: Option<Box<str>>,
    /// The wait before a retry, in whole seconds.
    retry_after: Option<u32>,
    /// The id of the request, and when it was refused.
    request: Option<Box<(RequestId, Timestamp)>>,
}

/// Bytes of a client's text that may be echoed; a detail may have twice as many.
const ECHO: usize = 200;

pub(super) const MEDIA_TYPE: HeaderValue = HeaderValue::from_static("application/problem+json");
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
pub(super) const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// A whole response that nobody may keep.
pub(super) fn whole<B>(
    status: StatusCode,
    media_type: HeaderValue,
    body: impl Into<B>,
) -> Response<B> {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, media_type);
    headers.insert(CACHE_CONTROL, NO_STORE);
    response
}

// === impl Problem ===

impl Problem {
    pub(super) fn new(code: Code, mut detail: Cow<'static, str>) -> Self {
        if detail.len() > 2 * ECHO {
            detail = brief(&detail, 2 * ECHO).into();
        }
        let (field, suggestion, retry_after, request) = (None, None, None, None);
        Self { code, status: code.status(), detail, field, suggestion, retry_after, request }
    }

    /// Names the field that is wrong, as a JSON pointer.
    #[must_use]
    pub fn about(mut self, field: impl Into<Cow<'static, str>>) -> Self {
        self.field = Some(field.into());
        self
    }

    /// Puts a prefix before the pointer to the field.
    #[must_use]
    pub fn under(self, prefix: &str) -> Self {
        let field = format!("{prefix}{}", self.field.as_deref().unwrap_or_default());
        self.about(field)
    }

    /// Adds the name that may have been meant, if there is one.
    #[must_use]
    pub fn suggesting(mut self, suggestion: Option<&str>) -> Self {
        self.suggestion = suggestion.map(Into::into);
        self
    }

    /// Adds the wait before a retry, rounded up to whole seconds.
    #[must_use]
    pub fn retry_after(mut self, wait: Span) -> Self {
        self.retry_after = Some(u32::try_from(wait.as_secs_ceil()).unwrap_or(u32::MAX));
        self
    }

    /// Adds the id of the request, and when it was refused.
    #[must_use]
    pub fn of_request(mut self, request_id: &RequestId, at: Timestamp) -> Self {
        self.request = Some(Box::new((request_id.clone(), at)));
        self
    }

    /// Replaces the status of the code, for clients that know only some.
    pub(super) fn with_status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    /// The reason for this problem.
    #[must_use]
    pub const fn code(&self) -> Code {
        self.code
    }

    /// The problem as a JSON document. This cannot fail: it holds only texts and numbers.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// The problem as a whole response, with `Retry-After` and `X-Request-Id` where they are known.
    #[cold]
    #[must_use]
    pub fn response(&self) -> Response<Bytes> {
        let mut response = whole(self.status, MEDIA_TYPE, self.to_json());
        let headers = response.headers_mut();
        if let Some(seconds) = self.retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if let Some(request) = &self.request {
            headers.insert(RequestId::HEADER, request.0.header_value());
        }
        response
    }
}

impl Serialize for Problem {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut members = to.serialize_map(None)?;
        members.serialize_entry("type", &self.code.urn())?;
        members.serialize_entry("title", self.code.title())?;
        members.serialize_entry("status", &self.status.as_u16())?;
        if !self.detail.is_empty() {
            members.serialize_entry("detail", &self.detail)?;
        }
        members.serialize_entry("code", self.code.name())?;
        if let Some(field) = &self.field {
            members.serialize_entry("field", field)?;
        }
        if let Some(suggestion) = &self.suggestion {
            members.serialize_entry("suggestion", suggestion)?;
        }
        if let Some(request) = &self.request {
            members.serialize_entry("request_id", request.0.as_str())?;
            members.serialize_entry("timestamp", request.1.rfc3339().as_str())?;
        }
        if let Some(seconds) = self.retry_after {
            members.serialize_entry("retry_after", &seconds)?;
        }
        members.end()
    }
}

/// A text, cut between characters and marked with `…` if it has many more bytes than `most`.
#[must_use]
pub fn brief(text: &str, most: usize) -> String {
    match text.char_indices().map(|(at, _)| at).find(|at| *at >= most) {
        Some(end) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
