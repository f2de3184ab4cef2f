//! `tidegate block`: refuse a subject for a while.

use std::process::ExitCode;

use super::admin::{AdminArgs, Verb, order};
use super::failure::Failure;
use super::subject::SubjectArgs;

/// Refuse a subject for a while, at once
///
/// Concerns one limit of the shape `attempts`; name it if several limits of the policy count the subject.
/// A block that ends later stays as it is. On a ladder, a block with --level counts for the level of the
/// next one.
///
/// Asks the admin listener of a running server, which is off unless the server was started with a
/// token.
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
pub(super) struct Args {
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
    /// Print the server's answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    admin: AdminArgs,
    #[command(flatten)]
    subject: SubjectArgs,
}

pub(super) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let mut order = order(&args.policy, &args.subject, args.limit.as_deref());
    if let Some(lasts) = &args.lasts {
        order["for"] = lasts.as_str().into();
    }
    if let Some(level) = &args.level {
        order["level"] = level.to_uppercase().into();
    }
    args.admin.operate(Verb::Block, &order, args.json)
}
