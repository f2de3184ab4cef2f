//! The server as a whole: bind, run, drain.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use tidegate_core::Clock;
use tidegate_engine::Engine;
use tidegate_tower::admin::{AdminGuard, AdminToken};
use tidegate_tower::serve::{Serve, Stopped, listen};
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::service::{Desk, ListenerSide, Oracle};
use crate::settings::Settings;
use crate::state::ServerState;
use tidegate_core::Store;

/// A server that is bound to its address and not yet running.
///
/// ```no_run
/// # async fn example<S: tidegate_core::Store + 'static>(
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
    shared: Arc<ServerState<S>>,
    listener: std::net::TcpListener,
    address: SocketAddr,
    admin: Option<AdminListener>,
}

/// The listener for operators, and the guard that checks their token.
struct AdminListener {
    listener: std::net::TcpListener,
    guard: Arc<AdminGuard>,
}

/// A handle by which a program reports to its server while it runs.
pub struct Handle<S>(Arc<ServerState<S>>);

// === impl Server ===

impl<S: Store + 'static> Server<S> {
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
        let listener = listen(settings.listen)?;
        let address = listener.local_addr()?;
        let shared = Arc::new(ServerState::new(settings, engine, Arc::new(clock)));
        Ok(Self { shared, listener, address, admin: None })
    }

    /// Binds the admin listener as well, for operators who know the token. Without this call there is
    /// none.
    ///
    /// # Errors
    ///
    /// If [its address](Settings::admin_listen) cannot be bound.
    pub fn with_admin(mut self, token: AdminToken) -> io::Result<Self> {
        let listener = listen(self.shared.settings.admin_listen)?;
        let guard = Arc::new(AdminGuard::try_new(token).map_err(io::Error::other)?);
        self.admin = Some(AdminListener { listener, guard });
        Ok(self)
    }

    /// The address of the admin listener, if there is one.
    #[must_use]
    pub fn admin_addr(&self) -> Option<SocketAddr> {
        self.admin.as_ref()?.listener.local_addr().ok()
    }

    /// The address that the server listens on; its port is a real one even if port 0 was asked for.
    #[must_use]
    pub const fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// The decision server as a tower service, to be served beside another service: by
    /// [`Serve`](tidegate_tower::serve::Serve), or by any server that the program has.
    #[must_use]
    pub fn service(&self) -> Oracle<S> {
        Oracle::new(&self.shared)
    }

    /// A handle for the part of the program that reloads policies.
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
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> io::Result<Stopped> {
        let Self { shared, listener, admin, .. } = self;
        let listener = TcpListener::from_std(listener)?;
        let (stopping, stopped) = watch::channel(());
        let stop = |mut stopped: watch::Receiver<()>| async move { drop(stopped.changed().await) };
        let desk = Desk::new(&shared, ListenerSide::Main);
        let serving = shared.serve.run_host(listener, desk, stop(stopped.clone()));
        let operators = async {
            match admin {
                Some(admin) => admin.serve(&shared, stop(stopped)).await,
                None => Ok(Stopped { cut: 0 }),
            }
        };
        let stopping = async {
            shutdown.await;
            shared.draining.store(true, Relaxed);
            // Wakes the listeners; this fails only if none of them waits.
            let _ = stopping.send(());
        };
        let (serving, operators, ()) = tokio::join!(serving, operators, stopping);
        Ok(Stopped { cut: serving?.cut + operators?.cut })
    }
}

// === impl AdminListener ===

impl AdminListener {
    /// Serves operators on the runtime that runs the server, not on the serving threads: operators are
    /// few, and must not wait while those threads are busy.
    async fn serve<S: Store + 'static>(
        self,
        shared: &Arc<ServerState<S>>,
        stop: impl Future<Output = ()>,
    ) -> io::Result<Stopped> {
        let listener = TcpListener::from_std(self.listener)?;
        // What operators are sent counts with what everybody is sent, for the process.
        let serve = Serve::beside(&shared.serve, shared.settings.admin_bounds());
        serve.run_host(listener, Desk::new(shared, ListenerSide::Admin(self.guard)), stop).await
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
        self.0.reloads[usize::from(accepted)].add_one();
    }
}
