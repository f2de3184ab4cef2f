//! The server as a whole: bind, run, drain.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;

use tidegate_core::Clock;
use tidegate_engine::Engine;
use tokio::net::TcpListener;

use crate::accept::{Accepted, Admission, Side, accept, listen};
use crate::admin::{AdminToken, Guard};
use crate::settings::Settings;
use crate::threads::Threads;
use crate::worker::Shared;
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
    shared: Arc<Shared<S>>,
    listener: std::net::TcpListener,
    address: SocketAddr,
    admin: Option<AdminListener>,
}

/// Where operators come, and how many connections they have.
struct AdminListener {
    listener: std::net::TcpListener,
    address: SocketAddr,
    guard: Arc<Guard>,
    admission: Arc<Admission>,
}

/// How a server ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drained {
    /// Connections that were still open after the time for draining, and were cut off.
    pub cut_off: usize,
}

/// Connections of operators: of their own, so that whoever asks for decisions cannot take them, and few.
const ADMIN_CONNECTIONS: usize = 64;
/// Those of one address, so that one who only knocks leaves some for others.
const ADMIN_CONNECTIONS_PER_ADDRESS: usize = 32;

/// What a program does to a server while it runs.
pub struct Handle<S>(Arc<Shared<S>>);

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
        let shared = Arc::new(Shared::new(settings, engine, Arc::new(clock)));
        Ok(Self { shared, listener, address, admin: None })
    }

    /// Binds the admin listener as well, for those who know the token. Without this there is none.
    ///
    /// # Errors
    ///
    /// If [its address](Settings::admin_listen) cannot be bound.
    pub fn with_admin(mut self, token: AdminToken) -> io::Result<Self> {
        let listener = listen(self.shared.settings.admin_listen)?;
        let address = listener.local_addr()?;
        let guard = Arc::new(Guard::try_new(token).map_err(io::Error::other)?);
        let admission = Admission::new(ADMIN_CONNECTIONS, Some(ADMIN_CONNECTIONS_PER_ADDRESS));
        self.admin = Some(AdminListener { listener, address, guard, admission });
        Ok(self)
    }

    /// The address of the admin listener, if there is one.
    #[must_use]
    pub fn admin_addr(&self) -> Option<SocketAddr> {
        self.admin.as_ref().map(|admin| admin.address)
    }

    /// The address it listens on; its port is a real one even if port 0 was asked for.
    #[must_use]
    pub const fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// A handle for whoever reloads policies.
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
        let Self { shared, listener, admin, .. } = self;
        let listener = TcpListener::from_std(listener)?;
        let threads = Threads::start(&shared)?;
        {
            let hand_on = |accepted| threads.hand_over(accepted);
            let accepting = pin!(accept(&listener, &Side::Main, &shared.admission, hand_on));
            let operators = pin!(async {
                match admin {
                    Some(admin) => admin.accept(hand_on).await,
                    None => std::future::pending().await,
                }
            });
            let shutdown = pin!(shutdown);
            tokio::select! {
                never = accepting => match never {},
                ended = operators => match ended? {},
                () = shutdown => {}
            }
        }
        shared.drain();
        drop(listener);
        Ok(Drained { cut_off: threads.finish().await })
    }
}

// === impl AdminListener ===

impl AdminListener {
    async fn accept(self, hand_on: impl FnMut(Accepted)) -> io::Result<Infallible> {
        let listener = TcpListener::from_std(self.listener)?;
        Ok(accept(&listener, &Side::Admin(self.guard), &self.admission, hand_on).await)
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
}
