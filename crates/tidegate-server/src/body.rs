//! Request bodies: how large, how slow, and of which type.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use hyper::body::Body;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::connection::watch::{Phase, Watch};
use crate::problem::{Kind, Problem};

/// Who says that a body is late.
pub(crate) enum Deadline<'w> {
    /// HTTP/1: the connection's watch; there is one request at a time.
    Watched(&'w Watch),
    /// HTTP/2: a timer, for each stream its own.
    After(Duration),
}

/// Reads a body of at most `most` bytes. One that comes in one piece is not copied; one of which a part
/// has come takes a permit of `waiting` for each byte until the rest is there.
pub(crate) async fn read(
    body: &mut (impl Body<Data = Bytes> + Unpin),
    most: usize,
    deadline: Deadline<'_>,
    waiting: &Semaphore,
) -> Result<Bytes, Problem> {
    let announced = body.size_hint().lower();
    if usize::try_from(announced).map_or(true, |announced| announced > most) {
        return Err(too_large(most));
    }
    let mut pieces = Pieces { whole: Bytes::new(), rest: Vec::new(), most };
    // Given back when this returns, or is dropped.
    let mut kept: Option<SemaphorePermit<'_>> = None;
    let mut permits = 0;
    let mut poll = |cx: &mut Context<'_>| match pieces.poll(body, cx) {
        Poll::Pending if pieces.len() > permits => {
            let more = u32::try_from(pieces.len() - permits).unwrap_or(u32::MAX);
            match waiting.try_acquire_many(more) {
                Ok(permit) => {
                    permits = pieces.len();
                    // One for all: a list would outgrow a body that comes byte by byte.
                    match &mut kept {
                        Some(kept) => kept.merge(permit),
                        None => kept = Some(permit),
                    }
                    Poll::Pending
                }
                Err(_) => Poll::Ready(Err(busy())),
            }
        }
        polled => polled,
    };
    match deadline {
        Deadline::Watched(watch) => {
            watch.enter(Phase::Body);
            let read = poll_fn(|cx| match poll(cx) {
                Poll::Pending if watch.phase() == Phase::Late => Poll::Ready(Err(late())),
                polled => polled,
            });
            let read = read.await;
            watch.enter(Phase::Answer);
            read?;
        }
        Deadline::After(time) => {
            let read = poll_fn(poll);
            tokio::time::timeout(time, read).await.unwrap_or_else(|_| Err(late()))?;
        }
    }
    Ok(pieces.join())
}

/// Refuses a body that is declared as something else than JSON, or as compressed: nothing is ever
/// decompressed to decide (threat T37). One without a type is taken for JSON.
///
/// Heads are short, so one walk over the fields is quicker than looking two of them up.
pub(crate) fn is_json(headers: &HeaderMap) -> Result<(), Problem> {
    let mut declared = false;
    for (name, value) in headers {
        if name == CONTENT_TYPE {
            if declared || !names_json(value.as_bytes()) {
                let detail = "the body must be JSON: send it as `content-type: application/json`";
                return Err(Kind::UnsupportedMediaType.problem(detail));
            }
            declared = true;
        } else if name == CONTENT_ENCODING && value != "identity" {
            return Err(Kind::UnsupportedMediaType.problem("send the body without compression"));
        }
    }
    Ok(())
}

/// Whether a content type is JSON, whatever its parameters.
fn names_json(declared: &[u8]) -> bool {
    let end = declared.iter().position(|byte| *byte == b';').unwrap_or(declared.len());
    declared[..end].trim_ascii().eq_ignore_ascii_case(b"application/json")
}

/// A body as far as it has come.
struct Pieces {
    /// The first piece.
    whole: Bytes,
    /// All of it, once there is a second.
    rest: Vec<u8>,
    most: usize,
}

// === impl Pieces ===

