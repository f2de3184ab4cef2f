//! Responses, in the form that hyper takes.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderValue};
use http::{Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use serde::Serialize;
use tidegate_tower::answer::{Code, Problem};
use tidegate_tower::serve::{HeldBytes, MemoryUse, Share};

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

pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
const CLOSE: HeaderValue = HeaderValue::from_static("close");

/// 200, with a JSON document.
#[inline]
pub(crate) fn json(document: Vec<u8>) -> Answer {
    typed(StatusCode::OK, JSON, document.into())
}

/// 200, with a value as a JSON document. Writing into memory cannot fail.
pub(crate) fn document(value: &impl Serialize) -> Answer {
    json(serde_json::to_vec(value).unwrap_or_default())
}

/// 200, with a JSON document that counts as memory of its connection until its last byte is gone, also
/// while HTTP/2 keeps it because the client does not open its window.
pub(crate) fn held(document: Vec<u8>, held: HeldBytes) -> Answer {
    struct Kept {
        document: Vec<u8>,
        _held: HeldBytes,
    }
    impl AsRef<[u8]> for Kept {
        fn as_ref(&self) -> &[u8] {
            &self.document
        }
    }
    typed(StatusCode::OK, JSON, Bytes::from_owner(Kept { document, _held: held }))
}

/// 200, with a value as a JSON document that counts as memory of its connection, for endpoints that change
/// nothing: what is asked for can be asked again.
///
/// # Errors
///
/// If the connection, or the process, holds too many answers that nobody has read.
pub(crate) fn held_document(value: &impl Serialize, share: &Arc<Share>) -> Result<Answer, Problem> {
    let document = serde_json::to_vec(value).unwrap_or_default();
    let bytes = share.hold(MemoryUse::Answers, document.len()).ok_or_else(unread)?;
    Ok(held(document, bytes))
}

/// The problem of a client for whose answer there is no memory.
#[cold]
pub(crate) fn unread() -> Problem {
    Code::Busy.problem("earlier answers have not been read; read them, then ask again")
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

/// Sets `Allow` to the methods that the path answers.
pub(crate) fn allow(answer: &mut Answer, methods: &'static str) {
    answer.headers_mut().insert(ALLOW, HeaderValue::from_static(methods));
}

/// Sets `Connection: close`, because part of the request was not read and the rest could be taken for
/// another request (threat T28). HTTP/2 frames its requests and has no such header.
pub(crate) fn close(answer: &mut Answer) {
    answer.headers_mut().insert(CONNECTION, CLOSE);
}

// === impl Payload ===

impl From<Bytes> for Payload {
    fn from(bytes: Bytes) -> Self {
        Self { bytes }
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
