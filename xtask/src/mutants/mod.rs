//! `cargo xtask mutants`: the code broken on purpose, change by change, to see that the tests notice.
//!
//! A test that cannot fail looks like any other. So for the most important properties there is a
//! list of small wrong changes, each with the property it breaks and the tests that have to fail
//! for it. A tool that makes up changes by itself finds thousands, most of them meaningless, and
//! takes a night; these are changes that a reasonable person could make, and each costs one small
//! build.

mod copy;
mod list;
mod report;
#[cfg(test)]
mod tests;
mod trial;

use std::fs;
use std::num::NonZeroUsize;
use std::time::Instant;

use clap::Args;

use crate::shell::{self, CommandFailure, root};
use crate::suggest::hint;
use crate::summary::seconds;
use list::Mutant;
use trial::MutantTrial;

/// The folder in which the mutant lists are kept.
const LISTS: &str = "xtask/mutants";

/// Which mutants to try, and how.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MutantChoice {
    /// Try this mutant alone; may be given several times.
    #[arg(long, value_name = "NAME")]
    pub(crate) only: Vec<String>,
    /// Compile and test so many things at a time; as many as there are cores if not given.
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Print the mutants and the properties they break.
    #[arg(long)]
    pub(crate) list: bool,
}

/// Prints the mutants and the properties they break.
pub(crate) fn print() -> Result<(), CommandFailure> {
    for mutant in read()? {
        println!("{:<44} {:<8} {}", mutant.name, mutant.breaks.join(" "), mutant.file);
    }
    Ok(())
}

/// Tries the chosen mutants one after the other, and fails unless the tests kill them all.
pub(crate) fn run(choice: &MutantChoice) -> Result<(), CommandFailure> {
    let mutants = chosen(read()?, &choice.only)?;
    let trial = MutantTrial::new(copy::bring()?, choice.jobs);
    trial.without_mutant(&mutants)?;
    let (mut others, began) = (Vec::new(), Instant::now());
    for (index, mutant) in mutants.iter().enumerate() {
        print!("[{:>2}/{}] {:<44} ", index + 1, mutants.len(), mutant.name);
        let _ = std::io::Write::flush(&mut std::io::stdout());
        let start = Instant::now();
        let outcome = trial.of(mutant)?;
        println!("{outcome} ({})", seconds(start.elapsed()));
        others.extend(report::wrong(mutant, &outcome).map(|why| (mutant.name.as_str(), why)));
    }
    println!("\n{}", report::report(mutants.len(), began.elapsed(), &others));
    if others.is_empty() {
        return Ok(());
    }
    let names: String = others.iter().map(|(name, _)| format!(" --only {name}")).collect();
    let by_hand = format!("cargo xtask mutants{names}");
    Err(CommandFailure::new("not every mutant was killed", by_hand))
}

/// The mutants with these names, in the order of the list; all of them if `only` is empty.
fn chosen(mutants: Vec<Mutant>, only: &[String]) -> Result<Vec<Mutant>, CommandFailure> {
    let is_known = |name: &&String| mutants.iter().any(|mutant| mutant.name == **name);
    if let Some(unknown) = only.iter().find(|name| !is_known(name)) {
        let hint = hint(unknown, mutants.iter().map(|mutant| mutant.name.as_str()));
        return Err(failed(format!("unknown mutant `{unknown}`{hint}")));
    }
    let wanted = |mutant: &Mutant| only.is_empty() || only.contains(&mutant.name);
    Ok(mutants.into_iter().filter(wanted).collect())
}

/// The mutants of all lists, in the order of the files.
fn read() -> Result<Vec<Mutant>, CommandFailure> {
    let found = shell::files(&root().join(LISTS));
    let mut paths = found.map_err(|error| failed(format!("{LISTS}: {error}")))?;
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "txt"));
    paths.sort();
    let mut mutants = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path).map_err(|error| error.to_string());
        let read = text.and_then(|text| list::parse(&text));
        mutants.extend(read.map_err(|reason| failed(format!("{}: {reason}", path.display())))?);
    }
    Ok(mutants)
}

fn failed(reason: String) -> CommandFailure {
    CommandFailure::new(reason, "cargo xtask mutants --list")
}
