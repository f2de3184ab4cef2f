//! One connection, from the first byte to the last.

use core::future::{Future, poll_fn};
use core::pin::{Pin, pin};
use core::task::{Context, Poll};
use std::io::{Error, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use hyper::rt::Executor;
use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioIo, TokioTimer};
use pin_project_lite::pin_project;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tower_service::Service;

use super::admission::OpenConnection;
use super::bounds::Bounds;
use super::dispatch::Dispatch;
use super::host::{BoxError, Host, Origin, PlaceKind, Protocol};
use super::memory::{Memory, MemoryAllowance};
use super::socket::{Fittings, Socket};
use super::upload::Upload;
use super::watch::{StreamWatch, Wait, Watch};

/// The first bytes of an HTTP/2 client with prior knowledge.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A connection that was accepted and may be served.
pub(super) struct Accepted<I> {
    pub(super) stream: I,
    pub(super) peer: SocketAddr,
    /// The address of our end, if the stream is a socket.
    pub(super) local: Option<SocketAddr>,
    pub(super) permit: OpenConnection,
}

/// The bounds and the memory that all connections of a listener share.
#[derive(Clone, Debug)]
pub(super) struct Common {
    pub(super) bounds: Arc<Bounds>,
    pub(super) memory: Arc<Memory>,
    pub(super) allowance: MemoryAllowance,
}

/// Serves a connection until it ends, takes too long, or nothing is under way once it should leave.
pub(super) async fn serve<I, H>(common: &Common, host: H, accepted: Accepted<I>, watch: &Arc<Watch>)
where
    I: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    H: Host,
{
    if let Err(error) = connection(common, host, accepted, watch).await {
        // Only the kind is logged, so that nothing a client sent gets into the log.
        tracing::debug!(kind = ?error.kind(), "connection ended");
    }
}

async fn connection<I, H>(
    common: &Common,
    host: H,
    mut accepted: Accepted<I>,
    watch: &Arc<Watch>,
) -> Result<(), Error>
where
    I: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    H: Host,
{
    let bounds = &common.bounds;
    let mut first = Vec::with_capacity(1024);
    let sniffed = sniff(watch, &mut accepted.stream, &mut first).await?;
    let Some(protocol) = sniffed else { return Ok(()) };
    let Accepted { stream, peer, local, mut permit } = accepted;
    if protocol == Protocol::Http2 && !permit.speaks_http2() {
        return Ok(());
    }
    let share = common.memory.share_in(common.allowance);
    watch.counts_in(&share);
    let (streams, heads) = match protocol {
        Protocol::Http1 => (1, None),
        Protocol::Http2 => share.streams(bounds.streams, bounds.head() as usize),
    };
    let (place, voucher) = (permit.place, permit.voucher());
    let origin =
        Arc::new(Origin { peer, local, protocol, place, voucher, share: Arc::clone(&share) });
    let door = Dispatch {
        service: host.connect(&origin),
        host: host.clone(),
        bounds: Arc::clone(bounds),
        origin,
        watch: Arc::clone(watch),
    };
    // On places that are few, whoever only says that it speaks HTTP/2 must not stay.
    let prompt = bounds.prompt || place == PlaceKind::Reserved;
    let fittings = Fittings {
        host,
        watch: Arc::clone(watch),
        share,
        protocol,
        prompt,
        first,
        head: bounds.head_in_parts(),
        heads,
        _permit: permit,
    };
    let socket = Socket::new(stream, fittings);
    let ended = match protocol {
        Protocol::Http1 => keep_alive(http1(bounds), watch, socket, door).await?,
        Protocol::Http2 => {
            if !prompt {
                watch.end(Wait::Head);
            }
            watch.begin(Wait::Idle);
            let socket = TokioIo::new(socket);
            let connection = http2(bounds, watch, streams).serve_connection(socket, door);
            let tell = http2::Connection::graceful_shutdown;
            until(watch, Box::pin(connection).as_mut(), tell).await?
        }
    };
    ended.unwrap_or(Ok(())).map_err(Error::other)
}

/// Serves HTTP/1 until the connection ends. hyper keeps two buffers of 8 KiB for each connection, also
/// while nothing is under way, and most kept-alive connections are idle most of the time. Between two
/// requests its state holds nothing that counts, so while a connection is idle for long, nothing but its
/// socket is kept, and hyper's state is made anew when the client sends again.
async fn keep_alive<I, H, V>(
    builder: http1::Builder,
    watch: &Watch,
    socket: Socket<I, H>,
    mut door: Dispatch<H, V>,
) -> Result<Option<hyper::Result<()>>, Error>
where
    I: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    H: Host,
    V: Service<Request<Upload>, Response = Response<H::Body>, Error: Into<BoxError>>,
    V: Clone + Send + 'static,
{
    let mut socket = Box::new(socket);
    loop {
        let connection = builder.serve_connection(TokioIo::new(socket), door);
        let mut connection = Box::pin(connection.with_upgrades());
        let tell = http1::UpgradeableConnection::graceful_shutdown;
        if let Some(ended) = until(watch, connection.as_mut(), tell).await? {
            return Ok(Some(ended));
        }
        // The other parts, hyper's buffer among them, are dropped before the wait.
        (socket, door) = match Pin::into_inner(connection).into_parts() {
            Some(parts) => (parts.io.into_inner(), parts.service),
            None => return Ok(None),
        };
        if watched(watch, |context| socket.poll_more(context)).await? != Some(true) {
            return Ok(None);
        }
    }
}

