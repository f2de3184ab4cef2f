//! The socket as hyper sees it.
//!
//! Six things happen here that hyper has no place for. The bytes that told HTTP/1 from HTTP/2 are read
//! again. The [`HeadGuard`] reads along, and hyper is shown nothing that another reader could divide
//! otherwise. The [`Watch`] is told what the client is waited for. What hyper itself answers to a request
//! that it cannot parse, a bare status line, becomes the answer of the [`Host`](super::Host). A client that
//! closes its side while a request is under way is gone, and the request is given up. And an end
//! is made so that the client gets to read the last answer: closing a socket with unread bytes in it
//! resets the connection, and a client that is still sending would see that and not its 429.

use core::pin::Pin;
use core::task::{Context, Poll, Waker, ready};
use std::io::{self, IoSlice};
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::admission::OpenConnection;
use super::frames::Frames;
use super::guard::{HeadGuard, Then};
use super::host::{Host, Protocol};
use super::instead::{self, SocketFault};
use super::memory::{HeldBytes, MemoryUse, Share};
use super::watch::{Wait, Watch};

/// A connection's socket, watched and guarded.
pub(super) struct Socket<I, H> {
    stream: I,
    fittings: Fittings<H>,
    reading: Reading,
    /// The bytes that were read from the socket, or put in their place, and not yet shown to hyper.
    kept: Vec<u8>,
    /// Whether others have a turn before the kept bytes of HTTP/2 are shown.
    yields: bool,
    /// The task to wake when it is decided whether another protocol is spoken.
    undecided: Option<Waker>,
    /// Why the connection has to end with a refusal, if it has to.
    fault: Option<SocketFault>,
    /// The answer that stands in for one of hyper's own, until it is written.
    instead: Vec<u8>,
    /// How much of `instead` has been written.
    written: usize,
    /// Whether the client has closed its side.
    ended: bool,
    /// Set when we have closed our side, with the memory that is held until the client closes its own.
    closed: Option<Option<HeldBytes>>,
    /// How many bytes were read and thrown away since we closed our side.
    discarded: usize,
}

/// How the bytes of a client are read along.
enum Reading {
    /// HTTP/1 requests, which the guard checks.
    Requests(HeadGuard),
    /// HTTP/1, behind a head that asks for another protocol: nothing is shown until that is decided.
    Undecided(HeadGuard),
    /// HTTP/2 frames.
    Frames(Frames),
    /// The protocol that a client has been switched to, which is not read along.
    Anything,
}

/// The parts of a socket besides its stream.
pub(super) struct Fittings<H> {
    pub(super) host: H,
    pub(super) watch: Arc<Watch>,
    pub(super) share: Arc<Share>,
    pub(super) protocol: Protocol,
    /// Whether an HTTP/2 client has only the time for a head to send its first request.
    pub(super) prompt: bool,
    /// The bytes that were read to find out the protocol.
    pub(super) first: Vec<u8>,
    /// The memory that a head in parts counts for.
    pub(super) head: usize,
    /// The memory for heads: of HTTP/2 streams from the beginning, if there was room, and otherwise for
    /// one head once it has not come in one read.
    pub(super) heads: Option<HeldBytes>,
    /// The connection's place; free again when the socket is gone, upgraded or not.
    pub(super) _permit: OpenConnection,
}

/// The most bytes that are read and thrown away after we have closed our side. They are few, because
/// they are work for a client that was refused (threat T38).
const DISCARD: usize = 16 << 10;

/// The most heads of HTTP/2 that h2 is shown before other connections have a turn. A head of 400 bytes
/// can stand for as many fields, and h2 takes apart everything that has come before it calls a service.
const HEADS_AT_ONCE: usize = 4;

/// The most bytes of further requests behind which it is found that the client has closed its side.
const LOOKED_BEHIND: usize = 2 << 10;

/// The memory that a connection counts for while it waits for its client to close. If there is none
/// left, it does not wait.
const LINGERS: usize = 64 << 10;

/// The bytes that hyper is shown in place of a malformed head. They begin no request, so hyper answers
/// 400 and closes, after the answers to everything before. They end in an empty line, because hyper does
/// not look at a head of which it has seen a part before that head ends.
const NOT_HTTP: &[u8] = b"\0\r\n\r\n";

