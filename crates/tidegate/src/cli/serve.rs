//! `tidegate serve`: decisions over HTTP until it is told to stop.

mod stop;
mod welcome;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use tidegate_engine::memory::MemoryStore;
use tidegate_engine::{Engine, Event, Observer, SystemClock};
use tidegate_server::{Server, Settings};
use tokio::sync::Notify;
use tracing::{debug, error, info, warn};

use super::failure::{self, Failure};
use super::source::Source;
use crate::config::{Config, Overlay};
use crate::log::{self, Level};
use crate::reload::Reloader;
use stop::Stops;

/// Serve decisions over HTTP; what happens without a command
///
/// Reads the policies of --config FILE, or serves a built-in example. A change of the file takes
/// effect when it is saved, or on SIGHUP; a file that is wrong is refused, with the reason in the
/// log, and the policies in force stay. SIGTERM and SIGINT finish the requests in progress and end; a
/// second one ends at once.
///
/// Flags come before the environment, the environment before the file.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  tidegate serve
  tidegate serve --config policies.yaml --listen 0.0.0.0:7700
  TIDEGATE_CONFIG=policies.yaml TIDEGATE_LOG_FORMAT=json tidegate

Ask for a decision:
  curl http://127.0.0.1:7700/v1/decide -H content-type:application/json \\
    -d '{\"policy\":\"api\",\"subject\":{\"org\":\"acme\"}}'

Also there: /v1/peek, /v1/decide/batch, /v1/settle, /v1/policies, /v1/explain/{policy},
/v1/gate/{policy} for reverse proxies, /livez, /readyz, /metrics, /openapi.json")]
pub(super) struct Args {
    /// The policy file [default: a built-in example]
    #[arg(short, long, value_name = "FILE", env = "TIDEGATE_CONFIG")]
    config: Option<PathBuf>,
    /// Where to listen [default: what the file says, or 127.0.0.1:7700]
    #[arg(short, long, value_name = "ADDRESS", env = "TIDEGATE_LISTEN")]
    listen: Option<SocketAddr>,
    /// How many threads answer [default: what the file says, or one for each core]
    #[arg(short, long, value_name = "N", env = "TIDEGATE_THREADS")]
    threads: Option<usize>,
    /// How the log looks [default: what the file says, or human]
    #[arg(long, value_name = "FORMAT", value_enum, env = "TIDEGATE_LOG_FORMAT")]
    log_format: Option<log::Format>,
    /// How much is logged [default: what the file says, or info]
    #[arg(long, value_name = "LEVEL", value_enum, env = "TIDEGATE_LOG_LEVEL")]
    log_level: Option<Level>,
    /// One runtime for all threads, as `cargo xtask bench server` compares it
    #[arg(long, hide = true)]
    one_runtime: bool,
}

type InMemory = MemoryStore<SystemClock>;

pub(super) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let overlay = Overlay {
        listen: args.listen,
        threads: args.threads,
        format: args.log_format,
        level: args.log_level,
    };
    let source = Source::file_or_built_in(args.config.as_ref());
    match Config::load(&source).map_err(Failure::misconfigured) {
        Ok(config) => {
            let (format, level) = config.log(&overlay);
            let log = log::start(format, level, SystemClock::new())?;
            let served = start(&source, &config, overlay, args.one_runtime);
            let told = served.or_else(|failure| tell(failure, format));
            log.finish();
            told
        }
        Err(failure) => tell(failure, overlay.format.unwrap_or_default()),
    }
}

/// Tells why it cannot serve: where logs are JSON, as one of them.
fn tell(failure: Failure, format: log::Format) -> Result<ExitCode, Failure> {
    match format {
        log::Format::Human => Err(failure),
        log::Format::Json => {
            let log = log::start(format, Level::default(), SystemClock::new())?;
            error!(diagnostic = %failure, "cannot serve");
            log.finish();
            Ok(ExitCode::from(failure.code()))
        }
    }
}

