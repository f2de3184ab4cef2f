//! One connection, from the first byte to the last.

pub(crate) mod io;
pub(crate) mod watch;

use std::future::{Future, poll_fn};
use std::io::{Error, ErrorKind};
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use crate::accept::{Accepted, Side};
use crate::service::{Door, Protocol};
use crate::worker::Worker;
use io::Socket;
use tidegate_core::Store;
use watch::{Phase, Watch};

/// What an HTTP/2 client with prior knowledge begins with.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The most bytes of a head, request line included.
pub(crate) const MAX_HEAD: usize = 16 << 10;

/// The most requests at once on one HTTP/2 connection.
const MAX_STREAMS: u32 = 128;

/// The most streams that a client may have reset before we have answered them.
const MAX_RESETS: usize = 32;

/// What an HTTP/2 client may send before we have read it, on one stream; four times that on all.
const WINDOW: u32 = 64 << 10;

/// Serves one connection until it ends, is too slow, or the server stops. The count of open
/// connections goes down when `accepted` is dropped, however that comes about.
pub(crate) async fn serve<S: Store + 'static>(worker: Arc<Worker<S>>, accepted: Accepted) {
    let watch = worker.watches.begin();
    let served = {
        let mut connection =
            pin!(connection(&worker, accepted.stream, accepted.peer, accepted.side, &watch));
        let watched = poll_fn(|cx| {
            watch.wakes(cx.waker());
            if watch.is_over() {
                return Poll::Ready(Err(ErrorKind::TimedOut.into()));
            }
            connection.as_mut().poll(cx)
        });
        watched.await
    };
    if let Err(error) = served {
        // The kind and not the text: what a client sent is in neither.
        tracing::debug!(kind = ?error.kind(), phase = ?watch.phase(), "connection ended");
    }
    drop(accepted.permit);
}

async fn connection<S: Store + 'static>(
    worker: &Arc<Worker<S>>,
    stream: std::net::TcpStream,
    peer: IpAddr,
    side: Side,
    watch: &Arc<Watch>,
) -> Result<(), Error> {
    let mut stream = TcpStream::from_std(stream)?;
    let mut first = Vec::new();
    let Some(protocol) = sniff(worker, &mut stream, &mut first).await? else { return Ok(()) };
    let (owned, watched) = (Arc::clone(worker), Arc::clone(watch));
    let door = Arc::new(Door { worker: owned, watch: watched, peer, side, protocol });
    let door = service_fn(move |request| Arc::clone(&door).answer(request));
    let (watched, tally) = (Arc::clone(watch), Arc::clone(&worker.tally));
    let socket = TokioIo::new(Socket::new(stream, watched, tally, protocol, first));
    let served = match protocol {
        Protocol::Http1 => {
            let connection = pin!(http1().serve_connection(socket, door));
            to_the_end(worker, connection, http1::Connection::graceful_shutdown).await
        }
        Protocol::Http2 => {
            watch.enter(Phase::Idle);
            let connection = pin!(http2(worker).serve_connection(socket, door));
            to_the_end(worker, connection, http2::Connection::graceful_shutdown).await
        }
    };
    served.map_err(Error::other)
}

/// Lets a connection go on until it ends. When the server stops, it is told once; the watch wakes us
/// for that.
async fn to_the_end<S: Store + 'static, C: Future<Output = hyper::Result<()>>>(
    worker: &Worker<S>,
    mut connection: Pin<&mut C>,
    tell: impl Fn(Pin<&mut C>),
) -> hyper::Result<()> {
    let mut told = false;
    poll_fn(|cx| {
        if worker.shared.is_draining() && !told {
            told = true;
            tell(connection.as_mut());
        }
        connection.as_mut().poll(cx)
    })
    .await
}

/// Reads until it is clear which protocol the client speaks; `None` if it says nothing, or we are
/// stopping before it did. hyper-util can do this too, at the price of a second kind of connection
/// around the first for every poll.
async fn sniff<S: Store + 'static>(
    worker: &Worker<S>,
    stream: &mut TcpStream,
    first: &mut Vec<u8>,
) -> Result<Option<Protocol>, Error> {
    first.reserve(1024);
    loop {
        let mut reading = pin!(stream.read_buf(first));
        let count = poll_fn(|cx| match reading.as_mut().poll(cx) {
            Poll::Pending if worker.shared.is_draining() => Poll::Ready(Ok(0)),
            polled => polled,
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

/// Without hyper's timer for heads: the [`Watch`] does that, and more.
fn http1() -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder.header_read_timeout(None).max_header_size(MAX_HEAD).max_buf_size(4 * MAX_HEAD);
    // Who has said everything may say so, and still wants an answer.
    builder.half_close(true);
    builder
}

fn http2<S: Store + 'static>(worker: &Worker<S>) -> http2::Builder<TokioExecutor> {
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_STREAMS)
        .max_pending_accept_reset_streams(MAX_RESETS)
        .max_local_error_reset_streams(MAX_RESETS)
        .max_header_list_size(u32::try_from(MAX_HEAD).unwrap_or(u32::MAX))
        .max_frame_size(16_384)
        .max_send_buf_size(64 << 10)
        .initial_stream_window_size(WINDOW)
        .initial_connection_window_size(4 * WINDOW)
        .keep_alive_interval(worker.shared.settings.timeouts.idle.max(Duration::from_secs(1)) / 2)
        .keep_alive_timeout(worker.shared.settings.timeouts.header);
    builder
}
