//! Refusals, as RFC 9457 problem documents.
//!
//! One place knows which kinds there are, which status each has, and how they are written. What a
//! client sent is echoed only where it helps, and never more than a little of it.

use std::borrow::Cow;

use http::StatusCode;
use serde::{Serialize, Serializer};
use tidegate_core::{Span, Timestamp};
use tidegate_tower::RequestId;
use utoipa::ToSchema;

use crate::wire::instant::Instant;

/// A problem document: what is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Problem {
    /// The kind of problem; `about:blank` where the status says it all.
    #[serde(rename = "type", serialize_with = "urn")]
    #[schema(value_type = String)]
    kind: Kind,
    /// The kind in words, the same for every problem of its kind.
    title: &'static str,
    /// The HTTP status.
    #[schema(minimum = 400, maximum = 599)]
    status: u16,
    /// What is wrong this time, and what to do about it.
    #[serde(skip_serializing_if = "str::is_empty")]
    #[schema(value_type = String, required = false)]
    detail: Cow<'static, str>,
    /// A code for programs of end users, where there is more to know than the status.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false)]
    code: Option<Code>,
    /// The field that is wrong, as a JSON pointer into the request body, or into the query as an object.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false)]
    field: Option<Cow<'static, str>>,
    /// The name that may have been meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false)]
    suggestion: Option<Box<str>>,
    /// When to ask again, in whole seconds. The header `Retry-After` says the same; a result in a batch
    /// has this alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = u64, required = false)]
    retry_after: Option<u32>,
    /// At the gate, the id of the request; the same as the header `X-Request-Id`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false)]
    request_id: Option<Box<str>>,
    /// At the gate, when the request was refused, by the clock of the store, or of the server if the
    /// store did not decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, format = DateTime, required = false)]
    timestamp: Option<Box<Instant>>,
}

/// A code that programs of end users may see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum Code {
    /// Local guardrails refuse, and have decided for so long that end users may know.
    #[serde(rename = "throttling.enforcement_degraded")]
    EnforcementDegraded,
    /// More requests came at once than can be checked in time.
    #[serde(rename = "throttling.overloaded")]
    Overloaded,
}

/// Every kind of problem there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The request is not HTTP as it should be.
    Malformed,
    /// The body is not JSON.
    NotJson,
    /// A field is missing, unknown, there twice, or has a value it cannot have.
    InvalidField,
    /// There is no policy of that name.
    UnknownPolicy,
    /// No limit of the policy applies to the subject.
    NothingApplies,
    /// The ticket is not one of ours.
    BadTicket,
    /// The ticket has been settled before.
    TicketSettled,
    /// The ticket is too old.
    TicketExpired,
    /// The request to the admin listener has no token, or a wrong one.
    Unauthorized,
    /// The request is refused, and the client is told no more.
    Forbidden,
    /// A web page of another origin has sent the request.
    CrossSite,
    /// There is nothing at this path.
    NotFound,
    /// The path does not answer this method.
    MethodNotAllowed,
    /// The body came too slowly.
    Timeout,
    /// The body is too large.
    BodyTooLarge,
    /// The target of the request is too long.
    UriTooLong,
    /// The body is not declared as JSON.
    UnsupportedMediaType,
    /// The request names another server.
    Misdirected,
    /// The request is past a limit.
    TooManyRequests,
    /// The head of the request is too large, or has too many fields.
    HeadTooLarge,
    /// The store failed.
    StoreFailed,
    /// Too much at once: bodies and answers hold all the memory they may, or a page is still being made.
    Busy,
    /// More requests came at once than the store can be asked about in time.
    Overloaded,
    /// Not now: nobody can tell whether the request may pass, or a page could not be made.
    Unavailable,
}

/// Bytes of a client's text that may be echoed; a detail may have twice as many.
const ECHO: usize = 200;

// === impl Problem ===

impl Problem {
    /// Names the field that is wrong, as a JSON pointer.
    #[must_use]
    pub(crate) fn about(mut self, field: impl Into<Cow<'static, str>>) -> Self {
        self.field = Some(field.into());
        self
    }

    /// Puts a prefix before the pointer to the field.
    #[must_use]
    pub(crate) fn under(mut self, prefix: &str) -> Self {
        let field = self.field.as_deref().unwrap_or_default();
        self.field = Some(format!("{prefix}{field}").into());
        self
    }

    #[must_use]
    pub(crate) fn suggesting(mut self, suggestion: Option<String>) -> Self {
        self.suggestion = suggestion.map(Into::into);
        self
    }

    /// Adds a code for programs of end users.
    #[must_use]
    pub(crate) const fn coded(mut self, code: Option<Code>) -> Self {
        self.code = code;
        self
    }