impl Pieces {
    fn poll(
        &mut self,
        body: &mut (impl Body<Data = Bytes> + Unpin),
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), Problem>> {
        while !body.is_end_stream() {
            match ready!(Pin::new(&mut *body).poll_frame(cx)) {
                None => break,
                Some(Err(_)) => {
                    return Poll::Ready(Err(Kind::Malformed.problem("the body broke off")));
                }
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        self.add(data)?;
                    }
                }
            }
        }
        Poll::Ready(Ok(()))
    }

    /// How many bytes are kept.
    fn len(&self) -> usize {
        self.whole.len().max(self.rest.len())
    }

    fn add(&mut self, data: Bytes) -> Result<(), Problem> {
        if self.len() + data.len() > self.most {
            return Err(too_large(self.most));
        }
        if self.whole.is_empty() && self.rest.is_empty() {
            self.whole = data;
            return Ok(());
        }
        if self.rest.is_empty() {
            self.rest.extend_from_slice(&self.whole);
            self.whole = Bytes::new();
        }
        self.rest.extend_from_slice(&data);
        Ok(())
    }

    fn join(self) -> Bytes {
        if self.rest.is_empty() { self.whole } else { self.rest.into() }
    }
}

#[cold]
fn too_large(most: usize) -> Problem {
    Kind::BodyTooLarge.problem(format!("a body has at most {most} bytes"))
}

#[cold]
fn busy() -> Problem {
    Kind::Busy.problem("too many bodies are on their way; send this one again, in one piece")
}

#[cold]
fn late() -> Problem {
    Kind::Timeout.problem("the body did not come in time")
}

#[cfg(test)]
mod tests {
    //! What counts as JSON.

    use std::future::Future;

    use http::HeaderValue;

    use super::*;

    fn accepted(types: &[&'static str]) -> bool {
        let mut headers = HeaderMap::new();
        for declared in types {
            headers.append(CONTENT_TYPE, HeaderValue::from_static(declared));
        }
        is_json(&headers).is_ok()
    }

    #[test]
    fn json_is_declared_or_nothing_is() {
        assert!(accepted(&[]));
        for json in [
            "application/json",
            "Application/JSON",
            "application/json; charset=utf-8",
            "application/json ;x",
        ] {
            assert!(accepted(&[json]), "{json}");
        }
        for other in
            ["", "text/plain", "application/jsonp", "application/x-www-form-urlencoded", "json"]
        {
            assert!(!accepted(&[other]), "{other}");
        }
        assert!(!accepted(&["application/json", "application/json"]), "which one is it?");
    }

    /// A body of which a part has come, and no more will.
    struct Half(Option<Bytes>);

    impl Body for Half {
        type Data = Bytes;
        type Error = std::convert::Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<hyper::body::Frame<Bytes>, Self::Error>>> {
            match self.0.take() {
                Some(part) => Poll::Ready(Some(Ok(hyper::body::Frame::data(part)))),
                None => Poll::Pending,
            }
        }
    }

    #[test]
    fn t12_what_is_kept_of_bodies_is_bounded_by_its_bytes() {
        let bytes = Semaphore::new(100);
        let mut cx = Context::from_waker(std::task::Waker::noop());
        let half = |length: usize| {
            let mut body = Half(Some(vec![b' '; length].into()));
            let bytes = &bytes;
            Box::pin(async move {
                read(&mut body, 1_000, Deadline::After(Duration::from_secs(60)), bytes).await
            })
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let _entered = runtime.enter();
        let mut waiting = half(60);
        assert!(waiting.as_mut().poll(&mut cx).is_pending());
        assert!(half(1).as_mut().poll(&mut cx).is_pending(), "a byte is a byte");
        let refused = half(41).as_mut().poll(&mut cx);
        assert!(matches!(refused, Poll::Ready(Err(problem)) if problem.is(Kind::Busy)));
        drop(waiting);
        assert!(half(100).as_mut().poll(&mut cx).is_pending(), "what is given up is given back");
    }

    #[test]
    fn t37_nothing_is_decompressed() {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("identity"));
        assert!(is_json(&headers).is_ok());
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        assert!(is_json(&headers).is_err());
    }
}
