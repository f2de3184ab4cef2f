//! One connection, from the first byte to the last.

use core::future::{Future, poll_fn};
use core::pin::{Pin, pin};
use core::task::Poll;
use std::io::{Error, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use http_body::Body;
use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::time::{sleep, timeout};
use tower_service::Service;

use super::BoxError;
use super::bounds::Bounds;
use super::door::Door;
use super::pulse::{Phase, Pulse};
use super::socket::Socket;
use super::upload::Upload;

/// What an HTTP/2 client with prior knowledge begins with.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// What an HTTP/2 client may send before it has been read, on one stream; four times that on all.
const WINDOW: u32 = 64 << 10;

/// Serves a connection until it ends, takes too long, or is told to stop.
pub(super) async fn serve<I, V, B>(
    bounds: &Bounds,
    mut stream: I,
    peer: SocketAddr,
    service: V,
    stop: impl Future<Output = ()>,
) -> Result<(), Error>
where
    I: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    V: Service<Request<Upload>, Response = Response<B>> + Clone + Send + 'static,
    V::Future: Send,
    V::Error: Into<BoxError>,
    B: Body<Data: Send, Error: Into<BoxError>> + Send + 'static,
{
    let mut stop = pin!(stop);
    let mut first = Vec::with_capacity(1024);
    let sniffing = timeout(bounds.header_timeout, sniff(&mut stream, &mut first));
    let protocol = tokio::select! {
        protocol = sniffing => protocol??,
        () = stop.as_mut() => None,
    };
    let Some(protocol) = protocol else { return Ok(()) };
    let plain = protocol == Protocol::Http1;
    let pulse = Arc::new(Pulse::default());
    if plain {
        // What has come begins a head.
        pulse.read();
    }
    let body_timeout = bounds.body_timeout;
    let door = Door { service, peer, body_timeout, pulse: Arc::clone(&pulse) };
    let socket = TokioIo::new(Socket::new(stream, Arc::clone(&pulse), plain, first));
    let watched = Watched { bounds, pulse: &pulse, stop };
    match protocol {
        Protocol::Http1 => {
            let connection = pin!(http1(bounds).serve_connection(socket, door));
            watched.until_over(connection, http1::Connection::graceful_shutdown).await
        }
        Protocol::Http2 => {
            let connection = pin!(http2(bounds).serve_connection(socket, door));
            watched.until_over(connection, http2::Connection::graceful_shutdown).await
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Http1,
    Http2,
}

/// Reads until it is clear which protocol the client speaks; `None` if it goes away without a word.
async fn sniff<I: AsyncRead + Unpin>(
    stream: &mut I,
    first: &mut Vec<u8>,
) -> Result<Option<Protocol>, Error> {
    loop {
        let count = stream.read_buf(first).await?;
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

/// Without hyper's own timer for heads: it runs while a connection is idle too, and the time for a head
/// would be the time between requests.
fn http1(bounds: &Bounds) -> http1::Builder {
    let head = usize::try_from(bounds.head).unwrap_or(usize::MAX);
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(None)
        .max_headers(bounds.headers)
        .max_header_size(head)
        .max_buf_size(head.saturating_mul(4));
    builder
}

fn http2(bounds: &Bounds) -> http2::Builder<TokioExecutor> {
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(bounds.streams)
        .max_pending_accept_reset_streams(bounds.resets)
        .max_local_error_reset_streams(bounds.resets)
        .max_header_list_size(bounds.head)
        .max_frame_size(16_384)
        .max_send_buf_size(64 << 10)
        .initial_stream_window_size(WINDOW)
        .initial_connection_window_size(4 * WINDOW)
        .keep_alive_interval(bounds.idle_timeout.max(Duration::from_secs(1)) / 2)
        .keep_alive_timeout(bounds.header_timeout);
    builder
}

/// Looks at the time while a connection is served.
struct Watched<'a, F> {
    bounds: &'a Bounds,
    pulse: &'a Pulse,
    stop: Pin<&'a mut F>,
}

// === impl Watched ===

impl<F: Future<Output = ()>> Watched<'_, F> {
    /// Lets a connection go on for as long as it may stay at what it is at.
    async fn until_over<C: Future<Output = hyper::Result<()>>>(
        mut self,
        mut connection: Pin<&mut C>,
        tell: impl Fn(Pin<&mut C>),
    ) -> Result<(), Error> {
        let mut seen = self.pulse.look();
        let mut timer = pin!(sleep(self.patience(seen.0)));
        // Whether it was told that there will be no more requests.
        let mut told = false;
        poll_fn(|context| {
            if !told && self.stop.as_mut().poll(context).is_ready() {
                told = true;
                tell(connection.as_mut());
            }
            if let Poll::Ready(ended) = connection.as_mut().poll(context) {
                return Poll::Ready(ended.map_err(Error::other));
            }
            let now = self.pulse.look();
            if now != seen {
                seen = now;
                timer.set(sleep(self.patience(now.0)));
            }
            while timer.as_mut().poll(context).is_ready() {
                match now.0 {
                    // The service takes its time.
                    Phase::Busy => timer.set(sleep(self.bounds.idle_timeout)),
                    // In peace first: a request could be on its way.
                    Phase::Idle if !told => {
                        told = true;
                        tell(connection.as_mut());
                        timer.set(sleep(self.bounds.header_timeout));
                        context.waker().wake_by_ref();
                    }
                    _ => return Poll::Ready(Err(ErrorKind::TimedOut.into())),
                }
            }
            Poll::Pending
        })
        .await
    }

    const fn patience(&self, phase: Phase) -> Duration {
        match phase {
            Phase::Head => self.bounds.header_timeout,
            Phase::Idle | Phase::Busy | Phase::Stuck => self.bounds.idle_timeout,
        }
    }
}
