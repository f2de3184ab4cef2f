//! The body of a request, for as long as it comes.

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::{Sleep, sleep};

/// The body of a request. It fails if it stops coming, so that no client keeps a service waiting by
/// sending a byte now and then. The time runs only while the service waits for the body.
pub struct Upload {
    body: Incoming,
    timeout: Option<Duration>,
    /// Whether the body has been read to its end, which hyper does not know of a chunked body.
    ended: bool,
    /// The timer that runs while the service waits, and how many bytes have come since it began.
    waiting: Option<(Pin<Box<Sleep>>, usize)>,
}

/// Why a body ended before its time.
#[derive(Debug, thiserror::Error)]
pub enum UploadError {
    /// Too little of the body came in time.
    #[error(transparent)]
    Stalled(#[from] Stalled),
    /// The connection failed, or what came was not a body.
    #[error(transparent)]
    Broken(#[from] hyper::Error),
}

/// A body of which too little has come in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the body of the request did not come in time")]
pub struct Stalled;

/// The bytes that have to come within the timeout.
const ENOUGH: usize = 1 << 10;

// === impl Upload ===

impl Upload {
    pub(super) const fn new(body: Incoming, timeout: Option<Duration>) -> Self {
        Self { body, timeout, ended: false, waiting: None }
    }

    /// Notes that bytes came. If they were few, the timer goes on.
    fn came(&mut self, count: usize) {
        if let Some((_, came)) = &mut self.waiting {
            *came = came.saturating_add(count);
            if *came >= ENOUGH {
                self.waiting = None;
            }
        }
    }

    fn poll_stalled(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Some(timeout) = self.timeout else { return Poll::Pending };
        let (waiting, _) = self.waiting.get_or_insert_with(|| (Box::pin(sleep(timeout)), 0));
        waiting.as_mut().poll(context)
    }
}

impl Body for Upload {
    type Data = Bytes;
    type Error = UploadError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, UploadError>>> {
        match Pin::new(&mut self.body).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => {
                self.came(frame.data_ref().map_or(0, Bytes::len));
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(ended) => {
                self.ended = ended.is_none();
                Poll::Ready(ended.map(|ended| ended.map_err(Into::into)))
            }
            Poll::Pending => self.poll_stalled(context).map(|()| Some(Err(Stalled.into()))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.ended || self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl fmt::Debug for Upload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upload").field("body", &self.body).finish_non_exhaustive()
    }
}
