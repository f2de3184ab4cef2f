//! The parts that the commands of operators share: asking the admin listener, and showing its answer.

mod told;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};
use hyper::StatusCode;
use serde_json::{Value, json};

use super::failure::Failure;
use super::subject::SubjectArgs;
use crate::client::{Answer, Peer};
use crate::store::{Given, Hidden};
use crate::text::escaped_json;
use crate::token;
use told::Told;
pub(super) use told::Verb;

/// The URL of the admin listener unless --admin names another.
const ADMIN: &str = "http://127.0.0.1:7707";

const NO_TOKEN: &str = "\
there is no admin token: set TIDEGATE_ADMIN_TOKEN, or name a file with --token-file. It is the one \
that the server was started with; without one it has no admin listener";

/// The server to ask
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Server")]
pub(super) struct AdminArgs {
    /// The admin listener of a running server
    #[arg(long, value_name = "URL", default_value = ADMIN)]
    admin: String,
    /// The file with the admin token [default: the token in `TIDEGATE_ADMIN_TOKEN`]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

// === impl AdminArgs ===

impl AdminArgs {
    /// Asks the admin listener, and waits for the answer.
    pub(super) fn ask<T>(
        &self,
        question: impl AsyncFnOnce(&Peer) -> Result<T>,
    ) -> Result<T, Failure> {
        let token = self.token().map_err(Failure::misconfigured)?;
        let peer = Peer::of_operators(&self.admin, token).map_err(Failure::misconfigured)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(runtime.block_on(question(&peer))?)
    }

    fn token(&self) -> Result<Hidden> {
        let environment = Hidden::of_environment(token::VARIABLE)?;
        let flag = self.token_file.as_deref();
        let token = token::find(Given { flag, environment: environment.as_ref(), file: None })?;
        token.context(NO_TOKEN)
    }

    /// Has the server carry out a verb, and prints the outcome.
    pub(super) fn operate(
        &self,
        verb: Verb,
        order: &Value,
        as_json: bool,
    ) -> Result<ExitCode, Failure> {
        let answer = self.ask(async |peer| text(peer.post(verb.path(), order).await?))?;
        let mut out = io::stdout().lock();
        if as_json {
            writeln!(out, "{}", escaped_json(answer.trim_end()))?;
        } else {
            write!(out, "{}", serde_json::from_str::<Told>(&answer)?.of(verb))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The body of a request: the policy, the subject, and the limit if one is named.
pub(super) fn order(policy: &str, subject: &SubjectArgs, limit: Option<&str>) -> Value {
    let mut order = json!({ "policy": policy, "subject": subject });
    if let Some(limit) = limit {
        order["limit"] = limit.into();
    }
    order
}

/// The text of a good answer; otherwise an error with the problem, and what to do about it.
pub(super) fn text(answer: Answer) -> Result<String> {
    let status = answer.status();
    answer.text().map_err(|error| match status {
        StatusCode::UNAUTHORIZED => anyhow!(
            "{error:#}; take the token that the server was started with, in TIDEGATE_ADMIN_TOKEN or \
             --token-file"
        ),
        StatusCode::NOT_FOUND if error.to_string().contains("/openapi.json") => anyhow!(
            "{error:#}; this is where decisions are asked for: name the admin listener with --admin"
        ),
        _ => error,
    })
}
