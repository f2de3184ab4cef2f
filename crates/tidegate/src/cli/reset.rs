//! `tidegate reset`: forget what was counted of a subject.

use std::process::ExitCode;

use super::admin::{AdminArgs, Verb, order};
use super::failure::Failure;
use super::subject::SubjectArgs;

/// Forget what was counted of a subject, blocks and their levels included
///
/// Concerns the limits of the action, whatever their shape. A global limit is reset only if it is named
/// with --limit: to forgive one subject must not be to forgive all.
///
/// Asks the admin listener of a running server, which is off unless the server was started with a
/// token.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  tidegate reset login --account alice --token-file admin.token
  tidegate reset api --org acme --limit daily

The token is in TIDEGATE_ADMIN_TOKEN, or in the file of --token-file.")]
pub(super) struct Args {
    /// The policy
    #[arg(value_name = "POLICY")]
    policy: String,
    /// One limit only
    #[arg(long, value_name = "NAME")]
    limit: Option<String>,
    /// Print the server's answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    admin: AdminArgs,
    #[command(flatten)]
    subject: SubjectArgs,
}

pub(super) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let order = order(&args.policy, &args.subject, args.limit.as_deref());
    args.admin.operate(Verb::Reset, &order, args.json)
}
