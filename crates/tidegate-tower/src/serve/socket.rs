//! The socket as hyper sees it.
//!
//! The bytes that told HTTP/1 from HTTP/2 are read again, the [`Pulse`] is told what happens, and an
//! end is made so that the client gets to read the last answer: closing a socket with unread bytes in
//! it resets the connection, and a client that is still sending would see that and not its 429.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use super::pulse::Pulse;

/// A connection's socket, watched.
#[derive(Debug)]
pub(super) struct Socket<I> {
    stream: I,
    pulse: Arc<Pulse>,
    /// Whether bytes that come between requests begin a head.
    plain: bool,
    /// Read before hyper was there.
    first: Vec<u8>,
    /// The client has closed its side.
    ended: bool,
    /// We have closed ours, and wait for the client to do so, for this long.
    closing: Option<Pin<Box<Sleep>>>,
    /// What was read and thrown away since.
    discarded: usize,
}

/// How long a client may take to read the last answer while it is still sending.
const LINGER: Duration = Duration::from_secs(1);

/// What is read and thrown away meanwhile; the rest waits in vain. Little, because it is work for
/// somebody who was refused (threat T38).
const DISCARD: usize = 16 << 10;

// === impl Socket ===

impl<I> Socket<I> {
    pub(super) const fn new(stream: I, pulse: Arc<Pulse>, plain: bool, first: Vec<u8>) -> Self {
        Self { stream, pulse, plain, first, ended: false, closing: None, discarded: 0 }
    }
}

impl<I: AsyncRead + Unpin> Socket<I> {
    /// Waits until the client has closed its side as well, but not for long.
    fn linger(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let mut space = [0; 4096];
        while !self.ended && self.discarded < DISCARD {
            let mut buffer = ReadBuf::new(&mut space);
            match Pin::new(&mut self.stream).poll_read(context, &mut buffer) {
                Poll::Ready(Ok(())) => {
                    self.discarded += buffer.filled().len();
                    self.ended = buffer.filled().is_empty();
                }
                Poll::Ready(Err(_)) => self.ended = true,
                Poll::Pending => break,
            }
        }
        if self.ended {
            return Poll::Ready(());
        }
        let closing = self.closing.get_or_insert_with(|| Box::pin(sleep(LINGER)));
        closing.as_mut().poll(context)
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for Socket<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.first.is_empty() {
            let count = self.first.len().min(buffer.remaining());
            buffer.put_slice(&self.first[..count]);
            self.first.drain(..count);
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        self.ended = buffer.filled().len() == before;
        if self.plain && !self.ended {
            self.pulse.read();
        }
        Poll::Ready(Ok(()))
    }
}

impl<I: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Socket<I> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.pulse.wrote(written.is_ready());
        written
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.pulse.wrote(written.is_ready());
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.closing.is_none() {
            ready!(Pin::new(&mut self.stream).poll_shutdown(context))?;
        }
        self.linger(context).map(Ok)
    }
}
