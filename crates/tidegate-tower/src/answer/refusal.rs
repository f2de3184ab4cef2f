//! A refusal as a whole response, for HTTP and for gRPC.

use bytes::Bytes;
use http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderName, HeaderValue, Response, StatusCode};
use tidegate_core::{Decision, Timestamp};

use super::body::Told;
use super::code::Code;
use super::figures::Figures;
use super::problem::whole;
use super::profile::Profile;
use crate::request_id::RequestId;

static GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");
static GRPC_MESSAGE: HeaderName = HeaderName::from_static("grpc-message");

/// A refusal, before it is written down.
#[derive(Debug)]
pub struct Refused<'a> {
    /// Why the request was refused.
    pub code: Code,
    /// The status of the response: that of the code, unless the client knows only others.
    pub status: StatusCode,
    /// The decision that refused, if there is one.
    pub decision: Option<Decision<'a>>,
    /// The id of the request.
    pub request_id: &'a RequestId,
    /// When the request was refused.
    pub at: Timestamp,
    /// Whether the client speaks gRPC, and so reads the status from header fields of its own.
    pub grpc: bool,
}

// === impl Refused ===

impl<'a> Refused<'a> {
    /// A refusal without a decision, with the status of its code, to a client that speaks HTTP.
    #[must_use]
    pub fn new(code: Code, request_id: &'a RequestId, at: Timestamp) -> Self {
        Self { code, status: code.status(), decision: None, request_id, at, grpc: false }
    }
}

// === impl Profile ===

impl Profile {
    /// The whole response to a refused request.
    #[cold]
    #[must_use]
    pub fn refusal(&self, refused: &Refused<'_>) -> Response<Bytes> {
        let figures = refused.decision.map(|decision| Figures::of(&decision, None));
        let told = Told::new(self, refused, figures.as_ref());
        let mut response = match refused.grpc {
            true => grpc(refused.code, &told),
            false => {
                let (media_type, body) = told.body(self.body);
                whole(refused.status, media_type, body)
            }
        };
        let headers = response.headers_mut();
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
}

/// A gRPC response that ends with its head ("trailers-only").
fn grpc(code: Code, told: &Told<'_>) -> Response<Bytes> {
    let media_type = HeaderValue::from_static("application/grpc");
    let mut response = whole(StatusCode::OK, media_type, Bytes::new());
    let headers = response.headers_mut();
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
        _ => None,
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
