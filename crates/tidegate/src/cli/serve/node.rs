//! One node: an engine on a store, behind a server, until a signal says to stop.
//!
//! The same code is compiled twice, for counters in memory and for a shared store, so that no decision
//! has to ask which of the two it is.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use tidegate_core::Store;
use tidegate_engine::memory::MemoryStore;
use tidegate_engine::{Engine, Event, Observer, SystemClock};
use tidegate_server::{Server, Settings, WrittenAdmin};
use tidegate_stores::redis::{RedisStore, Target};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Notify;
use tracing::{debug, error, info, warn};

use super::welcome;
use crate::cli::PolicySource;
use crate::cli::failure::{self, ExitFailure};
use crate::config::Config;
use crate::log::LogLevel;
use crate::reload::Reloader;
use crate::store::{self, StoreChoice};

/// Everything that a node is made of, except its store.
pub(super) struct NodeParts<'a> {
    pub(super) source: &'a PolicySource,
    pub(super) config: &'a Config,
    pub(super) settings: Settings,
    pub(super) clock: SystemClock,
}

/// A listener for SIGTERM and SIGINT.
pub(super) struct Stops {
    terminate: Signal,
    interrupt: Signal,
}

// === impl NodeParts ===

impl NodeParts<'_> {
    /// Serves with counters in memory.
    pub(super) async fn on_memory(self, stops: Stops) -> Result<ExitCode, ExitFailure> {
        let store = MemoryStore::try_new(self.config.file.budget(), self.clock.clone())?;
        let engine = Engine::new(store, self.config.policies().clone());
        // Nothing to watch: nobody else changes this store, and it never fails.
        self.serve(engine, stops, StoreChoice::MEMORY, |_| std::future::pending::<Infallible>())
            .await
    }

    /// Serves with counters that the fleet shares.
    pub(super) async fn on_redis(
        self,
        target: Target,
        stops: Stops,
    ) -> Result<ExitCode, ExitFailure> {
        let [current, previous] = self.config.secrets();
        let secret = store::secret(current, previous).map_err(ExitFailure::misconfigured)?;
        let shown = target.to_string();
        let store = store::connected(target, &secret).await?;
        let engine = Engine::new(store, self.config.policies().clone()).sharing(&secret);
        let told: Vec<Box<dyn Observer>> = vec![Box::new(tidegate_tower::report::signals::log)];
        let engine = engine.signalled_to(told).context("starting the observers")?;
        let watch = |engine: Arc<Engine<RedisStore>>| async {
            tokio::select! {
                never = tidegate::tend(Arc::clone(&engine)) => never,
                never = store::watch(engine) => never,
            }
        };
        self.serve(engine, stops, &shown, watch).await
    }

    async fn serve<S: Store + 'static, W: Future<Output = Infallible>>(
        self,
        engine: Engine<S>,
        stops: Stops,
        store: &str,
        watch: impl FnOnce(Arc<Engine<S>>) -> W,
    ) -> Result<ExitCode, ExitFailure> {
        let Self { source, config, settings, clock } = self;
        let (_, level) = config.log();
        let engine = Arc::new(observed(engine, level)?);
        let (listen, admin) = (settings.listen(), settings.admin_listen());
        let token = config.admin_token().map_err(ExitFailure::misconfigured)?;
        let server = Server::bind(settings, Arc::clone(&engine), clock)
            .map_err(|error| cannot_listen(listen, "--listen", &error))?;
        let server = match token {
            Some(token) => {
                let taken = server.local_addr().port() == admin.port();
                server.with_admin(token).map_err(|error| match error.kind() {
                    io::ErrorKind::AddrInUse if taken => anyhow!(
                        "cannot listen for operators on {admin}: decisions are served at this port; \
                         choose another one with --admin-listen 127.0.0.1:{}",
                        Settings::ADMIN_PORT
                    ),
                    _ => cannot_listen(admin, "--admin-listen", &error),
                })?
            }
            None => server,
        };
        let watch = watch(Arc::clone(&engine));
        let reloader = Reloader::start(source, config, engine, server.handle())?;
        welcome::say(source, config, server.local_addr(), store);
        tell_operators(&server, config);
        Ok(run(server, stops, reloader, watch).await?)
    }
}

// === impl Stops ===

