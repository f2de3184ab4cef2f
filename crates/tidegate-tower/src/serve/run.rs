//! Accepting, serving, and stopping.

use core::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

use http::{Request, Response};
use http_body::Body;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tower_service::Service;

use super::bounds::Bounds;
use super::upload::Upload;
use super::{BoxError, connection};
use crate::accept::{Admission, Refused, accept};

/// Serves connections within [`Bounds`]. Clones count together.
#[derive(Clone, Debug)]
pub struct Serve {
    bounds: Arc<Bounds>,
    admission: Arc<Admission>,
}

/// How serving has come to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Stopped {
    /// How many connections were cut off because they did not finish in time.
    pub cut: usize,
}

// === impl Serve ===

impl Serve {
    /// Serves within these bounds.
    #[must_use]
    pub fn new(bounds: Bounds) -> Self {
        let admission = Admission::new(bounds.connections, Some(bounds.of_one));
        Self { bounds: Arc::new(bounds), admission }
    }

    /// Serves what comes to a listener, HTTP/1.1 or HTTP/2 with prior knowledge, until `stop`; then what
    /// is under way may finish. Dropped, it cuts off everything.
    pub async fn run<V, B>(
        &self,
        listener: TcpListener,
        service: V,
        stop: impl Future<Output = ()>,
    ) -> Stopped
    where
        V: Service<Request<Upload>, Response = Response<B>> + Clone + Send + 'static,
        V::Future: Send,
        V::Error: Into<BoxError>,
        B: Body<Data: Send, Error: Into<BoxError>> + Send + 'static,
    {
        let (stopping, told) = watch::channel(());
        // As long as the list of connections.
        let mut open = JoinSet::new();
        let accepting = accept(&listener, &self.admission, |stream, peer, permit| {
            // A panic has ended its own connection, and that is all.
            while open.try_join_next().is_some() {}
            let (bounds, service) = (Arc::clone(&self.bounds), service.clone());
            let mut told = told.clone();
            open.spawn(async move {
                let stop = async move { drop(told.changed().await) };
                ended(connection::serve(&bounds, stream, peer, service, stop).await);
                drop(permit);
            });
        });
        tokio::select! {
            () = stop => {}
            never = accepting => match never {},
        }
        drop(listener);
        // Whoever waits is woken; it fails only if nobody does.
        let _ = stopping.send(());
        let all = async { while open.join_next().await.is_some() {} };
        let _ = timeout(self.bounds.drain, all).await;
        Stopped { cut: open.len() }
    }

    /// Serves one connection that was accepted elsewhere, a TLS stream for instance, until it ends; after
    /// `stop` it may finish what is under way. It counts with the others, and is closed if there are too
    /// many.
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
        B: Body<Data: Send, Error: Into<BoxError>> + Send + 'static,
    {
        let Some(_permit) = self.admission.admit(peer.ip()) else { return };
        ended(connection::serve(&self.bounds, stream, peer, service, stop).await);
    }

    /// How many connections are open.
    #[must_use]
    pub fn open(&self) -> usize {
        self.admission.open()
    }

    /// How many connections were refused for this reason.
    #[must_use]
    pub fn refused(&self, reason: Refused) -> u64 {
        self.admission.refused(reason)
    }
}

impl Default for Serve {
    fn default() -> Self {
        Self::new(Bounds::default())
    }
}

fn ended(served: std::io::Result<()>) {
    if let Err(error) = served {
        // The kind and not the text: what a client sent is in neither.
        tracing::debug!(kind = ?error.kind(), "connection ended");
    }
}
