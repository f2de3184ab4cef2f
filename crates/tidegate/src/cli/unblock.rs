//! `tidegate unblock`: lift the blocks of a subject, or one from the list.

use std::process::ExitCode;

use serde_json::json;

use super::admin::{AdminArgs, Verb, order};
use super::failure::Failure;
use super::subject::SubjectArgs;

/// Lift the blocks of a subject, or one from the list of blocks
///
/// The attempts that led to a block are forgotten with it. Its level stays, so that a subject that is
/// blocked again soon is blocked for longer. Without --limit, all limits of the policy that count the
/// subject are meant.
///
/// Asks the admin listener of a running server, which is off unless the server was started with a
/// token.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  tidegate unblock login --account alice --token-file admin.token
  tidegate unblock login --ip 203.0.113.7 --limit spray
  tidegate blocks
  tidegate unblock --key 00c0ffee00c0ffee         by its key in the list

The token is in TIDEGATE_ADMIN_TOKEN, or in the file of --token-file.")]
pub(super) struct Args {
    /// The policy
    #[arg(value_name = "POLICY", required_unless_present = "key")]
    policy: Option<String>,
    /// One limit only
    #[arg(long, value_name = "NAME", conflicts_with = "key")]
    limit: Option<String>,
    /// The key of a block, as `tidegate blocks` lists it
    #[arg(long, value_name = "KEY", conflicts_with = "policy")]
    key: Option<String>,
    /// Print the server's answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    admin: AdminArgs,
    #[command(flatten)]
    subject: SubjectArgs,
}

pub(super) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let order = match &args.key {
        Some(key) => json!({ "key": key }),
        None => {
            let policy = args.policy.as_deref().unwrap_or_default();
            order(policy, &args.subject, args.limit.as_deref())
        }
    };
    args.admin.operate(Verb::Unblock, &order, args.json)
}
