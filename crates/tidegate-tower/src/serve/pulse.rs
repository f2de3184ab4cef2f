//! What a connection is at, so that it is known how long it may stay at it.

use core::pin::Pin;
use core::task::{Context, Poll};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};

use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

/// What happens on one connection. The socket and the requests tell; the connection looks whenever it
/// has been at work.
#[derive(Debug, Default)]
pub(super) struct Pulse {
    /// Requests whose responses have not been sent whole.
    open: AtomicUsize,
    /// How many requests have begun and ended.
    turns: AtomicU64,
    /// Bytes came while there was no request: they begin a head. Of HTTP/1 only.
    head: AtomicBool,
    /// The client does not take what is written.
    stuck: AtomicBool,
    /// How often something was written.
    written: AtomicU64,
}

/// What a connection is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Waiting for a request.
    Idle,
    /// A request is coming.
    Head,
    /// At work on one.
    Busy,
    /// Waiting for the client to take an answer.
    Stuck,
}

/// A request under way; over when this is dropped.
#[derive(Debug)]
pub(super) struct Open(Arc<Pulse>);

pin_project! {
    /// The body of a response, with the request it belongs to.
    pub(super) struct Sent<B> {
        #[pin]
        body: B,
        open: Open,
    }
}

// === impl Pulse ===

impl Pulse {
    /// A request begins.
    pub(super) fn open(self: &Arc<Self>) -> Open {
        self.open.fetch_add(1, Relaxed);
        self.turns.fetch_add(1, Relaxed);
        self.head.store(false, Relaxed);
        Open(Arc::clone(self))
    }

    /// Bytes came on an HTTP/1 connection.
    pub(super) fn read(&self) {
        if self.open.load(Relaxed) == 0 {
            self.head.store(true, Relaxed);
        }
    }

    /// Something was written, or could not be.
    pub(super) fn wrote(&self, taken: bool) {
        self.stuck.store(!taken, Relaxed);
        self.written.fetch_add(u64::from(taken), Relaxed);
    }

    /// What the connection is at, and a number that is another one if it is at something else since.
    pub(super) fn look(&self) -> (Phase, u64) {
        if self.stuck.load(Relaxed) {
            return (Phase::Stuck, self.written.load(Relaxed));
        }
        let phase = match (self.open.load(Relaxed), self.head.load(Relaxed)) {
            (0, true) => Phase::Head,
            (0, false) => Phase::Idle,
            _ => Phase::Busy,
        };
        (phase, self.turns.load(Relaxed))
    }
}

// === impl Open ===

impl Drop for Open {
    fn drop(&mut self) {
        self.0.turns.fetch_add(1, Relaxed);
        self.0.open.fetch_sub(1, Relaxed);
    }
}

// === impl Sent ===

impl<B> Sent<B> {
    pub(super) const fn new(body: B, open: Open) -> Self {
        Self { body, open }
    }
}

impl<B: Body> Body for Sent<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        self.project().body.poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
