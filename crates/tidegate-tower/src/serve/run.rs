//! Accepting, serving, and stopping.

use core::future::{Future, poll_fn};
use core::pin::pin;
use core::task::Poll;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tower_service::Service;

use super::admission::{Admission, NotServed, accept};
use super::bounds::Bounds;
use super::connection::{self, Accepted, Common};
use super::host::{BoxError, Each, Host};
use super::lanes::Lanes;
use super::memory::{Memory, MemoryAllowance};
use super::upload::Upload;
use super::watch::Watches;

/// Serves connections within [`Bounds`]. Clones count their connections together.
#[derive(Clone, Debug)]
pub struct Serve {
    common: Common,
    admission: Arc<Admission>,
}

/// The result of serving, when it has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Stopped {
    /// How many connections were cut off because they did not finish in time.
    pub cut: usize,
}

/// The connections that the operating system keeps until they are accepted.
const BACKLOG: i32 = 4096;

/// Listens on an address, with room for a burst of connections.
///
/// # Errors
///
/// If the address cannot be bound.
pub fn listen(address: SocketAddr) -> io::Result<std::net::TcpListener> {
    let domain = socket2::Domain::for_address(address);
    let socket = socket2::Socket::new(domain, socket2::Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

// === impl Serve ===

impl Serve {
    /// A server within these bounds.
    #[must_use]
    pub fn new(bounds: Bounds) -> Self {
        let admission = Admission::new(&bounds);
        let memory = Memory::new(bounds.heads_memory, bounds.bodies_memory, bounds.answers_memory);
        let allowance = MemoryAllowance::Ordinary;
        Self { common: Common { bounds: Arc::new(bounds), memory, allowance }, admission }
    }

    /// A server within these bounds, for a second listener of the same process: its connections hold
    /// memory together with those of `other`, whose bounds say how much there is, and may have a sixteenth
    /// on top of it. So operators are answered when everybody else has used up what there is.
    #[must_use]
    pub fn beside(other: &Self, bounds: Bounds) -> Self {
        let admission = Admission::new(&bounds);
        let memory = Arc::clone(&other.common.memory);
        let allowance = MemoryAllowance::Beside;
        Self { common: Common { bounds: Arc::new(bounds), memory, allowance }, admission }
    }

    /// Serves the connections of a listener, HTTP/1.1 or HTTP/2 with prior knowledge, until `stop`; then
    /// requests under way may finish. If the future is dropped, everything is cut off.
    ///
    /// # Errors
    ///
    /// If [threads](Bounds::threads) were asked for and cannot be started.
    pub async fn run<V, B>(
        &self,
        listener: TcpListener,
        service: V,
        stop: impl Future<Output = ()>,
    ) -> io::Result<Stopped>
    where
        V: Service<Request<Upload>, Response = Response<B>> + Clone + Send + 'static,
        V::Future: Send,
        V::Error: Into<BoxError>,
        B: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    {
        self.run_host(listener, Each(service), stop).await
    }

    /// Serves as [`run`](Self::run) does, with a service of its own for each connection.
    ///
    /// # Errors
    ///
    /// If [threads](Bounds::threads) were asked for and cannot be started.
    pub async fn run_host<H: Host>(
        &self,
        listener: TcpListener,
        host: H,
        stop: impl Future<Output = ()>,
    ) -> io::Result<Stopped> {
        let lanes = Lanes::start(&self.common, &host)?;
        // Dropped here, so that the host need not be shareable between threads.
        drop(host);
        {
            let hand_on = |accepted| lanes.hand_over(accepted);
            let mut accepting = pin!(accept(&listener, &self.admission, hand_on));
            let mut stop = pin!(stop);
            poll_fn(|context| match stop.as_mut().poll(context) {
                Poll::Ready(()) => Poll::Ready(()),
                Poll::Pending => accepting.as_mut().poll(context).map(|never| match never {}),
            })
            .await;
        }
        drop(listener);
        Ok(Stopped { cut: lanes.finish().await })
    }

    /// Serves one connection that was accepted elsewhere, a TLS stream for instance, until it ends;
    /// after `stop` it may finish requests under way. It counts with the other connections, and is
    /// closed if there are too many.
    pub async fn connection<I, V, B>(
        &self,
        stream: I,
        peer: SocketAddr,
        service: V,
        stop: impl Future<Output = ()>,
    ) where
        I: AsyncRead + AsyncWrite + Send + Unpin + 'static,
        V: Service<Request<Upload>, Response = Response<B>> + Clone + Send + 'static,
        V::Future: Send,
        V::Error: Into<BoxError>,
        B: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    {
        let Some(permit) = self.admission.admit(peer.ip()) else { return };
        let watches = Watches::new(&self.common.bounds);
        let accepted = Accepted { stream, peer, local: None, permit };
        let watch = watches.begin();
        let leaving = async {
            stop.await;
            watch.leave();
            core::future::pending::<()>().await;
        };
        tokio::select! {
            biased;
            () = leaving => {}
            () = connection::serve(&self.common, Each(service), accepted, &watch) => {}
            () = watches.sweep() => {}
        }
    }

    /// How many connections are open.
    #[must_use]
    pub fn open(&self) -> usize {
        self.admission.open()
    }

    /// How many connections were refused for this reason.
    #[must_use]
    pub fn refused(&self, reason: NotServed) -> u64 {
        self.admission.refused(reason)
    }

    /// The memory that the connections of this server hold.
    #[must_use]
    pub const fn memory(&self) -> &Arc<Memory> {
        &self.common.memory
    }
}
