//! `tidegate serve`: decisions over HTTP until a signal ends it.

mod node;
mod stop;
mod welcome;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use tidegate_engine::SystemClock;
use tidegate_server::{Host, Settings};
use tracing::{error, warn};

use super::environment;
use super::failure::Failure;
use super::source::Source;
use crate::config::{Config, Overlay};
use crate::log::{self, Level};
use crate::store::{Choice, Hidden};
use crate::token;
use crate::warnings;
use node::Node;
use stop::Stops;

/// Serve decisions over HTTP; what happens without a command
///
/// Reads the policies of --config FILE, or serves a built-in example. A change of the file takes
/// effect when it is saved, or on SIGHUP; a file that is wrong is refused, with the reason in the
/// log, and the policies in force stay. SIGTERM and SIGINT finish the requests in progress and end; a
/// second one ends at once.
///
/// Counters are in memory unless --store names servers that a fleet shares; then every node has the
/// same secret, in `TIDEGATE_SECRET` or --secret-file.
///
/// Operators block, unblock and reset over a listener of their own, which is off unless there is a
/// token for it; `tidegate block --help` shows how.
///
/// Flags come before the environment, the environment before the file.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  tidegate serve
  tidegate serve --config policies.yaml --listen 0.0.0.0:7700 --hosts tidegate
  TIDEGATE_CONFIG=policies.yaml TIDEGATE_LOG_FORMAT=json tidegate
  TIDEGATE_SECRET=$(cat fleet.secret) tidegate serve --store redis://10.0.0.5:6379
  TIDEGATE_ADMIN_TOKEN=$(cat admin.token) tidegate serve

A store:
  memory                                           in this process
  redis://[user:password@]host[:port][/db]         one Redis or Valkey
  redis+sentinel://host[:port][,...]/name          the primary that Sentinel names
  redis+cluster://host[:port][,...]                a cluster
  rediss instead of redis                          the same over TLS
  ?timeout=250ms                                   for a whole call

Ask for a decision:
  curl http://127.0.0.1:7700/v1/decide -H content-type:application/json \\
    -d '{\"policy\":\"api\",\"subject\":{\"org\":\"acme\"}}'

Also there: /v1/peek, /v1/decide/batch, /v1/settle, /v1/policies, /v1/explain/{policy},
/v1/gate/{policy} for reverse proxies, /livez, /readyz, /metrics, /openapi.json")]
pub(super) struct Args {
    /// The policy file [default: a built-in example]
    #[arg(short, long, value_name = "FILE", env = "TIDEGATE_CONFIG")]
    config: Option<PathBuf>,
    #[arg(short, long, value_name = "NAME", help = environment::HELP)]
    environment: Option<String>,
    /// Where to listen [default: what the file says, or 127.0.0.1:7700]
    #[arg(short, long, value_name = "ADDRESS", env = "TIDEGATE_LISTEN")]
    listen: Option<SocketAddr>,
    /// The names that requests may use for the server, with commas between them [default: what the
    /// file says, or localhost and the loopback addresses]
    #[arg(long, value_name = "NAMES", env = "TIDEGATE_HOSTS", value_delimiter = ',')]
    hosts: Option<Vec<Host>>,
    /// How many threads answer [default: what the file says, or one for each core]
    #[arg(short, long, value_name = "N", env = "TIDEGATE_THREADS")]
    threads: Option<usize>,
    /// Where counters are kept: memory, or a URL [default: what the file says, or memory]
    #[arg(long, value_name = "URL", env = "TIDEGATE_STORE", hide_env_values = true)]
    store: Option<Hidden>,
    /// The file with the secret of the fleet, for a shared store [default: the secret in
    /// `TIDEGATE_SECRET`, or the file that the policy file names]
    #[arg(long, value_name = "FILE")]
    secret_file: Option<PathBuf>,
    /// The file with the previous secret, while the secret is being changed [default: the secret in
    /// `TIDEGATE_SECRET_PREVIOUS`, or the file that the policy file names]
    #[arg(long, value_name = "FILE")]
    previous_secret_file: Option<PathBuf>,
    /// Where to listen for operators, if there is a token [default: what the file says, or
    /// 127.0.0.1:7707]
    #[arg(long, value_name = "ADDRESS", env = "TIDEGATE_ADMIN_LISTEN")]
    admin_listen: Option<SocketAddr>,
    /// The file with the token of operators [default: the token in `TIDEGATE_ADMIN_TOKEN`, or the
    /// file that the policy file names; without a token there is no admin listener]
    #[arg(long, value_name = "FILE")]
    admin_token_file: Option<PathBuf>,
    /// Let operators come from other machines; their token is sent without TLS
    #[arg(long)]
    admin_allow_remote: bool,
    /// How the log looks [default: what the file says, or human]
    #[arg(long, value_name = "FORMAT", value_enum, env = "TIDEGATE_LOG_FORMAT")]
    log_format: Option<log::Format>,
    /// How much is logged [default: what the file says, or info]
    #[arg(long, value_name = "LEVEL", value_enum, env = "TIDEGATE_LOG_LEVEL")]
    log_level: Option<Level>,
}