// === impl Socket ===

impl<I, H: Host> Socket<I, H> {
    pub(super) fn new(stream: I, mut fittings: Fittings<H>) -> Self {
        let reading = match fittings.protocol {
            Protocol::Http1 => Reading::Requests(HeadGuard::default()),
            Protocol::Http2 => Reading::Frames(Frames::new()),
        };
        Self {
            stream,
            kept: core::mem::take(&mut fittings.first),
            fittings,
            reading,
            yields: false,
            undecided: None,
            fault: None,
            instead: Vec::new(),
            written: 0,
            ended: false,
            closed: None,
            discarded: 0,
        }
    }

    /// Reads along the bytes in `buffer` from `from` on, and takes back those that hyper must not see.
    #[inline]
    fn read_along(&mut self, buffer: &mut ReadBuf<'_>, from: usize) {
        let new = &buffer.filled()[from..];
        match &mut self.reading {
            Reading::Requests(guard) => {
                let passed = guard.read(new);
                let within = guard.is_within_head();
                self.fittings.watch.within_head(within);
                self.fittings.watch.between_requests(guard.is_between_requests());
                if passed.then != Then::More {
                    self.stop_at(buffer, from + passed.count, passed.then);
                } else if within && self.fittings.heads.is_none() && !self.hold_head() {
                    self.end_with(SocketFault::Crowded, buffer);
                }
            }
            Reading::Frames(frames) => {
                let read = frames.read(new, HEADS_AT_ONCE);
                if read < new.len() {
                    self.kept.splice(..0, new[read..].iter().copied());
                    self.yields = true;
                    buffer.set_filled(from + read);
                }
                // Whatever else is under way: nothing behind a head is read before the head ends.
                if frames.is_within_head() || self.fittings.prompt && !frames.has_had_head {
                    self.fittings.watch.begin(Wait::Head);
                } else {
                    self.fittings.watch.end(Wait::Head);
                }
                let within = frames.is_within_head();
                let is_fruitless = frames.is_fruitless(self.fittings.watch.streams_so_far());
                if is_fruitless || within && self.fittings.heads.is_none() && !self.hold_head() {
                    self.fault = Some(SocketFault::Crowded);
                }
            }
            Reading::Undecided(_) | Reading::Anything => {}
        }
    }

    /// Holds memory for one head, and returns whether there was some. hyper's first buffer, which a head
    /// that comes in one read does not outgrow, belongs to every connection; for a longer one it takes
    /// another.
    #[cold]
    fn hold_head(&mut self) -> bool {
        self.fittings.heads = self.fittings.share.hold(MemoryUse::Heads, self.fittings.head);
        self.fittings.heads.is_some()
    }

    /// Gives the memory for one head back, once its request is answered.
    #[cold]
    fn free_head(&mut self) {
        if matches!(&self.reading, Reading::Requests(guard) if guard.is_between_requests()) {
            self.fittings.heads = None;
        }
    }

    /// Ends the connection with a refusal, behind the bytes in `buffer`.
    fn end_with(&mut self, fault: SocketFault, buffer: &mut ReadBuf<'_>) {
        self.fault = Some(fault);
        self.kept = if self.is_within_body() { Vec::new() } else { NOT_HTTP.to_vec() };
        // If there is no room now, these bytes are shown next.
        self.show_kept(buffer);
    }

    #[cold]
    fn stop_at(&mut self, buffer: &mut ReadBuf<'_>, end: usize, then: Then) {
        if let Then::Malformed(malformed) = then {
            buffer.set_filled(end);
            self.end_with(SocketFault::Malformed(malformed), buffer);
            return;
        }
        // These bytes are shown later. They go before the kept bytes, which came behind them.
        self.kept.splice(..0, buffer.filled()[end..].iter().copied());
        buffer.set_filled(end);
        if let Reading::Requests(guard) = core::mem::replace(&mut self.reading, Reading::Anything) {
            self.reading = Reading::Undecided(guard);
        }
    }

    /// Shows hyper the kept bytes, as far as there is room.
    fn show_kept(&mut self, buffer: &mut ReadBuf<'_>) {
        let count = self.kept.len().min(buffer.remaining());
        buffer.put_slice(&self.kept[..count]);
        if count == self.kept.len() {
            // Connections stay open for long, so a buffer that was needed once is freed.
            self.kept = Vec::new();
        } else {
            self.kept.drain(..count);
        }
    }

