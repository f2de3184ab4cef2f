//! The server that `check` and `explain` ask: a running one, or one made for the question.
//!
//! Without --server, a server is started within the process, on a port of this machine that nobody
//! else knows, asked and stopped. So there is one way to ask and one form of answer, and the answer
//! is what a real server will say.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result};
use tidegate_engine::memory::MemoryStore;
use tidegate_engine::{Engine, SystemClock};
use tidegate_server::{Server, Settings, WrittenSettings};

use super::environment;
use super::failure::ExitFailure;
use super::source::PolicySource;
use super::subject::SubjectArgs;
use crate::client::ServerAddress;
use crate::config::Config;

const CONFIG_HELP: &str = "A policy file, with nothing counted yet; its store is not asked [env: TIDEGATE_CONFIG] [default: the built-in example]";
const SERVER_HELP: &str = "A running server, such as http://127.0.0.1:7700";

/// The server to ask
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Server")]
pub(super) struct OracleArgs {
    #[arg(short, long, value_name = "FILE", conflicts_with = "server", help = CONFIG_HELP)]
    config: Option<PathBuf>,
    #[arg(short, long, value_name = "NAME", conflicts_with = "server", help = environment::HELP)]
    environment: Option<String>,
    #[arg(short, long, value_name = "URL", help = SERVER_HELP)]
    server: Option<String>,
}

/// A question about one subject under one policy
#[derive(Debug, clap::Args)]
pub(super) struct QuestionArgs {
    /// The policy
    #[arg(value_name = "POLICY")]
    pub(super) policy: String,
    /// The cost of the request [default: 1]
    #[arg(long, value_name = "N")]
    pub(super) cost: Option<u64>,
    #[command(flatten)]
    pub(super) oracle: OracleArgs,
    #[command(flatten)]
    pub(super) subject: SubjectArgs,
}

// === impl OracleArgs ===

impl OracleArgs {
    /// Asks the server, and waits for the answer.
    pub(super) fn ask<T>(
        &self,
        question: impl AsyncFnOnce(&ServerAddress) -> Result<T>,
    ) -> Result<T, ExitFailure> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        if let Some(url) = &self.server {
            let peer = ServerAddress::find(url).map_err(ExitFailure::misconfigured)?;
            return Ok(runtime.block_on(question(&peer))?);
        }
        let file = self.config.clone();
        let file = file.or_else(|| environment::variable("TIDEGATE_CONFIG").map(PathBuf::from));
        let source = PolicySource::file_or_built_in(file.as_ref());
        let config = Config::load(&source, &environment::overlay(self.environment.as_ref()));
        let config = config.map_err(ExitFailure::misconfigured)?;
        Ok(runtime.block_on(in_process(&config, question))?)
    }
}

/// Starts a server in this process, asks it, and stops it.
async fn in_process<T>(
    config: &Config,
    question: impl AsyncFnOnce(&ServerAddress) -> Result<T>,
) -> Result<T> {
    // Not the settings of the file: their bounds are for other clients than this one.
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let settings =
        WrittenSettings { listen: Some(any), threads: Some(1), ..WrittenSettings::default() };
    let settings = Settings::try_new(&settings)?;
    let clock = SystemClock::new();
    let store = MemoryStore::try_new(config.file.budget(), clock.clone())?;
    let engine = Arc::new(Engine::new(store, config.policies().clone()));
    let server = Server::bind(settings, engine, clock).context("starting a server to ask")?;
    let peer = ServerAddress::find(&server.local_addr().to_string())?;
    tokio::select! {
        answer = question(&peer) => answer,
        ended = server.run(std::future::pending()) => {
            let _stopped = ended.context("the server ended before it was asked")?;
            anyhow::bail!("the server ended before it was asked")
        }
    }
}
