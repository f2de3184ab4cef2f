//! One connection, from the first byte to the last.

use core::future::{Future, poll_fn};
use core::pin::{Pin, pin};
use core::task::{Context, Poll};
use std::io::{Error, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::rt::Executor;
use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioIo, TokioTimer};
use pin_project_lite::pin_project;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};

use super::admission::Permit;
use super::bounds::Bounds;
use super::door::Door;
use super::host::{Host, Origin, Place, Protocol};
use super::memory::Memory;
use super::socket::{Fittings, Socket};
use super::watch::{StreamWatch, Wait, Watch};

/// The first bytes of an HTTP/2 client with prior knowledge.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A connection that was accepted and may be served.
pub(super) struct Accepted<I> {
    pub(super) stream: I,
    pub(super) peer: SocketAddr,
    /// The address of our end, if the stream is a socket.
    pub(super) local: Option<SocketAddr>,
    pub(super) permit: Permit,
}

/// The bounds and the memory that all connections of a listener share.
#[derive(Clone, Debug)]
pub(super) struct Common {
    pub(super) bounds: Arc<Bounds>,
    pub(super) memory: Arc<Memory>,
}

/// Serves a connection until it ends, takes too long, or nothing is under way after `stop`.
pub(super) async fn serve<I, H>(
    common: &Common,
    host: H,
    accepted: Accepted<I>,
    watch: Arc<Watch>,
    stop: impl Future<Output = ()>,
) where
    I: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    H: Host,
{
    let mut stop = pin!(stop);
    // A future that is over is not polled again.
    let mut stopped = false;
    let mut is_stopping = |context: &mut Context<'_>| {
        stopped = stopped || stop.as_mut().poll(context).is_ready();
        stopped
    };
    let served = connection(common, host, accepted, &watch, &mut is_stopping).await;
    if let Err(error) = served {
        // Only the kind is logged, so that nothing a client sent gets into the log.
        tracing::debug!(kind = ?error.kind(), "connection ended");
    }
}

async fn connection<I, H>(
    common: &Common,
    host: H,
    mut accepted: Accepted<I>,
    watch: &Arc<Watch>,
    is_stopping: &mut impl FnMut(&mut Context<'_>) -> bool,
) -> Result<(), Error>
where
    I: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    H: Host,
{
    let bounds = &common.bounds;
    let mut first = Vec::new();
    let sniffed = sniff(watch, &mut accepted.stream, &mut first, is_stopping).await?;
    let Some(protocol) = sniffed else { return Ok(()) };
    let Accepted { stream, peer, local, permit } = accepted;
    let share = common.memory.share();
    let (streams, heads) = match protocol {
        Protocol::Http1 => (1, None),
        Protocol::Http2 => share.streams(bounds.streams, bounds.head_bytes()),
    };
    let place = permit.place();
    let origin = Arc::new(Origin { peer, local, protocol, place, share: Arc::clone(&share) });
    let door = Door {
        service: host.connect(&origin),
        host: host.clone(),
        bounds: Arc::clone(bounds),
        origin,
        watch: Arc::clone(watch),
    };
    let watched = Arc::clone(watch);
    // On places that are few, whoever only says that it speaks HTTP/2 must not stay.
    let prompt = bounds.prompt || place == Place::Reserved;
    let fittings = Fittings { host, watch: watched, share, protocol, prompt, first, permit, heads };
    let socket = TokioIo::new(Socket::new(stream, fittings));
    let served = match protocol {
        Protocol::Http1 => {
            let connection = http1(bounds).serve_connection(socket, door).with_upgrades();
            let tell = http1::UpgradeableConnection::graceful_shutdown;
            to_the_end(watch, pin!(connection), tell, is_stopping).await?
        }
        Protocol::Http2 => {
            if !prompt {
                watch.end(Wait::Head);
            }
            watch.begin(Wait::Idle);
            let connection = http2(bounds, watch, streams).serve_connection(socket, door);
            let tell = http2::Connection::graceful_shutdown;
            to_the_end(watch, pin!(connection), tell, is_stopping).await?
        }
    };
    served.map_err(Error::other)
}

/// Lets a connection go on until it ends or its watch is over. If it should leave, it is told once.
async fn to_the_end<C: Future<Output = hyper::Result<()>>>(
    watch: &Watch,
    mut connection: Pin<&mut C>,
    tell: impl Fn(Pin<&mut C>),
    is_stopping: &mut impl FnMut(&mut Context<'_>) -> bool,
) -> Result<hyper::Result<()>, Error> {
    let mut told = false;
    poll_fn(|context| {
        watch.wakes(context.waker());
        if watch.is_over() {
            return Poll::Ready(Err(ErrorKind::TimedOut.into()));
        }
        if !told && (watch.is_leaving() || is_stopping(context)) {
            told = true;
            tell(connection.as_mut());
        }
        connection.as_mut().poll(context).map(Ok)
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
    is_stopping: &mut impl FnMut(&mut Context<'_>) -> bool,
) -> Result<Option<Protocol>, Error> {
    first.reserve(1024);
    loop {
        let mut reading = pin!(stream.read_buf(first));
        let count = poll_fn(|context| {
            watch.wakes(context.waker());
            match reading.as_mut().poll(context) {
                Poll::Pending if watch.is_over() => Poll::Ready(Err(ErrorKind::TimedOut.into())),
                Poll::Pending if is_stopping(context) => Poll::Ready(Ok(0)),
                polled => polled,
            }
        })
        .await?;
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

/// The settings of HTTP/1, without hyper's timer for heads: the [`Watch`] does that, and more. A client
/// that closes its sending side counts as gone, and a request under way is given up.
fn http1(bounds: &Bounds) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .header_read_timeout(None)
        .max_headers(bounds.headers)
        .max_header_size(bounds.head_bytes())
        .max_buf_size(bounds.buffer)
        .writev(bounds.vectored)
        .half_close(false);
    builder
}

fn http2(bounds: &Bounds, watch: &Arc<Watch>, streams: u32) -> http2::Builder<Streams> {
    let mut builder = http2::Builder::new(Streams(Arc::clone(watch)));
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(streams)
        .max_pending_accept_reset_streams(bounds.resets)
        // A client that opens streams before it knows how many it may have is refused the rest.
        .max_local_error_reset_streams(bounds.resets + bounds.streams as usize)
        .max_header_list_size(bounds.head)
        .max_frame_size(16_384)
        .max_send_buf_size(64 << 10)
        .initial_stream_window_size(bounds.window)
        .initial_connection_window_size(bounds.window.saturating_mul(4))
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
            watch.wakes(context.waker());
            if watch.is_over() {
                return Poll::Ready(());
            }
        }
        this.stream.poll(context)
    }
}
