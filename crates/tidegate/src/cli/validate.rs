//! `tidegate validate`: what is wrong with policy files.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use super::environment;
use super::failure::{Failure, MISCONFIGURED};
use super::source::Source;
use crate::config::Config;
use crate::text::{counted, escaped};

/// Say what is wrong with policy files, or that nothing is
///
/// Prints a line for each good file, and everything that is wrong with a bad one: where, what, and
/// what to write instead, in every environment that a file declares. Nothing is started, changed or
/// connected to.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  tidegate validate policies.yaml
  tidegate validate deploy/*.yaml && deploy     exit code 2 if any is bad
  tidegate validate policies.yaml -e staging    has it this environment?
  tidegate example | tidegate validate -        from standard input")]
pub(super) struct Args {
    /// Policy files; - is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[arg(short, long, value_name = "NAME", help = environment::HELP)]
    environment: Option<String>,
}

pub(super) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let mut bad = false;
    let environment = environment::chosen(args.environment.as_ref());
    for file in &args.files {
        let source =
            if file.as_os_str() == "-" { Source::Stdin } else { Source::File(file.clone()) };
        match Config::load(&source, environment.as_deref()) {
            Ok(config) => writeln!(io::stdout().lock(), "{}", summary(&source, &config))?,
            Err(error) => {
                bad = true;
                writeln!(io::stderr().lock(), "{}", Failure::misconfigured(error))?;
            }
        }
    }
    Ok(ExitCode::from(if bad { MISCONFIGURED } else { 0 }))
}

/// `policies.yaml: good; 4 policies, 8 limits`
fn summary(source: &Source, config: &Config) -> String {
    let set = config.policies();
    let limits = set.policies().iter().map(|policy| policy.limits().len()).sum();
    let name = escaped(&source.to_string());
    let policies = counted(set.policies().len(), "policy", "policies");
    format!("{name}: good; {policies}, {}", counted(limits, "limit", "limits"))
}
