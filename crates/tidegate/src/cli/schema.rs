//! `tidegate schema`: the JSON schema of policy files.

use std::io::{self, Write};
use std::process::ExitCode;

use super::failure::Failure;
use crate::config::Config;

/// Print the JSON schema of policy files, for editors
///
/// An editor that knows the schema completes names, shows what they mean and underlines what is
/// wrong. `tidegate validate` finds more: what can only be seen by looking at the whole file.
#[derive(Clone, Copy, Debug, clap::Args)]
#[command(after_long_help = "\
Example:
  tidegate schema > policies.schema.json
  and as the first line of policies.yaml:
  # yaml-language-server: $schema=policies.schema.json")]
pub(super) struct Args;

pub(super) fn run(_: Args) -> Result<ExitCode, Failure> {
    writeln!(io::stdout().lock(), "{:#}", Config::schema())?;
    Ok(ExitCode::SUCCESS)
}
