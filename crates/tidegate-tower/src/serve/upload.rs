//! The body of a request, for as long as it comes.

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::{Sleep, sleep};

use super::memory::{HeldBytes, MemoryUse, Share};

/// The body of a request. It fails if it stops coming, so that no client keeps a service waiting by
/// sending a byte now and then. The time runs only while the service waits for the body.
///
/// It also fails if too many others are on their way: a service that collects bodies keeps what has come
/// of each, so a body that comes in parts counts as [memory](super::Bounds::bodies_memory), with its length or
/// 64 KiB if that is less, until it is complete.
pub struct Upload {
    body: Incoming,
    timeout: Option<Duration>,
    /// The memory of the connection, unless the service counts its bodies itself.
    share: Option<Arc<Share>>,
    /// The memory that is held while the rest of the body is on its way.
    held: Option<HeldBytes>,
    /// Whether a part of the body has come.
    begun: bool,
    /// Whether the body has been read to its end, which hyper does not know of a chunked body.
    ended: bool,
    /// The timer that runs while the service waits, and how many bytes have come since it began.
    waiting: Option<(Pin<Box<Sleep>>, usize)>,
}

/// Why a body ended before its time.
#[derive(Debug, thiserror::Error)]
pub enum UploadError {
    /// Too little of the body came in time.
    #[error("the body of the request did not come in time")]
    Stalled,
    /// The server holds as many partly received bodies as it may.
    #[error("the server is holding too many partly received bodies; retry")]
    Crowded,
    /// The connection failed, or what came was not a body.
    #[error(transparent)]
    Broken(#[from] hyper::Error),
}

/// The most memory that a body is counted with.
const MOST_COUNTED: u64 = 64 << 10;

/// The bytes that have to come within the timeout.
const ENOUGH: usize = 1 << 10;

// === impl Upload ===

impl Upload {
    /// A body that is counted in `share` while it comes, if there is one.
    pub(super) const fn new(
        body: Incoming,
        timeout: Option<Duration>,
        share: Option<Arc<Share>>,
    ) -> Self {
        Self { body, timeout, share, held: None, begun: false, ended: false, waiting: None }
    }

    /// Holds memory for a body of which a part has come and more is to come.
    fn hold(&mut self) -> Result<(), UploadError> {
        let Some(share) = self.share.as_ref().filter(|_| self.begun && self.held.is_none()) else {
            return Ok(());
        };
        let length = self.body.size_hint().upper().unwrap_or(MOST_COUNTED).min(MOST_COUNTED);
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        self.held = Some(share.hold(MemoryUse::Bodies, length).ok_or(UploadError::Crowded)?);
        Ok(())
    }

    /// Notes that bytes came. If they were few, the timer goes on.
    fn came(&mut self, count: usize) {
        self.begun = true;
        if let Some((_, came)) = &mut self.waiting {
            *came = came.saturating_add(count);
            if *came >= ENOUGH {
                self.waiting = None;
            }
        }
    }

    #[expect(clippy::disallowed_methods, reason = "a client that sends nothing is given real time")]
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
                self.held = None;
                Poll::Ready(ended.map(|ended| ended.map_err(Into::into)))
            }
            Poll::Pending => match self.hold() {
                Ok(()) => self.poll_stalled(context).map(|()| Some(Err(UploadError::Stalled))),
                Err(crowded) => Poll::Ready(Some(Err(crowded))),
            },
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