fn start(
    source: &Source,
    config: &Config,
    overlay: Overlay,
    one_runtime: bool,
) -> Result<ExitCode, Failure> {
    let settings = Settings::try_new(&config.server(&overlay)).map_err(Failure::misconfigured)?;
    let settings = if one_runtime { settings.with_one_runtime() } else { settings };
    let (format, level) = config.log(&overlay);
    let clock = SystemClock::new();
    raise_descriptors(settings.max_connections());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let served = runtime.block_on(async {
        // Before anybody can know that we are there, and send one.
        let stops = Stops::listen().context("listening for signals")?;
        let engine = Arc::new(engine(config, level, clock.clone())?);
        let listen = settings.listen();
        let server = Server::bind(settings, Arc::clone(&engine), clock)
            .map_err(|error| cannot_listen(listen, &error))?;
        let reloader = Reloader::start(source, config, overlay, engine, server.handle())?;
        welcome::say(format, source, config.policies(), server.local_addr());
        serve(server, stops, reloader).await
    });
    // A file that is being read, from wherever it is, is nothing to wait for.
    runtime.shutdown_background();
    Ok(served?)
}

/// Lets the process have as many descriptors as it may: shells hand out far fewer than there may be
/// connections.
fn raise_descriptors(connections: usize) {
    // Besides the connections: listeners, runtimes, the file and the log.
    const OTHERS: u64 = 64;
    let wanted = u64::try_from(connections).unwrap_or(u64::MAX).saturating_add(OTHERS);
    match rlimit::increase_nofile_limit(u64::MAX) {
        Ok(most) if most >= wanted => {}
        Ok(most) => warn!(
            descriptors = most,
            connections, "fewer descriptors than connections; raise the hard limit (ulimit -Hn)"
        ),
        Err(error) => warn!(%error, "cannot raise the number of descriptors"),
    }
}

/// Serves until a signal says to stop, reloading meanwhile.
async fn serve(
    server: Server<InMemory>,
    mut stops: Stops,
    mut reloader: Reloader<InMemory>,
) -> Result<ExitCode> {
    let stop = Notify::new();
    let mut serving = pin!(server.run(stop.notified()));
    let mut stopping = false;
    loop {
        tokio::select! {
            drained = &mut serving => {
                let cut_off = drained.context("serving")?.cut_off;
                if cut_off > 0 {
                    warn!(connections = cut_off, "cut off what took too long to finish");
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
        }
    }
}

fn engine(config: &Config, level: Level, clock: SystemClock) -> Result<Engine<InMemory>> {
    let store = MemoryStore::try_new(config.budget(), clock)?;
    let engine = Engine::new(store, config.policies().clone());
    // Telling has its price for every decision, so it is done only for who listens.
    match level {
        Level::Debug | Level::Trace => {
            let observers: Vec<Box<dyn Observer>> = vec![Box::new(log_event)];
            engine.observed_by(observers).context("starting the observers")
        }
        Level::Error | Level::Warn | Level::Info => Ok(engine),
    }
}

/// Logs what happened. Events carry no subject, so neither does the log.
fn log_event(event: &Event) {
    match event {
        Event::Decided { policy, limit, verdict, mode, .. } => {
            let limit = limit.as_ref().map_or("", |limit| limit.as_str());
            debug!(%policy, limit, verdict = verdict.name(), mode = mode.name(), "decided");
        }
        Event::Failed { policy, error } => error!(%policy, %error, "not decided"),
        Event::Settled { settled } => {
            debug!(returned = settled.returned, added = settled.added, "settled");
        }
        // Said with more detail where it is done.
        Event::StoreChanged { .. } | Event::Reloaded { .. } | Event::ReloadRefused { .. } => {}
    }
}

/// Why the address cannot be had, and what to do.
fn cannot_listen(address: SocketAddr, error: &io::Error) -> anyhow::Error {
    let advice = match error.kind() {
        io::ErrorKind::AddrInUse => {
            "another process listens there; stop it, or choose another port with \
             --listen 127.0.0.1:7701 (port 0 takes any that is free)"
        }
        io::ErrorKind::PermissionDenied => {
            "ports below 1024 need a privilege; choose a higher one with --listen"
        }
        io::ErrorKind::AddrNotAvailable => {
            "this machine does not have that address; 127.0.0.1 is this machine alone, 0.0.0.0 every \
             address it has"
        }
        _ => "choose another address with --listen",
    };
    anyhow!("cannot listen on {address}: {error}; {advice}")
}