/// Waits for the client to send something, until the watch is over; `None` if the connection should leave
/// before it does.
async fn watched<T>(
    watch: &Watch,
    mut poll: impl FnMut(&mut Context<'_>) -> Poll<Result<T, Error>>,
) -> Result<Option<T>, Error> {
    poll_fn(|context| {
        watch.task.wakes(context.waker());
        match poll(context) {
            Poll::Pending if watch.task.is_over() => Poll::Ready(Err(ErrorKind::TimedOut.into())),
            Poll::Pending if watch.is_leaving() => Poll::Ready(Ok(None)),
            polled => polled.map_ok(Some),
        }
    })
    .await
}

/// Lets a connection go on until it ends, or its watch is over; `None` if it has been idle for a while, and
/// can be made anew when its client sends again. If it should leave, it is told once.
async fn until<C: Future<Output = hyper::Result<()>>>(
    watch: &Watch,
    mut connection: Pin<&mut C>,
    tell: impl Fn(Pin<&mut C>),
) -> Result<Option<hyper::Result<()>>, Error> {
    let mut told = false;
    poll_fn(|context| {
        watch.task.wakes(context.waker());
        if watch.task.is_over() {
            return Poll::Ready(Err(ErrorKind::TimedOut.into()));
        }
        if !told && watch.is_leaving() {
            told = true;
            tell(connection.as_mut());
        }
        match connection.as_mut().poll(context) {
            Poll::Ready(ended) => Poll::Ready(Ok(Some(ended))),
            Poll::Pending if watch.is_parking() && !told => Poll::Ready(Ok(None)),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

/// Reads until it is clear which protocol the client speaks; `None` if it says nothing, or the listener
/// stops before it does. hyper-util can do this too, at the price of a second kind of connection around
/// the first for every poll, and without a timer.
async fn sniff<I: AsyncRead + Unpin>(
    watch: &Watch,
    stream: &mut I,
    first: &mut Vec<u8>,
) -> Result<Option<Protocol>, Error> {
    loop {
        let mut reading = pin!(stream.read_buf(first));
        let read = watched(watch, |context| reading.as_mut().poll(context)).await?;
        let count = read.unwrap_or(0);
        if count == 0 && first.is_empty() {
            return Ok(None);
        }
        if !PREFACE.starts_with(&first[..first.len().min(PREFACE.len())]) || count == 0 {
            return Ok(Some(Protocol::Http1));
        }
        if first.len() >= PREFACE.len() {
            return Ok(Some(Protocol::Http2));
        }
    }
}

/// The settings of HTTP/1, without hyper's timer for heads: the [`Watch`] does that, and more. The
/// [`Socket`] finds out whether a client is gone: hyper would take a new buffer for each request to do so.
fn http1(bounds: &Bounds) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .header_read_timeout(None)
        .max_headers(bounds.headers)
        .max_header_size(bounds.head() as usize)
        .max_buf_size(bounds.buffer() as usize)
        .writev(!bounds.small_bodies)
        .half_close(true);
    builder
}

fn http2(bounds: &Bounds, watch: &Arc<Watch>, streams: u32) -> http2::Builder<Streams> {
    let mut builder = http2::Builder::new(Streams(Arc::clone(watch)));
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(streams)
        .max_pending_accept_reset_streams(bounds.resets)
        // A client that opens all its streams before it knows how many it may have is refused the rest, and is
        // answered on the others. Whoever opens more is closed: each stream costs the reading of a head.
        .max_local_error_reset_streams(bounds.streams as usize)
        .max_header_list_size(bounds.head())
        .max_frame_size(16_384)
        .max_send_buf_size(64 << 10)
        .initial_stream_window_size(bounds.buffer())
        .initial_connection_window_size(4 * bounds.buffer())
        .keep_alive_interval(bounds.idle_timeout.max(Duration::from_secs(1)) / 2)
        .keep_alive_timeout(bounds.header_timeout);
    builder
}

/// Spawns the streams of one HTTP/2 connection, each with its watch.
#[derive(Clone)]
struct Streams(Arc<Watch>);

pin_project! {
    /// A stream that ends when its client does not take its answer. When it is dropped, it is reset, and
    /// the connection goes on.
    struct Watched<F> {
        #[pin]
        stream: F,
        watch: Option<Arc<StreamWatch>>,
    }
}

// === impl Streams ===

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for Streams {
    fn execute(&self, stream: F) {
        // hyper calls the service and then spawns what it returned, both within one poll.
        tokio::spawn(Watched { stream, watch: self.0.opened() });
    }
}

// === impl Watched ===

impl<F: Future<Output = ()>> Future for Watched<F> {
    type Output = ();

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        if let Some(watch) = this.watch {
            watch.task.wakes(context.waker());
            if watch.task.is_over() {
                return Poll::Ready(());
            }
        }
        this.stream.poll(context)
    }
}
