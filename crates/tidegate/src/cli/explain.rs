//! `tidegate explain`: which limits apply to a subject, and why others do not.

mod told;

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::Context;

use super::failure::ExitFailure;
use super::oracle::QuestionArgs;
use crate::client::encoded;
use crate::text::escaped_json;
use told::ShownExplanation;

/// Show which limits apply to a subject, with which numbers, and why others do not
///
/// Nothing is counted. With --server the readings are those of a running server; without it, of a
/// file under which nothing has been counted yet, whatever its store has.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  tidegate explain api --org acme --user u7
  tidegate explain login --account alice --server http://127.0.0.1:7700
  tidegate explain api --config policies.yaml --json")]
pub(super) struct ExplainArgs {
    /// Print the server's answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    question: QuestionArgs,
}

pub(super) fn run(args: &ExplainArgs) -> Result<ExitCode, ExitFailure> {
    let QuestionArgs { policy, cost, oracle, subject } = &args.question;
    let facts = subject.facts().map(|(name, text)| format!("{name}={}", encoded(text)));
    let query: Vec<_> = facts.chain(cost.map(|cost| format!("cost={cost}"))).collect();
    let path = format!("/v1/explain/{}?{}", encoded(policy), query.join("&"));
    let explanation = oracle.ask(async |server| {
        let explanation = server.get(&path).await?.text();
        explanation.with_context(|| format!("policy `{policy}`"))
    })?;
    let mut out = io::stdout().lock();
    if args.json {
        writeln!(out, "{}", escaped_json(explanation.trim_end()))?;
    } else {
        write!(out, "{}", serde_json::from_str::<ShownExplanation>(&explanation)?)?;
    }
    Ok(ExitCode::SUCCESS)
}
