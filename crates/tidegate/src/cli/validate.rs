//! `tidegate validate`: says what is wrong with policy files.

mod against;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use super::environment;
use super::failure::{ExitFailure, MISCONFIGURED};
use super::source::PolicySource;
use crate::config::Config;
use crate::text::{counted, escaped};

/// Say what is wrong with policy files, or that nothing is
///
/// Prints a line for each good file, and everything that is wrong with a bad one: where, what, and
/// what to write instead, in every environment that a file declares. Nothing is started, changed or
/// connected to.
///
/// With --against it also lists the limits that would begin anew, with nothing used, if nodes that share
/// a store were restarted with the file: those whose period, name, shape or scope is another than in the
/// old file. A node that reloads the file carries over what was used under another period; a node that
/// keeps its counters in memory forgets all of them when it is restarted.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  tidegate validate policies.yaml
  tidegate validate deploy/*.yaml && deploy     exit code 2 if any is bad
  tidegate validate policies.yaml -e staging    has it this environment?
  tidegate validate policies.yaml --against old.yaml
                                                what would a restart forget?
  tidegate example | tidegate validate -        from standard input")]
pub(super) struct ValidateArgs {
    /// Policy files; - is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[arg(short, long, value_name = "NAME", help = environment::HELP)]
    environment: Option<String>,
    /// The file that is served now: list the limits that would begin anew if nodes were restarted
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
}

pub(super) fn run(args: &ValidateArgs) -> Result<ExitCode, ExitFailure> {
    let mut bad = false;
    let overlay = environment::overlay(args.environment.as_ref());
    let old = args.against.clone().map(|path| Config::load(&PolicySource::File(path), &overlay));
    let old = old.transpose().map_err(ExitFailure::misconfigured)?;
    for file in &args.files {
        let source = if file.as_os_str() == "-" {
            PolicySource::Stdin
        } else {
            PolicySource::File(file.clone())
        };
        match Config::load(&source, &overlay) {
            Ok(config) => {
                let mut out = io::stdout().lock();
                writeln!(out, "{}", summary(&source, &config))?;
                if let Some(old) = &old {
                    write!(out, "{}", compared(&source, old, &config))?;
                }
            }
            Err(error) => {
                bad = true;
                writeln!(io::stderr().lock(), "{}", ExitFailure::misconfigured(error))?;
            }
        }
    }
    Ok(ExitCode::from(if bad { MISCONFIGURED } else { 0 }))
}

/// The line about a good file, such as `policies.yaml: good; 4 policies, 8 limits`.
fn summary(source: &PolicySource, config: &Config) -> String {
    let set = config.policies();
    let limits = set.policies().iter().map(|policy| policy.limits().len()).sum();
    let name = escaped(&source.to_string());
    let policies = counted(set.policies().len(), "policy", "policies");
    format!("{name}: good; {policies}, {}", counted(limits, "limit", "limits"))
}

/// The limits that would begin anew with this file, a line for each.
fn compared(source: &PolicySource, old: &Config, new: &Config) -> String {
    let anew = against::begin_anew(old.policies(), new.policies());
    let name = escaped(&source.to_string());
    if anew.is_empty() {
        return format!("{name}: no limit begins anew in a shared store, restarted or reloaded\n");
    }
    let limits = counted(anew.len(), "limit begins", "limits begin");
    let mut text = format!("{name}: {limits} anew if nodes are restarted with this file:\n");
    for (limit, why) in anew {
        text += &format!("  {limit}: {why}\n");
    }
    text
}
