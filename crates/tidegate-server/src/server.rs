//! The server as a whole: bind, run, drain.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;

use tidegate_core::{Clock, StoreError};
use tidegate_engine::Engine;
use tokio::net::TcpListener;

use crate::accept::{accept, listen};
use crate::backend::Backend;
use crate::settings::Settings;
use crate::threads::Threads;
use crate::worker::Shared;

/// A server that is bound to its address and not yet running.
///
/// ```no_run
/// # async fn example<S: tidegate_server::Backend>(
/// #     engine: tidegate_engine::Engine<S>,
/// #     stop: impl Future<Output = ()>,
/// # ) -> std::io::Result<()> {
/// use std::sync::Arc;
/// use tidegate_engine::SystemClock;
/// use tidegate_server::{Server, Settings};
///
/// let server = Server::bind(Settings::default(), Arc::new(engine), SystemClock::new())?;
/// let address = server.local_addr();
/// let drained = server.run(stop).await?;
/// # let _ = (address, drained); Ok(()) }
/// ```
pub struct Server<S> {
    shared: Arc<Shared<S>>,
    listener: std::net::TcpListener,
    address: SocketAddr,
}

/// How a server ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drained {
    /// Connections that were still open after the time for draining, and were cut off.
    pub cut_off: usize,
}

/// What a program does to a server while it runs.
pub struct Handle<S>(Arc<Shared<S>>);

// === impl Server ===

impl<S: Backend> Server<S> {
    /// Binds the address. Connections are accepted from now on and answered once it
    /// [runs](Self::run).
    ///
    /// # Errors
    ///
    /// If the address cannot be bound.
    pub fn bind(
        settings: Settings,
        engine: Arc<Engine<S>>,
        clock: impl Clock + 'static,
    ) -> io::Result<Self> {
        let listener = listen(&settings)?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::new(settings, engine, Arc::new(clock)));
        Ok(Self { shared, listener, address })
    }

    /// The address it listens on; its port is a real one even if port 0 was asked for.
    #[must_use]
    pub const fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// A handle for whoever reloads policies or looks after the store.
    #[must_use]
    pub fn handle(&self) -> Handle<S> {
        Handle(Arc::clone(&self.shared))
    }

    /// Serves until `shutdown` is ready; then accepts no more, finishes what is in progress, and
    /// cuts off what takes longer than the time for draining.
    ///
    /// # Errors
    ///
    /// If the threads cannot be started.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> io::Result<Drained> {
        let Self { shared, listener, .. } = self;
        let listener = TcpListener::from_std(listener)?;
        let mut threads = Threads::start(&shared)?;
        {
            let accepting = pin!(accept(&listener, &shared.admission, |accepted| {
                threads.hand_over(accepted);
            }));
            let shutdown = pin!(shutdown);
            tokio::select! {
                never = accepting => match never {},
                () = shutdown => {}
            }
        }
        shared.drain();
        drop(listener);
        Ok(Drained { cut_off: threads.finish().await })
    }
}

// === impl Handle ===

impl<S> Clone for Handle<S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<S> Handle<S> {
    /// Counts a reload of the policies, for `/metrics`.
    pub fn count_reload(&self, accepted: bool) {
        self.0.count_reload(accepted);
    }

    /// Takes note of how a [probe](tidegate_core::Store::probe) of the store went: until the next
    /// one, `/readyz` says so. A store that nobody probes is taken to work.
    pub fn probed(&self, outcome: Result<(), StoreError>) {
        self.0.probed(outcome);
    }
}
