//! A refusal as a whole response, for HTTP and for gRPC.

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderName, HeaderValue, Response};
use tidegate_core::{Decision, Timestamp};

use super::body::Told;
use super::code::Code;
use super::figures::Figures;
use super::profile::Profile;
use crate::request_id::RequestId;

static GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");
static GRPC_MESSAGE: HeaderName = HeaderName::from_static("grpc-message");

/// A refusal, before it is written down.
#[derive(Debug)]
pub(crate) struct Refused<'a> {
    pub(crate) code: Code,
    pub(crate) decision: Option<Decision<'a>>,
    pub(crate) request_id: &'a RequestId,
    pub(crate) at: Timestamp,
    /// Whether the client speaks gRPC, and so reads the status from header fields of its own.
    pub(crate) grpc: bool,
}

// === impl Profile ===

impl Profile {
    /// The whole response to a refused request.
    #[cold]
    pub(crate) fn refusal(&self, refused: &Refused<'_>) -> Response<Bytes> {
        let figures = refused.decision.map(|decision| Figures::of(&decision, None));
        let told = Told::new(self, refused, figures.as_ref());
        let mut response = match refused.grpc {
            true => grpc(refused.code, &told),
            false => self.http(refused.code, &told),
        };
        let headers = response.headers_mut();
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(seconds) = refused.code.retry_after() {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if let Some(challenge) = challenge(refused.code) {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
        }
        if let Some(figures) = figures {
            figures.write(self, headers);
            // Otherwise a layer around this one would write the numbers of its own admission.
            response.extensions_mut().insert(figures);
        }
        response
    }

    fn http(&self, code: Code, told: &Told<'_>) -> Response<Bytes> {
        let (media_type, body) = told.body(self.body);
        let mut response = Response::new(Bytes::from(body));
        *response.status_mut() = code.status();
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
        response
    }
}

/// A gRPC response that ends with its head ("trailers-only").
fn grpc(code: Code, told: &Told<'_>) -> Response<Bytes> {
    let mut response = Response::new(Bytes::new());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    headers.insert(&GRPC_STATUS, HeaderValue::from(code.grpc_status()));
    if let Ok(message) = HeaderValue::try_from(percent_encoded(told.message())) {
        headers.insert(&GRPC_MESSAGE, message);
    }
    response
}

const fn challenge(code: Code) -> Option<&'static str> {
    match code {
        Code::AuthenticationRequired => Some("Bearer"),
        Code::InsufficientScope => Some(r#"Bearer error="insufficient_scope""#),
        Code::RateLimitExceeded
        | Code::EnforcementDegraded
        | Code::Unavailable
        | Code::Overloaded
        | Code::InvalidPath
        | Code::Misconfigured => None,
    }
}

/// A message as gRPC wants it: all bytes are percent-encoded, except printable ASCII other than `%`.
pub(super) fn percent_encoded(message: &str) -> String {
    let mut encoded = String::with_capacity(message.len());
    for byte in message.bytes() {
        match byte {
            b' '..=b'~' if byte != b'%' => encoded.push(char::from(byte)),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}
