//! `docs/contract.md` and `docs/seeds.md`: what is promised and what was asked for, and which test
//! holds it.
//!
//! A promise without a test is a wish, and a list of tests that is kept by hand lies after a month. So
//! a test carries the number of its property in its name, and the page is made from the names. The
//! sentences are kept in `xtask/contract.txt`, one line each, so that a change of promise is a change
//! of one line. Those of the seeds are kept in `xtask/seeds.txt` and name their tests.

mod page;
mod promises;
mod scan;
mod seeds;
#[cfg(test)]
mod tests;

use std::fs;

use crate::shell::{Failure, root};
use promises::Section;
use scan::Proof;

/// Where the sentences are kept.
const PROMISES: &str = "xtask/contract.txt";

/// What is made of them.
const PAGE: &str = "docs/contract.md";

/// Where the sentences of the seeds are kept.
const SEEDS: &str = "xtask/seeds.txt";

/// What is made of those.
const SEEDS_PAGE: &str = "docs/seeds.md";

/// What to do with the pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Write them.
    Write,
    /// Fail if one would be another.
    Check,
}

/// Makes the pages, then writes them or compares.
pub(crate) fn run(mode: Mode) -> Result<(), Failure> {
    let proofs = proofs()?;
    put(mode, PAGE, &contract(&proofs)?)?;
    put(mode, SEEDS_PAGE, &asked(&proofs)?)
}

fn put(mode: Mode, name: &str, page: &str) -> Result<(), Failure> {
    let path = root().join(name);
    match mode {
        Mode::Write => {
            fs::write(path, page).map_err(|error| failed(format!("writing {name}: {error}")))?;
            println!("wrote {name}");
            Ok(())
        }
        Mode::Check if fs::read_to_string(path).is_ok_and(|present| present == page) => Ok(()),
        Mode::Check => Err(failed(format!("{name} is out of date: the tests have changed"))),
    }
}

/// Whether a property has this number.
#[cfg(test)]
pub(crate) fn is_promised(number: &str) -> bool {
    let sections = promises().unwrap_or_default();
    let mut known = sections.iter().flat_map(|section| &section.promises);
    known.any(|promise| promise.number.to_string() == number)
}

/// The page of what is promised.
fn contract(proofs: &[Proof]) -> Result<String, Failure> {
    let sections = promises()?;
    none_of("numbers of nothing promised", PROMISES, &scan::stray(&sections, proofs))?;
    Ok(page::render(&sections, proofs))
}

/// The page of what the seeds ask for.
fn asked(proofs: &[Proof]) -> Result<String, Failure> {
    let documents = documents()?;
    none_of("names of nothing", SEEDS, &seeds::stray(&documents, proofs, root()))?;
    Ok(seeds::render(&documents, proofs))
}

fn none_of(what: &str, file: &str, stray: &[String]) -> Result<(), Failure> {
    match stray {
        [] => Ok(()),
        _ => Err(failed(format!("{what} in {file}:\n{}", stray.join("\n")))),
    }
}

fn promises() -> Result<Vec<Section>, Failure> {
    read(PROMISES, promises::parse)
}

fn documents() -> Result<Vec<seeds::Document>, Failure> {
    read(SEEDS, seeds::parse)
}

fn read<T>(name: &str, parse: fn(&str) -> Result<T, String>) -> Result<T, Failure> {
    let text = fs::read_to_string(root().join(name)).map_err(|error| error.to_string());
    text.and_then(|text| parse(&text)).map_err(|reason| failed(format!("{name}: {reason}")))
}

fn proofs() -> Result<Vec<Proof>, Failure> {
    scan::tree(root()).map_err(|error| failed(format!("reading the crates: {error}")))
}

fn failed(reason: String) -> Failure {
    Failure { reason, by_hand: "cargo xtask contract".into() }
}
