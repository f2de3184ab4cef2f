//! The socket as hyper sees it.
//!
//! Three things happen here that hyper has no place for. The bytes that told HTTP/1 from HTTP/2 are
//! read again. What the socket does moves the connection's [`Watch`]. And what hyper itself answers to
//! a request it cannot parse, a bare status line, becomes a problem document like every other refusal.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use http::StatusCode;
use tidegate_core::Span;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::watch::{Phase, Watch};
use crate::metrics::Tally;
use crate::problem::unparsable;
use crate::route::Route;
use crate::service::Protocol;

/// A connection's socket, watched.
#[derive(Debug)]
pub(crate) struct Socket {
    stream: TcpStream,
    watch: Arc<Watch>,
    tally: Arc<Tally>,
    protocol: Protocol,
    /// Read before hyper was there.
    first: Vec<u8>,
    /// Our answer in place of hyper's, until it is written.
    instead: Vec<u8>,
    /// How much of `instead` has been written.
    written: usize,
    /// The client has closed its side.
    ended: bool,
    /// We have closed ours.
    closed: bool,
    /// What was read and thrown away since.
    discarded: usize,
}

/// How much is read and thrown away after we have closed our side, so that the client gets to read
/// the answer before the operating system resets the connection.
const DISCARD: usize = 1 << 20;

// === impl Socket ===

impl Socket {
    pub(crate) fn new(
        stream: TcpStream,
        watch: Arc<Watch>,
        tally: Arc<Tally>,
        protocol: Protocol,
        first: Vec<u8>,
    ) -> Self {
        Self {
            stream,
            watch,
            tally,
            protocol,
            first,
            instead: Vec::new(),
            written: 0,
            ended: false,
            closed: false,
            discarded: 0,
        }
    }

    /// Bytes came. If nothing else is going on, they begin a head; with HTTP/2 they may be anything,
    /// and only requests count.
    #[inline]
    fn has_read(&mut self, any: bool) {
        self.ended |= !any;
        if any && self.protocol == Protocol::Http1 && self.watch.phase() == Phase::Idle {
            self.watch.enter(Phase::Head);
        }
    }

    /// hyper writes although no request has been handed on since the last answer was flushed: these
    /// are its own words about a request it could not parse. HTTP/2 never writes in plain text.
    #[inline]
    fn is_hypers_own(&self, bytes: &[u8]) -> bool {
        matches!(self.watch.phase(), Phase::Head | Phase::Idle) && bytes.starts_with(b"HTTP/1.1 4")
    }

    fn write_instead(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some(rest) = self.instead.get(self.written..).filter(|rest| !rest.is_empty()) {
            match ready!(Pin::new(&mut self.stream).poll_write(cx, rest))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                count => self.written += count,
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Reads what the client still sends, until it closes or it is enough.
    fn linger(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut space = [0; 4096];
        while !self.ended && self.discarded < DISCARD {
            let mut buffer = ReadBuf::new(&mut space);
            ready!(Pin::new(&mut self.stream).poll_read(cx, &mut buffer))?;
            self.discarded += buffer.filled().len();
            self.ended = buffer.filled().is_empty();
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for Socket {
    #[inline]
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.first.is_empty() {
            let count = self.first.len().min(buffer.remaining());
            buffer.put_slice(&self.first[..count]);
            self.first.drain(..count);
            if self.first.is_empty() {
                // Connections stay open for long; what was needed once need not.
                self.first = Vec::new();
            }
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buffer))?;
        self.has_read(buffer.filled().len() > before);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Socket {
    #[inline]
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.is_hypers_own(bytes) {
            self.instead = unparsable(bytes);
            self.watch.leave_unread();
            self.tally.answered(Route::Other, StatusCode::BAD_REQUEST, Span::ZERO);
            self.watch.enter(Phase::Write);
            return Poll::Ready(Ok(bytes.len()));
        }
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    #[inline]
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.write_instead(cx))?;
        // A TCP stream has nothing to flush: what hyper wrote is with the operating system.
        if self.watch.phase() == Phase::Write {
            self.watch.enter(Phase::Idle);
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.write_instead(cx))?;
        if !self.closed {
            ready!(Pin::new(&mut self.stream).poll_shutdown(cx))?;
            self.closed = true;
            self.watch.enter(Phase::Linger);
        }
        if self.watch.is_unread() { self.linger(cx) } else { Poll::Ready(Ok(())) }
    }
}