    /// Waits without a buffer for the client to send more, and returns whether it did. The bytes are kept.
    pub(super) fn poll_more(&mut self, context: &mut Context<'_>) -> Poll<io::Result<bool>>
    where
        I: AsyncRead + Unpin,
    {
        let mut space = [0; 512];
        let mut buffer = ReadBuf::new(&mut space);
        ready!(Pin::new(&mut self.stream).poll_read(context, &mut buffer))?;
        self.kept.extend_from_slice(buffer.filled());
        Poll::Ready(Ok(!buffer.filled().is_empty()))
    }

    /// Whether the last byte that was read belongs to a body.
    const fn is_within_body(&self) -> bool {
        matches!(&self.reading, Reading::Requests(guard) if guard.is_within_body())
    }

    /// The result of reading behind a fault: with HTTP/2 and within a body an error, which h2 or the service
    /// learns of; behind a head nothing, because hyper was shown bytes that end the connection.
    #[cold]
    fn is_refused(&self) -> Poll<io::Result<()>> {
        match (&self.reading, self.fault) {
            (Reading::Frames(_), Some(fault)) => {
                Poll::Ready(Err(io::Error::new(io::ErrorKind::QuotaExceeded, fault.text())))
            }
            (_, Some(fault)) if self.is_within_body() => {
                Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, fault.text())))
            }
            _ => Poll::Pending,
        }
    }

    /// Whether the client may still be sending a request of which we have not read everything.
    fn is_unfinished(&self) -> bool {
        match &self.reading {
            _ if self.fault.is_some() || !self.kept.is_empty() => true,
            Reading::Requests(guard) | Reading::Undecided(guard) => {
                guard.is_within_head() || guard.is_within_body()
            }
            Reading::Frames(_) | Reading::Anything => false,
        }
    }

    /// Finds out from the first bytes of an answer whether the service switches to another protocol.
    #[cold]
    fn decide(&mut self, answer: &[u8]) {
        let status = answer.get(9..12).unwrap_or_default();
        if status.starts_with(b"1") && status != b"101" {
            // An interim answer decides nothing.
            return;
        }
        if let Reading::Undecided(mut guard) =
            core::mem::replace(&mut self.reading, Reading::Anything)
        {
            if status == b"101" {
                guard.upgraded();
                self.fittings.watch.within_head(false);
            } else {
                self.reading = Reading::Requests(guard);
            }
        }
        if let Some(waker) = self.undecided.take() {
            waker.wake();
        }
    }

    /// Whether these bytes are hyper's own answer to a request that it could not parse: it writes
    /// although no request has been handed on since the last answer was flushed. HTTP/2 never writes in
    /// plain text.
    #[inline]
    fn is_hypers_own(&self, bytes: &[u8]) -> bool {
        !self.fittings.watch.is_answering() && bytes.starts_with(b"HTTP/1.1 4")
    }

    /// Puts the answer of the host in the place of hyper's own.
    #[cold]
    fn replace(&mut self, hypers: &[u8]) {
        let refusal = instead::refusal(hypers, self.fault);
        self.instead = instead::plain(hypers, &self.fittings.host.refuse(refusal));
    }

    /// Looks at bytes that hyper is about to write, and returns whether they are replaced.
    #[inline]
    fn looks_at(&mut self, bytes: &[u8]) -> bool {
        if matches!(self.reading, Reading::Undecided(_)) && bytes.starts_with(b"HTTP/1.") {
            self.decide(bytes);
        }
        let replaced = self.is_hypers_own(bytes);
        if replaced {
            self.replace(bytes);
        }
        replaced
    }
}

