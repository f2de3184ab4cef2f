//! Request bodies: how large and how slow they may be, and of which type.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::Body;
use tidegate_tower::serve::{HeldBytes, MemoryUse, Share};
use tokio::time::{Sleep, sleep};

use crate::browser::Fields;
use tidegate_tower::answer::{Code, Problem};

/// Reads a body of at most `most` bytes. A body that comes in one piece is not copied and has no timer;
/// one that comes in parts holds memory of its connection, and has to be complete within `time`.
pub(crate) async fn read(
    body: &mut (impl Body<Data = Bytes> + Unpin),
    most: usize,
    time: Duration,
    share: &Arc<Share>,
) -> Result<Bytes, Problem> {
    let announced = body.size_hint();
    if usize::try_from(announced.lower()).map_or(true, |announced| announced > most) {
        return Err(too_large(most));
    }
    let whole = announced.upper().and_then(|upper| usize::try_from(upper).ok());
    let whole = whole.unwrap_or(most).min(most);
    let mut pieces = Pieces { first: Bytes::new(), all: Vec::new(), whole, most };
    // The memory held and the timer are there only while the rest of the body is on its way.
    let mut waiting: Option<(HeldBytes, Pin<Box<Sleep>>)> = None;
    poll_fn(|cx| {
        let polled = pieces.poll(body, cx);
        if polled.is_ready() {
            return polled;
        }
        let (_, timer) = match &mut waiting {
            Some(waiting) => waiting,
            None => {
                let Some(held) = share.hold(MemoryUse::Bodies, whole) else {
                    let busy = "the server is holding too many partly received bodies; retry";
                    return Poll::Ready(Err(Code::Busy.problem(busy)));
                };
                #[expect(clippy::disallowed_methods, reason = "a client is given real time")]
                waiting.insert((held, Box::pin(sleep(time))))
            }
        };
        let late = |()| Err(Code::Timeout.problem("the body did not come in time"));
        timer.as_mut().poll(cx).map(late)
    })
    .await?;
    Ok(pieces.join())
}

/// Refuses a body that is not declared as JSON: a browser asks before it sends JSON across origins, and
/// sends other types at once. Refuses a body that is declared as compressed, too: nothing is ever
/// decompressed to decide (threat T37).
pub(crate) fn is_json(fields: &Fields<'_>) -> Result<(), Problem> {
    if !fields.content_type.once().is_some_and(|declared| names_json(declared.as_bytes())) {
        let detail = "the body must be JSON: send it as `content-type: application/json`";
        return Err(Code::UnsupportedMediaType.problem(detail));
    }
    if fields.encoded {
        return Err(Code::UnsupportedMediaType.problem("send the body without compression"));
    }
    Ok(())
}

/// Whether a content type is JSON, whatever its parameters.
fn names_json(declared: &[u8]) -> bool {
    let end = declared.iter().position(|byte| *byte == b';').unwrap_or(declared.len());
    declared[..end].trim_ascii().eq_ignore_ascii_case(b"application/json")
}

/// The parts of a body that have come so far.
struct Pieces {
    /// The first piece, while it is the only one.
    first: Bytes,
    /// All pieces, once there is a second.
    all: Vec<u8>,
    /// How long the body is expected to be.
    whole: usize,
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
                    return Poll::Ready(Err(Code::Malformed.problem("the body broke off")));
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

    fn add(&mut self, data: Bytes) -> Result<(), Problem> {
        let length = self.first.len().max(self.all.len());
        if length + data.len() > self.most {
            return Err(too_large(self.most));
        }
        if length == 0 {
            self.first = data;
            return Ok(());
        }
        if self.all.is_empty() {
            // Reserved at full length, so that it never grows: a list that doubles takes twice as much.
            self.all.reserve_exact(self.whole.max(length + data.len()));
            self.all.extend_from_slice(&self.first);
            self.first = Bytes::new();
        }
        self.all.extend_from_slice(&data);
        Ok(())
    }

    fn join(self) -> Bytes {
        if self.all.is_empty() { self.first } else { self.all.into() }
    }
}

#[cold]
fn too_large(most: usize) -> Problem {
    Code::BodyTooLarge.problem(format!("a body has at most {most} bytes"))
}

#[cfg(test)]
mod tests {
    //! What counts as JSON.

    use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
    use http::{HeaderMap, HeaderValue};
    use tidegate_tower::serve::{Bounds, Serve};

    use super::*;

    fn accepted(types: &[&'static str]) -> bool {
        let mut headers = HeaderMap::new();
        for declared in types {
            headers.append(CONTENT_TYPE, HeaderValue::from_static(declared));
        }
        is_json(&Fields::of(&headers)).is_ok()
    }

    #[test]
    fn t43_a_body_is_declared_as_json_once() {
        assert!(!accepted(&[]), "a page of another origin may send that without asking");
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
        ) -> Poll<Option<Result<http_body::Frame<Bytes>, Self::Error>>> {
            match self.0.take() {
                Some(part) => Poll::Ready(Some(Ok(http_body::Frame::data(part)))),
                None => Poll::Pending,
            }
        }
    }

    #[test]
    fn t12_what_is_kept_of_bodies_is_bounded_by_its_bytes() {
        let bounds = Bounds { bodies_memory: 800, ..Bounds::default() };
        // One connection has an eighth.
        let share = Serve::new(bounds).memory().share();
        let mut cx = Context::from_waker(std::task::Waker::noop());
        let half = |length: usize| {
            let mut body = Half(Some(vec![b' '; length].into()));
            let share = &share;
            Box::pin(async move {
                read(&mut body, length.max(41), Duration::from_secs(60), share).await
            })
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let _entered = runtime.enter();
        let mut waiting = half(59);
        assert!(waiting.as_mut().poll(&mut cx).is_pending());
        assert!(half(41).as_mut().poll(&mut cx).is_pending());
        let refused = half(42).as_mut().poll(&mut cx);
        assert!(matches!(refused, Poll::Ready(Err(problem)) if problem.code() == Code::Busy));
        drop(waiting);
        assert!(half(100).as_mut().poll(&mut cx).is_pending(), "what is given up is given back");
    }

    #[test]
    fn t37_nothing_is_decompressed() {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("identity"));
        assert!(is_json(&Fields::of(&headers)).is_ok());
        headers.append(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        assert!(is_json(&Fields::of(&headers)).is_err());
    }
}