    /// Says when to ask again.
    #[must_use]
    pub(crate) fn retry_after(mut self, wait: Span) -> Self {
        self.retry_after = Some(u32::try_from(wait.as_secs_ceil()).unwrap_or(u32::MAX));
        self
    }

    /// Adds the id of the request, and when it was refused.
    #[must_use]
    pub(crate) fn of_request(mut self, request_id: &RequestId, at: Timestamp) -> Self {
        self.request_id = Some(request_id.as_str().into());
        self.timestamp = Some(Box::new(Instant(at)));
        self
    }

    /// The id of the request, if the problem has it.
    pub(crate) fn request_id(&self) -> Option<&str> {
        self.request_id.as_deref()
    }

    /// When to ask again, in whole seconds, if that is known.
    pub(crate) fn wait(&self) -> Option<u64> {
        self.retry_after.map(u64::from)
    }

    pub(crate) fn is(&self, kind: Kind) -> bool {
        self.kind == kind
    }

    pub(crate) fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// The problem as a JSON document.
    pub(crate) fn to_json(&self) -> Vec<u8> {
        // Strings and numbers, written into memory: nothing in it can fail.
        serde_json::to_vec(self).unwrap_or_default()
    }
}

// === impl Kind ===

impl Kind {
    /// A problem of this kind. The detail is cut if it is long.
    pub(crate) fn problem(self, detail: impl Into<Cow<'static, str>>) -> Problem {
        let (status, _, title) = self.parts();
        let mut detail = detail.into();
        if detail.len() > 2 * ECHO {
            detail = brief(&detail, 2 * ECHO).into();
        }
        Problem {
            kind: self,
            title,
            status,
            detail,
            code: None,
            field: None,
            suggestion: None,
            retry_after: None,
            request_id: None,
            timestamp: None,
        }
    }

    /// A problem of this kind without a detail: its title says it all.
    pub(crate) fn alone(self) -> Problem {
        self.problem("")
    }

    /// The status of all problems of this kind.
    pub(crate) const fn status(self) -> u16 {
        self.parts().0
    }

    /// The title of all problems of this kind.
    pub(crate) const fn title(self) -> &'static str {
        self.parts().2
    }

    const fn parts(self) -> (u16, &'static str, &'static str) {
        match self {
            Self::Malformed => (400, BLANK, "Bad Request"),
            Self::NotJson => (400, "urn:tidegate:problem:not-json", "The body is not JSON"),
            Self::InvalidField => (400, "urn:tidegate:problem:invalid-field", "Invalid field"),
            Self::BadTicket => (400, "urn:tidegate:problem:bad-ticket", "Not a ticket"),
            Self::Unauthorized => (401, BLANK, "Unauthorized"),
            Self::Forbidden => (403, BLANK, "Forbidden"),
            Self::CrossSite => {
                (403, "urn:tidegate:problem:cross-site", "Sent by a web page of another origin")
            }
            Self::NotFound => (404, BLANK, "Not Found"),
            Self::UnknownPolicy => (404, "urn:tidegate:problem:unknown-policy", "No such policy"),
            Self::MethodNotAllowed => (405, BLANK, "Method Not Allowed"),
            Self::Timeout => (408, BLANK, "Request Timeout"),
            Self::TicketSettled => {
                (409, "urn:tidegate:problem:ticket-settled", "The ticket was settled before")
            }
            Self::TicketExpired => {
                (410, "urn:tidegate:problem:ticket-expired", "The ticket has expired")
            }
            Self::BodyTooLarge => (413, BLANK, "Content Too Large"),
            Self::UriTooLong => (414, BLANK, "URI Too Long"),
            Self::UnsupportedMediaType => (415, BLANK, "Unsupported Media Type"),
            Self::Misdirected => (421, BLANK, "Misdirected Request"),
            Self::NothingApplies => {
                (422, "urn:tidegate:problem:nothing-applies", "No limit applies to the subject")
            }
            Self::TooManyRequests => (429, BLANK, "Too Many Requests"),
            Self::HeadTooLarge => (431, BLANK, "Request Header Fields Too Large"),
            Self::Busy => (503, "urn:tidegate:problem:busy", "Too much at once"),
            Self::Overloaded => {
                (503, "urn:tidegate:problem:overloaded", "Too many requests at once")
            }
            Self::StoreFailed => (503, "urn:tidegate:problem:store-failed", "The store failed"),
            Self::Unavailable => (503, BLANK, "Service Unavailable"),
        }
    }
}

/// Serializes a kind as the member `type` of a problem document.
fn urn<S: Serializer>(kind: &Kind, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(kind.parts().1)
}

/// The type of problems whose status says it all.
const BLANK: &str = "about:blank";

/// A text, cut between characters and marked with `…` if it has many more bytes than `most`.
pub(crate) fn brief(text: &str, most: usize) -> String {
    match text.char_indices().map(|(at, _)| at).find(|at| *at >= most) {
        Some(end) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