pub(super) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let overlay = Overlay {
        environment: environment::chosen(args.environment.as_ref()),
        store: args.store.clone(),
        secret: Hidden::of_environment("TIDEGATE_SECRET").map_err(Failure::misconfigured)?,
        secret_file: args.secret_file.clone(),
        previous_secret: Hidden::of_environment("TIDEGATE_SECRET_PREVIOUS")
            .map_err(Failure::misconfigured)?,
        previous_secret_file: args.previous_secret_file.clone(),
        listen: args.listen,
        hosts: args.hosts.clone(),
        admin_listen: args.admin_listen,
        admin_allow_remote: args.admin_allow_remote,
        admin_token: Hidden::of_environment(token::VARIABLE).map_err(Failure::misconfigured)?,
        admin_token_file: args.admin_token_file.clone(),
        threads: args.threads,
        format: args.log_format,
        level: args.log_level,
    };
    let source = Source::file_or_built_in(args.config.as_ref());
    match Config::load(&source, overlay.environment.as_deref()).map_err(Failure::misconfigured) {
        Ok(config) => {
            let (format, level) = config.log(&overlay);
            let log = log::start(format, level, SystemClock::new())?;
            let served = start(&source, &config, &overlay);
            let told = served.or_else(|failure| tell(failure, format));
            log.finish();
            told
        }
        Err(failure) => tell(failure, overlay.format.unwrap_or_default()),
    }
}

/// Reports why the process cannot serve: as a line of the log if the log is JSON.
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

fn start(source: &Source, config: &Config, overlay: &Overlay) -> Result<ExitCode, Failure> {
    let settings = Settings::try_new(&config.server(overlay)).map_err(Failure::misconfigured)?;
    let store = config.store(overlay).map_err(Failure::misconfigured)?;
    warnings::tell(config, overlay, &settings, &store);
    raise_descriptors(settings.max_connections());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let served = runtime.block_on(async {
        // Before anybody can know that the process is there, and send it a signal.
        let stops = Stops::listen().context("listening for signals")?;
        let node = Node { source, config, overlay, settings, clock: SystemClock::new() };
        match store {
            Choice::Memory => node.on_memory(stops).await,
            Choice::Redis(target) => node.on_redis(*target, stops).await,
        }
    });
    // A policy file that is still being read is nothing to wait for.
    runtime.shutdown_background();
    served
}

/// Raises the limit on descriptors as far as it may be: shells hand out far fewer than there may be
/// connections.
fn raise_descriptors(connections: usize) {
    // Besides the connections: listeners, runtimes, the file and the log.
    const OTHERS: u64 = 64;
    let wanted = u64::try_from(connections).unwrap_or(u64::MAX).saturating_add(OTHERS);
    match rlimit::increase_nofile_limit(u64::MAX) {
        Ok(most) if most >= wanted => {}
        Ok(most) => warn!(
            descriptors = most,
            connections,
            "fewer file descriptors than `max_connections` needs; raise the hard limit (ulimit -Hn)"
        ),
        Err(error) => warn!(%error, "cannot raise the number of descriptors"),
    }
}
