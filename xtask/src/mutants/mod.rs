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

use crate::shell::{Failure, root};
use crate::suggest::hint;
use crate::summary::seconds;
use list::Mutant;
use report::Report;
use trial::Trial;

/// The folder in which the mutant lists are kept.
const LISTS: &str = "xtask/mutants";

/// Which mutants to try, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Choice {
    /// The names of the mutants; all of them if empty.
    pub(crate) only: Vec<String>,
    /// How many things to compile and to test at a time.
    pub(crate) jobs: Option<NonZeroUsize>,
}

/// Prints the mutants and the properties they break.
pub(crate) fn print() -> Result<(), Failure> {
    for mutant in read()? {
        println!("{:<44} {:<8} {}", mutant.name, mutant.breaks.join(" "), mutant.file);
    }
    Ok(())
}

/// Tries the chosen mutants one after the other, and fails unless the tests kill them all.
pub(crate) fn run(choice: &Choice) -> Result<(), Failure> {
    let mutants = chosen(read()?, &choice.only)?;
    let trial = Trial::new(copy::bring()?, choice.jobs);
    trial.without_mutant(&mutants)?;
    let mut report = Report::default();
    for (index, mutant) in mutants.iter().enumerate() {
        print!("[{:>2}/{}] {:<44} ", index + 1, mutants.len(), mutant.name);
        let _ = std::io::Write::flush(&mut std::io::stdout());
        let start = Instant::now();
        let outcome = trial.of(mutant)?;
        println!("{outcome} ({})", seconds(start.elapsed()));
        report.add(mutant, start.elapsed(), outcome);
    }
    println!("\n{report}");
    if report.all_killed() {
        return Ok(());
    }
    let by_hand = report.to_repeat().map(|name| format!(" --only {name}")).collect::<String>();
    Err(Failure {
        reason: "not every mutant was killed".into(),
        by_hand: format!("cargo xtask mutants{by_hand}"),
    })
}

/// The mutants with these names, in the order of the list; all of them if `only` is empty.
fn chosen(mutants: Vec<Mutant>, only: &[String]) -> Result<Vec<Mutant>, Failure> {
    let is_known = |name: &&String| mutants.iter().any(|mutant| mutant.name == **name);
    if let Some(unknown) = only.iter().find(|name| !is_known(name)) {
        let hint = hint(unknown, mutants.iter().map(|mutant| mutant.name.as_str()));
        return Err(failed(format!("unknown mutant `{unknown}`{hint}")));
    }
    let wanted = |mutant: &Mutant| only.is_empty() || only.contains(&mutant.name);
    Ok(mutants.into_iter().filter(wanted).collect())
}

/// The mutants of all lists, in the order of the files.
fn read() -> Result<Vec<Mutant>, Failure> {
    let entries = fs::read_dir(root().join(LISTS));
    let mut paths: Vec<_> = entries
        .map_err(|error| failed(format!("{LISTS}: {error}")))?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|ending| ending == "txt"))
        .collect();
    paths.sort();
    let mut mutants = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path).map_err(|error| error.to_string());
        let read = text.and_then(|text| list::parse(&text));
        mutants.extend(read.map_err(|reason| failed(format!("{}: {reason}", path.display())))?);
    }
    Ok(mutants)
}

fn failed(reason: String) -> Failure {
    Failure { reason, by_hand: "cargo xtask mutants --list".into() }
}
