//! `tidegate check`: one decision, or some, and what every limit said.

mod told;

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Context, Result};
use serde_json::json;

use super::failure::ExitFailure;
use super::oracle::QuestionArgs;
use crate::text::escaped_json;
use told::ShownDecision;

/// The exit code of a refusal.
const REFUSED: u8 = 3;

/// Decide one request, and show what every limit said
///
/// Without --server the policies are those of a file and nothing has been counted yet: a way to see
/// what they say before anybody is served; the store of the file is not asked. With --server the
/// request is decided there, and counted; --peek only looks.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  tidegate check api --org acme --user u7
  tidegate check login --account alice --count 6       the sixth attempt is refused
  tidegate check model --org acme --cost 1500 --json
  tidegate check api --org acme --peek --server http://127.0.0.1:7700

Exit codes: 0 admitted, 3 refused, 1 not decided, 2 wrong command line or file.")]
pub(super) struct CheckArgs {
    /// How many such requests, one after another
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u16).range(1..=10_000))]
    count: u16,
    /// Only look: nothing is counted
    #[arg(long)]
    peek: bool,
    /// Print each decision as the server's JSON, on one line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    question: QuestionArgs,
}

pub(super) fn run(args: &CheckArgs) -> Result<ExitCode, ExitFailure> {
    let QuestionArgs { policy, cost, oracle, subject } = &args.question;
    let mut request = json!({ "policy": policy, "subject": subject });
    if let Some(cost) = *cost {
        request["cost"] = cost.into();
    }
    let path = if args.peek { "/v1/peek" } else { "/v1/decide" };
    let refused = oracle.ask(async |server| {
        let mut refused = false;
        for number in 1..=args.count {
            let decision = server.post(path, &request).await?.text();
            let decision = decision.with_context(|| format!("policy `{policy}`"))?;
            refused |= tell(args, number, &decision)?;
        }
        Ok(refused)
    })?;
    Ok(ExitCode::from(if refused { REFUSED } else { 0 }))
}

/// Prints a decision, and returns whether it refuses.
fn tell(args: &CheckArgs, number: u16, decision: &str) -> Result<bool> {
    let mut out = io::stdout().lock();
    let told: ShownDecision = serde_json::from_str(decision).context("this is not a decision")?;
    match args.count {
        _ if args.json => writeln!(out, "{}", escaped_json(decision.trim_end()))?,
        1 => write!(out, "{told}")?,
        _ if number == args.count => write!(out, "{number:>5}  {told}")?,
        _ => writeln!(out, "{number:>5}  {}", told.headline())?,
    }
    Ok(told.is_blocked())
}
