//! `tidegate block`, `unblock` and `reset`: orders of an operator, for the admin listener of a running
//! server. What they share with `tidegate blocks` is how that listener is asked.

mod told;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};
use hyper::StatusCode;
use serde_json::{Value, json};
use tidegate_engine::file::Hidden;

use super::failure::ExitFailure;
use super::subject::SubjectArgs;
use crate::client::{ServerAddress, ServerAnswer};
use crate::store::{ADMIN_TOKEN, SecretPlaces, admin_token, hidden_variable};
use crate::text::escaped_json;
use told::{ShownChange, Verb};

/// The URL of the admin listener unless --admin names another.
const ADMIN: &str = "http://127.0.0.1:7707";

const NO_TOKEN: &str = "\
there is no admin token: set TIDEGATE_ADMIN_TOKEN, or name a file with --token-file. It is the one \
that the server was started with; without one it has no admin listener";

/// The server to ask
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Server")]
pub(super) struct AdminArgs {
    /// The admin listener of a running server, which has one only if it was started with a token
    #[arg(long, value_name = "URL", default_value = ADMIN)]
    admin: String,
    /// The file with the admin token [default: the token in `TIDEGATE_ADMIN_TOKEN`]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

/// What every order of an operator takes besides its policy
#[derive(Debug, clap::Args)]
struct OrderArgs {
    /// Print the server's answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    admin: AdminArgs,
    #[command(flatten)]
    subject: SubjectArgs,
}

/// Refuse a subject for a while, at once
///
/// Concerns one limit of the shape `attempts`; name it if several limits of the policy count the subject.
/// A block that ends later stays as it is. On a ladder, a block with --level counts for the level of the
/// next one.
#[derive(Debug, clap::Args)]
#[command(
    group = clap::ArgGroup::new("length").required(true).args(["lasts", "level"]),
    after_long_help = "\
Examples:
  (umask 077; openssl rand -hex 32 > admin.token)        a token; keep it to yourself
  TIDEGATE_ADMIN_TOKEN=$(cat admin.token) tidegate       a server that listens to operators
  tidegate block login --account alice --limit login-account --for 15min --token-file admin.token
  TIDEGATE_ADMIN_TOKEN=$(cat admin.token) tidegate block login --ip 203.0.113.7 --level L4

Levels: L1 15 s, L2 1 min, L3 5 min, L4 30 min, L5 6 h, L6 1 d."
)]
pub(super) struct BlockArgs {
    /// The policy
    #[arg(value_name = "POLICY")]
    policy: String,
    /// The limit, if several could be meant
    #[arg(long, value_name = "NAME")]
    limit: Option<String>,
    /// For how long: 90s, 15min, 2h, 1d; at most 30d
    #[arg(long = "for", value_name = "LENGTH")]
    lasts: Option<String>,
    /// For as long as a level of the ladder lasts, from L1 to L6
    #[arg(long, value_name = "LEVEL")]
    level: Option<String>,
    #[command(flatten)]
    order: OrderArgs,
}

/// Lift the blocks of a subject, or one from the list of blocks
///
/// The attempts that led to a block are forgotten with it. Its level stays, so that a subject that is
/// blocked again soon is blocked for longer. Without --limit, all limits of the policy that count the
/// subject are meant.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  tidegate unblock login --account alice --token-file admin.token
  tidegate unblock login --ip 203.0.113.7 --limit spray
  tidegate blocks
  tidegate unblock --key 00c0ffee00c0ffee         by its key in the list")]
pub(super) struct UnblockArgs {
    /// The policy
    #[arg(value_name = "POLICY", required_unless_present = "key")]
    policy: Option<String>,
    /// One limit only
    #[arg(long, value_name = "NAME", conflicts_with = "key")]
    limit: Option<String>,
    /// The key of a block, as `tidegate blocks` lists it
    #[arg(long, value_name = "KEY", conflicts_with = "policy")]
    key: Option<String>,
    #[command(flatten)]
    order: OrderArgs,
}

/// Forget what was counted of a subject, blocks and their levels included
///
/// Concerns the limits of the action, whatever their shape. A global limit is reset only if it is named
/// with --limit: to forgive one subject must not be to forgive all.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  tidegate reset login --account alice --token-file admin.token
  tidegate reset api --org acme --limit daily")]
pub(super) struct ResetArgs {
    /// The policy
    #[arg(value_name = "POLICY")]
    policy: String,
    /// One limit only
    #[arg(long, value_name = "NAME")]
    limit: Option<String>,
    #[command(flatten)]
    order: OrderArgs,
}

// === impl AdminArgs ===

impl AdminArgs {
    /// Asks the admin listener, and waits for the answer.
    pub(super) fn ask<T>(
        &self,
        question: impl AsyncFnOnce(&ServerAddress) -> Result<T>,
    ) -> Result<T, ExitFailure> {
        let token = Some(self.token().map_err(ExitFailure::misconfigured)?);
        let peer = ServerAddress::find(&self.admin).map_err(ExitFailure::misconfigured)?;
        let peer = ServerAddress { token, ..peer };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(runtime.block_on(question(&peer))?)
    }

    fn token(&self) -> Result<Hidden> {
        let environment = hidden_variable(ADMIN_TOKEN)?;
        let flag = self.token_file.as_deref();
        let token =
            admin_token(SecretPlaces { flag, environment: environment.as_ref(), file: None })?;
        token.context(NO_TOKEN)
    }
}

// === impl OrderArgs ===

impl OrderArgs {
    /// The body of an order: the policy, the subject, and the limit if one is named.
    fn on(&self, policy: &str, limit: Option<&str>) -> Value {
        let mut order = json!({ "policy": policy, "subject": self.subject });
        if let Some(limit) = limit {
            order["limit"] = limit.into();
        }
        order
    }

    /// Has the server carry out a verb, and prints the outcome.
    fn give(&self, verb: Verb, order: &Value) -> Result<ExitCode, ExitFailure> {
        let [path, ..] = verb.words();
        let answer = self.admin.ask(async |peer| text(peer.post(path, order).await?))?;
        let mut out = io::stdout().lock();
        if self.json {
            writeln!(out, "{}", escaped_json(answer.trim_end()))?;
        } else {
            write!(out, "{}", serde_json::from_str::<ShownChange>(&answer)?.of(verb))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

pub(super) fn block(args: &BlockArgs) -> Result<ExitCode, ExitFailure> {
    let mut order = args.order.on(&args.policy, args.limit.as_deref());
    if let Some(lasts) = &args.lasts {
        order["for"] = lasts.as_str().into();
    }
    if let Some(level) = &args.level {
        order["level"] = level.to_uppercase().into();
    }
    args.order.give(Verb::Block, &order)
}

pub(super) fn unblock(args: &UnblockArgs) -> Result<ExitCode, ExitFailure> {
    let order = match &args.key {
        Some(key) => json!({ "key": key }),
        None => args.order.on(args.policy.as_deref().unwrap_or_default(), args.limit.as_deref()),
    };
    args.order.give(Verb::Unblock, &order)
}

pub(super) fn reset(args: &ResetArgs) -> Result<ExitCode, ExitFailure> {
    let order = args.order.on(&args.policy, args.limit.as_deref());
    args.order.give(Verb::Reset, &order)
}

/// The text of a good answer; otherwise an error with the problem, and what to do about it.
pub(super) fn text(answer: ServerAnswer) -> Result<String> {
    let status = answer.status;
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
