//! `tidegate example`: the built-in policies, as a file to begin with.

use std::io::{self, Write};
use std::process::ExitCode;

use super::failure::Failure;
use crate::config::BUILT_IN;

/// Print a policy file to begin with: the one served without --config
#[derive(Clone, Copy, Debug, clap::Args)]
#[command(after_long_help = "\
Example:
  tidegate example > policies.yaml
  tidegate serve --config policies.yaml")]
pub(super) struct Args;

pub(super) fn run(_: Args) -> Result<ExitCode, Failure> {
    io::stdout().lock().write_all(BUILT_IN.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}
