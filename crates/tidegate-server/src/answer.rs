//! Responses, in the form that hyper takes.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::{HeaderName, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use tidegate_core::Span;
use tidegate_tower::serve::Held;

use crate::problem::Problem;

/// A response of this server.
pub(crate) type Answer = Response<Payload>;

/// The body of an answer, all of it in memory.
#[derive(Debug, Default)]
pub struct Payload {
    bytes: Bytes,
}

/// The most bytes of a body that are handed to hyper at once: hyper keeps them for as long as the client
/// does not read them.
const PIECE: usize = 16 << 10;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const PROBLEM: HeaderValue = HeaderValue::from_static("application/problem+json");
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
const CLOSE: HeaderValue = HeaderValue::from_static("close");

/// The header with the id of a request: a client may send one, and refusals of the gate carry it.
pub(crate) static X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// 200, with a JSON document.
#[inline]
pub(crate) fn json(document: Vec<u8>) -> Answer {
    typed(StatusCode::OK, JSON, document.into())
}

/// 200, with a JSON document that counts as memory of its connection until its last byte is gone, also
/// while HTTP/2 keeps it because the client does not open its window.
pub(crate) fn held(document: Vec<u8>, held: Held) -> Answer {
    struct Kept {
        document: Vec<u8>,
        _held: Held,
    }
    impl AsRef<[u8]> for Kept {
        fn as_ref(&self) -> &[u8] {
            &self.document
        }
    }
    typed(StatusCode::OK, JSON, Bytes::from_owner(Kept { document, _held: held }))
}

/// A response with a document of any content type.
#[inline]
pub(crate) fn typed(status: StatusCode, content_type: HeaderValue, bytes: Bytes) -> Answer {
    let mut answer = empty(status);
    answer.headers_mut().insert(CONTENT_TYPE, content_type);
    answer.body_mut().bytes = bytes;
    answer
}

/// A response with a status and no body, not to be cached.
#[inline]
pub(crate) fn empty(status: StatusCode) -> Answer {
    let mut answer = Response::new(Payload::default());
    *answer.status_mut() = status;
    answer.headers_mut().insert(CACHE_CONTROL, NO_STORE);
    answer
}

/// A problem document, with the status it names.
#[cold]
pub(crate) fn problem(problem: &Problem) -> Answer {
    let mut answer = typed(problem.status(), PROBLEM, problem.to_json().into());
    if let Some(seconds) = problem.wait() {
        answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    // Every character of a request id may stand in a header.
    if let Some(Ok(request_id)) = problem.request_id().map(HeaderValue::from_str) {
        answer.headers_mut().insert(&X_REQUEST_ID, request_id);
    }
    answer
}

/// Sets `Allow` to the methods that the path answers.
pub(crate) fn allow(answer: &mut Answer, methods: &'static str) {
    answer.headers_mut().insert(ALLOW, HeaderValue::from_static(methods));
}

/// Sets `Retry-After` to a time in whole seconds, rounded up.
pub(crate) fn retry_after(answer: &mut Answer, wait: Span) {
    answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from(wait.as_secs_ceil()));
}

/// Sets `Connection: close`, because part of the request was not read and the rest could be taken for
/// another request (threat T28). HTTP/2 frames its requests and has no such header.
pub(crate) fn close(answer: &mut Answer) {
    answer.headers_mut().insert(CONNECTION, CLOSE);
}

// === impl Payload ===

impl Payload {
    /// All bytes of the body.
    pub(crate) fn into_bytes(self) -> Bytes {
        self.bytes
    }
}

impl Body for Payload {
    type Data = Bytes;
    type Error = Infallible;

    #[inline]
    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let length = self.bytes.len().min(PIECE);
        let piece = self.bytes.split_to(length);
        Poll::Ready((!piece.is_empty()).then(|| Ok(Frame::data(piece))))
    }

    #[inline]
    fn is_end_stream(&self) -> bool {
        self.bytes.is_empty()
    }

    #[inline]
    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(u64::try_from(self.bytes.len()).unwrap_or(u64::MAX))
    }
}
