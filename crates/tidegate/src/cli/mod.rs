//! The command line: its commands, and the exit codes that they give to a shell.
//!
//! Exit codes: 0 done (and admitted), 1 it failed, 2 the command line or a file is wrong, 3 `check`
//! was refused.
//!
//! One file for each command, or for a few that are alike, with the arguments on top. Without a command,
//! `serve` is meant.

mod admin;
mod bench;
mod blocks;
mod check;
mod environment;
mod explain;
mod failure;
mod oracle;
mod print;
mod reading;
mod serve;
mod source;
mod subject;
mod validate;

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

pub(crate) use environment::variable;
pub(crate) use failure::ExitFailure;
pub(crate) use serve::Overlay;
pub(crate) use source::PolicySource;

/// Decides, for every request, whether it may pass.
///
/// Without a command it serves decisions over HTTP: on the policies of --config FILE, or on a
/// built-in example to try things with.
#[derive(Debug, Parser)]
#[command(
    name = "tidegate",
    version,
    propagate_version = true,
    subcommand_required = true,
    override_usage = "tidegate [serve] [OPTIONS]\n       tidegate <COMMAND>",
    after_help = "`tidegate --help` shows how to begin.",
    after_long_help = AFTER_LONG_HELP,
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const AFTER_LONG_HELP: &str = "\
How to begin:
  tidegate                              serve the built-in example; prints two curl lines to try
  tidegate example > policies.yaml      the same policies as a file of your own
  tidegate validate policies.yaml       says what is wrong with it, and where
  tidegate check api --org acme --config policies.yaml
                                        one decision, with every limit's reading
  tidegate --config policies.yaml       serve it; edits take effect when they are saved

Exit codes:
  0  done; of `check`: admitted
  1  it failed
  2  the command line or a policy file is wrong
  3  of `check`: refused";

/// Makes the commands from a table: their names, their arguments, and what runs them. The help of each
/// command stands at its arguments.
macro_rules! commands {
    ($($name:ident($args:path) => $run:path,)*) => {
        #[derive(Debug, Subcommand)]
        enum Command {
            $($name($args),)*
        }

        impl Command {
            fn run(&self) -> Result<ExitCode, ExitFailure> {
                match self {
                    $(Self::$name(args) => $run(args),)*
                }
            }
        }
    };
}

commands! {
    Serve(serve::ServeArgs) => serve::run,
    Validate(validate::ValidateArgs) => validate::run,
    Example(print::ExampleArgs) => print::example,
    Schema(print::SchemaArgs) => print::schema,
    Check(check::CheckArgs) => check::run,
    Explain(explain::ExplainArgs) => explain::run,
    Block(admin::BlockArgs) => admin::block,
    Unblock(admin::UnblockArgs) => admin::unblock,
    Reset(admin::ResetArgs) => admin::reset,
    Blocks(blocks::BlocksArgs) => blocks::run,
    Bench(bench::BenchArgs) => bench::run,
    Completions(print::CompletionsArgs) => print::completions,
}

/// Does what the command line says.
pub(crate) fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    match Cli::try_parse_from(with_command(args.into_iter().collect())) {
        Ok(cli) => end(cli.command.run()),
        Err(error) => {
            // Help goes to standard output and is no mistake. An error of the output is ignored.
            let _ = error.print();
            ExitCode::from(if error.use_stderr() { failure::MISCONFIGURED } else { 0 })
        }
    }
}

/// Without a command, `serve` is meant: `tidegate --config FILE` is the first thing one types.
fn with_command(mut args: Vec<OsString>) -> Vec<OsString> {
    const OF_TIDEGATE: [&str; 4] = ["-h", "--help", "-V", "--version"];
    let serve = match args.get(1).map(|first| first.to_string_lossy()) {
        None => true,
        Some(first) => first.starts_with('-') && !OF_TIDEGATE.contains(&first.as_ref()),
    };
    if args.is_empty() {
        args.push("tidegate".into());
    }
    if serve {
        args.insert(1, "serve".into());
    }
    args
}

/// Prints a failure, and returns the exit code for the shell.
fn end(result: Result<ExitCode, ExitFailure>) -> ExitCode {
    match result {
        Ok(code) => code,
        // The reader of the output has seen enough: `tidegate schema | head`.
        Err(failure) if failure.is_broken_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            let _ = writeln!(io::stderr().lock(), "{failure}");
            ExitCode::from(failure.code)
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn without_a_command_serve_is_meant() {
        for (typed, meant) in [
            ("tidegate", "tidegate serve"),
            ("tidegate --listen [::1]:0", "tidegate serve --listen [::1]:0"),
            ("tidegate --help", "tidegate --help"),
            ("tidegate -V", "tidegate -V"),
            ("tidegate check api", "tidegate check api"),
            ("tidegate serve --threads 2", "tidegate serve --threads 2"),
        ] {
            let args = with_command(typed.split(' ').map(OsString::from).collect());
            let words: Vec<_> = args.iter().map(|arg| arg.to_string_lossy()).collect();
            assert_eq!(words.join(" "), meant);
        }
    }
}