impl Stops {
    /// Begins to listen: from now on these signals do not kill the process.
    pub(super) fn listen() -> io::Result<Self> {
        let terminate = signal(SignalKind::terminate())?;
        Ok(Self { terminate, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Waits for one of the signals, and returns its name.
    pub(super) async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}

/// Logs where the admin listener is; warns if it is off although it was configured.
fn tell_operators<S: Store + 'static>(server: &Server<S>, config: &Config) {
    match server.admin_addr() {
        Some(address) => info!(%address, "the admin listener is on"),
        None if config.server().admin != WrittenAdmin::default() => warn!(
            "the admin listener is off: it needs a token, in TIDEGATE_ADMIN_TOKEN or in a file named \
             by --admin-token-file or `server.admin.token_file`"
        ),
        None => {}
    }
}

/// Serves until a signal says to stop, reloading and watching meanwhile.
async fn run<S: Store + 'static>(
    server: Server<S>,
    mut stops: Stops,
    mut reloader: Reloader<'_, S>,
    watch: impl Future<Output = Infallible>,
) -> Result<ExitCode> {
    let stop = Notify::new();
    let mut serving = pin!(server.run(stop.notified()));
    let mut watch = pin!(watch);
    let mut stopping = false;
    loop {
        tokio::select! {
            drained = &mut serving => {
                let cut_off = drained.context("serving")?.cut;
                if cut_off > 0 {
                    warn!(
                        connections = cut_off,
                        "cut off connections that took too long to finish"
                    );
                }
                info!("stopped");
                return Ok(ExitCode::SUCCESS);
            }
            signal = stops.next() => {
                if stopping {
                    warn!(signal, "stopped at once, by a second signal");
                    return Ok(ExitCode::from(failure::FAILED));
                }
                info!(signal, "stopping; requests in progress are finished, a second signal ends them");
                stopping = true;
                stop.notify_one();
            }
            () = reloader.next(), if !stopping => {}
            never = &mut watch => match never {},
        }
    }
}

/// An engine whose events are logged. That has its price for every decision, so it is done only at the
/// levels that show them.
fn observed<S: Store + 'static>(engine: Engine<S>, level: LogLevel) -> Result<Engine<S>> {
    match level {
        LogLevel::Debug | LogLevel::Trace => {
            let observers: Vec<Box<dyn Observer>> = vec![Box::new(log_event)];
            engine.observed_by(observers).context("starting the observers")
        }
        LogLevel::Error | LogLevel::Warn | LogLevel::Info => Ok(engine),
    }
}

/// Logs an event of the engine. Events carry no subject, so neither does the log.
fn log_event(event: &Event) {
    match event {
        Event::Decided { policy, limit, verdict, mode, .. } => {
            let limit = limit.as_ref().map_or("", |limit| limit.as_str());
            debug!(%policy, limit, verdict = verdict.name(), mode = mode.name(), "decided");
        }
        Event::Failed { policy, error } => error!(%policy, %error, "request could not be decided"),
        Event::Settled { settled } => {
            debug!(returned = settled.returned, added = settled.added, "settled");
        }
        Event::StoreFailed { policy, error } => {
            debug!(%policy, trouble = error.name(), "the store has failed a request or a probe");
        }
        // Logged with more detail where they happen or are noticed, and at every level.
        Event::Blocked { .. }
        | Event::Failover { .. }
        | Event::Recreated { .. }
        | Event::Overloaded { .. }
        | Event::Coalesced { .. }
        | Event::Amended { .. }
        | Event::StoreChanged { .. }
        | Event::Reloaded { .. }
        | Event::ReloadRefused { .. } => {}
    }
}

/// The error if an address cannot be bound, with advice about `flag`, which names the address.
fn cannot_listen(address: SocketAddr, flag: &str, error: &io::Error) -> anyhow::Error {
    let advice = match error.kind() {
        io::ErrorKind::AddrInUse => format!(
            "another process listens there; stop it, or choose another port with \
             {flag} 127.0.0.1:7701 (port 0 takes any that is free)"
        ),
        io::ErrorKind::PermissionDenied => {
            format!("ports below 1024 need a privilege; choose a higher one with {flag}")
        }
        io::ErrorKind::AddrNotAvailable => "this machine does not have that address; 127.0.0.1 is \
                                            this machine alone, 0.0.0.0 every address it has"
            .to_owned(),
        _ => format!("choose another address with {flag}"),
    };
    anyhow!("cannot listen on {address}: {error}; {advice}")
}
