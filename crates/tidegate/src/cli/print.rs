//! `tidegate example`, `schema` and `completions`: texts that are in the binary.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;

use super::Cli;
use super::failure::ExitFailure;
use crate::config::{BUILT_IN, Config};

/// Print a policy file to begin with: the one served without --config
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Example:
  tidegate example > policies.yaml
  tidegate serve --config policies.yaml")]
pub(super) struct ExampleArgs;

/// Print the JSON schema of policy files, for editors
///
/// An editor that knows the schema completes names, shows what they mean and underlines what is
/// wrong. `tidegate validate` finds more: what can only be seen by looking at the whole file.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Example:
  tidegate schema > policies.schema.json
  and as the first line of policies.yaml:
  # yaml-language-server: $schema=policies.schema.json")]
pub(super) struct SchemaArgs;

/// Print completions for a shell
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  tidegate completions bash > ~/.local/share/bash-completion/completions/tidegate
  tidegate completions zsh > ~/.zfunc/_tidegate
  tidegate completions fish > ~/.config/fish/completions/tidegate.fish")]
pub(super) struct CompletionsArgs {
    /// Which shell
    shell: Shell,
}

pub(super) fn example(_: &ExampleArgs) -> Result<ExitCode, ExitFailure> {
    printed(BUILT_IN.as_bytes())
}

pub(super) fn schema(_: &SchemaArgs) -> Result<ExitCode, ExitFailure> {
    printed(format!("{:#}\n", Config::schema()).as_bytes())
}

pub(super) fn completions(args: &CompletionsArgs) -> Result<ExitCode, ExitFailure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "tidegate", &mut script);
    printed(&script)
}

fn printed(text: &[u8]) -> Result<ExitCode, ExitFailure> {
    io::stdout().lock().write_all(text)?;
    Ok(ExitCode::SUCCESS)
}