impl<I: AsyncRead + AsyncWrite + Unpin, H: Host> Socket<I, H> {
    fn write_instead(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some(rest) = self.instead.get(self.written..).filter(|rest| !rest.is_empty()) {
            match ready!(Pin::new(&mut self.stream).poll_write(context, rest))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                count => self.written += count,
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Reads what the client still sends until it closes, [`DISCARD`] bytes came, or the watch ends.
    fn linger(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut space = [0; 4096];
        while !self.ended {
            if self.discarded >= DISCARD {
                // The rest is left unread until the time for lingering is over.
                return Poll::Pending;
            }
            let mut buffer = ReadBuf::new(&mut space);
            ready!(Pin::new(&mut self.stream).poll_read(context, &mut buffer))?;
            self.discarded += buffer.filled().len();
            self.ended = buffer.filled().is_empty();
        }
        Poll::Ready(Ok(()))
    }

    /// Tells the watch whether the client takes what is written. One that does not may be gone.
    #[inline]
    fn wrote<T>(
        &mut self,
        written: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.fittings.watch.end(Wait::Stuck);
        } else {
            self.fittings.watch.begin(Wait::Stuck);
            self.look_for_end(context)?;
        }
        written
    }

    /// Fails if the client has closed its side while a request is under way. The bytes of further requests
    /// are kept, and looked behind while they are at most [`LOOKED_BEHIND`].
    #[cold]
    fn look_for_end(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        let has_all = match &self.reading {
            Reading::Requests(guard) => guard.is_between_requests(),
            Reading::Undecided(_) => true,
            Reading::Frames(_) | Reading::Anything => false,
        };
        if !has_all || self.fault.is_some() {
            return Ok(());
        }
        while self.kept.len() <= LOOKED_BEHIND {
            match self.poll_more(context)? {
                Poll::Ready(true) => {}
                Poll::Ready(false) => {
                    self.ended = true;
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                Poll::Pending => break,
            }
        }
        Ok(())
    }
}

// Nothing in it is pinned in place.
impl<I: Unpin, H> Unpin for Socket<I, H> {}

impl<I: AsyncRead + Unpin, H: Host> AsyncRead for Socket<I, H> {
    #[inline]
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let from = buffer.filled().len();
        if this.fittings.watch.is_deaf() {
            // Woken when the time to linger is over.
            return Poll::Pending;
        }
        if !this.kept.is_empty() {
            if matches!(this.reading, Reading::Undecided(_)) {
                this.undecided = Some(context.waker().clone());
                return Poll::Pending;
            }
            if core::mem::take(&mut this.yields) {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            this.show_kept(buffer);
        } else if this.fault.is_some() {
            return this.is_refused();
        } else {
            ready!(Pin::new(&mut this.stream).poll_read(context, buffer))?;
            if buffer.filled().len() == from {
                this.ended = true;
                return Poll::Ready(Ok(()));
            }
            if let Reading::Undecided(_) = this.reading {
                this.kept.extend_from_slice(&buffer.filled()[from..]);
                buffer.set_filled(from);
                this.undecided = Some(context.waker().clone());
                return Poll::Pending;
            }
        }
        if this.fault.is_none() {
            this.read_along(buffer, from);
        }
        if buffer.filled().len() == from {
            return this.is_refused();
        }
        Poll::Ready(Ok(()))
    }
}

impl<I: AsyncRead + AsyncWrite + Unpin, H: Host> AsyncWrite for Socket<I, H> {
    #[inline]
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.looks_at(bytes) {
            return Poll::Ready(Ok(bytes.len()));
        }
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.wrote(written, context)
    }

    #[inline]
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        // An answer of hyper's own is one slice.
        if let Some(first) = slices.iter().find(|slice| !slice.is_empty())
            && self.looks_at(first)
        {
            return Poll::Ready(Ok(first.len()));
        }
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.wrote(written, context)
    }

    #[inline]
    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    #[inline]
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.write_instead(context))?;
        ready!(Pin::new(&mut self.stream).poll_flush(context))?;
        self.fittings.watch.flushed();
        // hyper flushes whenever it is woken, also while the service works.
        if self.fittings.watch.is_open() {
            self.look_for_end(context)?;
        } else if self.fittings.heads.is_some() {
            self.free_head();
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.write_instead(context))?;
        if self.closed.is_none() {
            ready!(Pin::new(&mut self.stream).poll_shutdown(context))?;
            self.fittings.watch.begin(Wait::Linger);
            let held =
                self.is_unfinished().then(|| self.fittings.share.hold(MemoryUse::Bodies, LINGERS));
            self.closed = Some(held.flatten());
        }
        match &self.closed {
            Some(Some(_)) => self.linger(context),
            _ => Poll::Ready(Ok(())),
        }
    }
}
