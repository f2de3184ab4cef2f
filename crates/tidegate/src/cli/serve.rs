//! `tidegate serve`: decisions over HTTP until a signal ends it.

mod node;
mod welcome;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use tidegate_engine::SystemClock;
use tidegate_engine::file::Hidden;
use tidegate_server::{Settings, WrittenHost};
use tracing::{error, warn};

use super::environment;
use super::failure::ExitFailure;
use super::source::PolicySource;
use crate::config::Config;
use crate::log::{self, LogLevel};
use crate::store::{ADMIN_TOKEN, StoreChoice, hidden_variable};
use crate::warnings;
use node::{NodeParts, Stops};

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
pub(super) struct ServeArgs {
    /// The policy file [default: a built-in example]
    #[arg(short, long, value_name = "FILE", env = "TIDEGATE_CONFIG")]
    config: Option<PathBuf>,
    #[command(flatten)]
    overlay: Overlay,
}

/// The settings from flags and the environment, which come before those of the policy file
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Overlay {
    #[arg(short, long, value_name = "NAME", help = environment::HELP)]
    pub(crate) environment: Option<String>,
    /// Where to listen [default: what the file says, or 127.0.0.1:7700]
    #[arg(short, long, value_name = "ADDRESS", env = "TIDEGATE_LISTEN", value_parser = listen_address)]
    pub(crate) listen: Option<SocketAddr>,
    /// The names that requests may use for the server, with commas between them [default: what the
    /// file says, or localhost and the loopback addresses]
    #[arg(long, value_name = "NAMES", env = "TIDEGATE_HOSTS", value_delimiter = ',')]
    pub(crate) hosts: Option<Vec<WrittenHost>>,
    /// How many threads answer [default: what the file says, or one for each core]
    #[arg(short, long, value_name = "N", env = "TIDEGATE_THREADS")]
    pub(crate) threads: Option<usize>,
    /// Where counters are kept: memory, or a URL [default: what the file says, or memory]
    #[arg(long, value_name = "URL", env = "TIDEGATE_STORE", hide_env_values = true)]
    pub(crate) store: Option<Hidden>,
    /// The file with the secret of the fleet, for a shared store [default: the secret in
    /// `TIDEGATE_SECRET`, or the file that the policy file names]
    #[arg(long, value_name = "FILE")]
    pub(crate) secret_file: Option<PathBuf>,
    /// The file with the previous secret, while the secret is being changed [default: the secret in
    /// `TIDEGATE_SECRET_PREVIOUS`, or the file that the policy file names]
    #[arg(long, value_name = "FILE")]
    pub(crate) previous_secret_file: Option<PathBuf>,
    /// Where to listen for operators, if there is a token [default: what the file says, or
    /// 127.0.0.1:7707]
    #[arg(long, value_name = "ADDRESS", env = "TIDEGATE_ADMIN_LISTEN", value_parser = listen_address)]
    pub(crate) admin_listen: Option<SocketAddr>,
    /// The file with the token of operators [default: the token in `TIDEGATE_ADMIN_TOKEN`, or the
    /// file that the policy file names; without a token there is no admin listener]
    #[arg(long, value_name = "FILE")]
    pub(crate) admin_token_file: Option<PathBuf>,
    /// Let operators come from other machines; their token is sent without TLS
    #[arg(long)]
    pub(crate) admin_allow_remote: bool,
    /// How the log looks [default: what the file says, or human]
    #[arg(long, value_name = "FORMAT", value_enum, env = "TIDEGATE_LOG_FORMAT")]
    pub(crate) log_format: Option<log::LogFormat>,
    /// How much is logged [default: what the file says, or info]
    #[arg(long, value_name = "LEVEL", value_enum, env = "TIDEGATE_LOG_LEVEL")]
    pub(crate) log_level: Option<LogLevel>,
    /// The secret of the fleet, from the environment alone: others could read a flag.
    #[arg(skip)]
    pub(crate) secret: Option<Hidden>,
    /// The previous secret of the fleet, from the environment.
    #[arg(skip)]
    pub(crate) previous_secret: Option<Hidden>,
    /// The token of operators, from the environment.
    #[arg(skip)]
    pub(crate) admin_token: Option<Hidden>,
}

pub(super) fn run(args: &ServeArgs) -> Result<ExitCode, ExitFailure> {
    let hidden = |variable| hidden_variable(variable).map_err(ExitFailure::misconfigured);
    let overlay = Overlay {
        environment: environment::chosen(args.overlay.environment.as_ref()),
        secret: hidden("TIDEGATE_SECRET")?,
        previous_secret: hidden("TIDEGATE_SECRET_PREVIOUS")?,
        admin_token: hidden(ADMIN_TOKEN)?,
        ..args.overlay.clone()
    };
    let source = PolicySource::file_or_built_in(args.config.as_ref());
    match Config::load(&source, &overlay).map_err(ExitFailure::misconfigured) {
        Ok(config) => {
            let (format, level) = config.log();
            let log = log::start(format, level, SystemClock::new())?;
            let served = start(&source, &config);
            let told = served.or_else(|failure| tell(failure, format));
            log.finish();
            told
        }
        Err(failure) => tell(failure, overlay.log_format.unwrap_or_default()),
    }
}

/// Reports why the process cannot serve: as a line of the log if the log is JSON.
fn tell(failure: ExitFailure, format: log::LogFormat) -> Result<ExitCode, ExitFailure> {
    match format {
        log::LogFormat::Human => Err(failure),
        log::LogFormat::Json => {
            let log = log::start(format, LogLevel::default(), SystemClock::new())?;
            error!(diagnostic = %failure, "cannot serve");
            log.finish();
            Ok(ExitCode::from(failure.code))
        }
    }
}

fn start(source: &PolicySource, config: &Config) -> Result<ExitCode, ExitFailure> {
    let settings = Settings::try_new(&config.server()).map_err(ExitFailure::misconfigured)?;
    let store = config.store().map_err(ExitFailure::misconfigured)?;
    warnings::tell(config, &settings, &store);
    let settings = fitting_descriptors(settings);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let served = runtime.block_on(async {
        // Before anybody can know that the process is there, and send it a signal.
        let stops = Stops::listen().context("listening for signals")?;
        let node = NodeParts { source, config, settings, clock: SystemClock::new() };
        match store {
            StoreChoice::Memory => node.on_memory(stops).await,
            StoreChoice::Redis(target) => node.on_redis(*target, stops).await,
        }
    });
    // A policy file that is still being read is nothing to wait for.
    runtime.shutdown_background();
    served
}

/// Raises the limit on descriptors as far as it may be: shells hand out far fewer than there may be
/// connections. If it stays too low, there are fewer connections, and some descriptors for other things.
fn fitting_descriptors(settings: Settings) -> Settings {
    let most = match rlimit::increase_nofile_limit(u64::MAX) {
        Ok(most) => most,
        Err(error) => {
            warn!(%error, "cannot raise the number of descriptors");
            return settings;
        }
    };
    let wanted = settings.max_connections();
    let settings = settings.within_descriptors(most);
    let connections = settings.max_connections();
    if connections < wanted {
        warn!(
            descriptors = most,
            connections,
            wanted,
            "too few file descriptors for `max_connections`, so fewer connections are served; raise the \
             hard limit (ulimit -Hn)"
        );
    }
    settings
}

/// Reads an address to listen on.
fn listen_address(text: &str) -> Result<SocketAddr, &'static str> {
    text.parse().map_err(|_| {
        "write an IP address and a port, such as 127.0.0.1:7700 or [::1]:7700; names such as localhost \
         are not looked up"
    })
}
