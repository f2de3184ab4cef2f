//! `docs/contract.md` and `docs/seeds.md`: the promises and the original requests, and the tests
//! that hold each of them.
//!
//! A promise without a test is a wish, and a list of tests that is kept by hand is wrong after a
//! month. So a test carries the number of its property in its name, and the page is made from the
//! names. The promises are kept in `xtask/contract.txt`, one line each, so that changing a promise
//! changes one line. The sentences of the seeds are kept in `xtask/seeds.txt` and name their tests.

mod page;
mod promises;
mod scan;
mod seeds;
#[cfg(test)]
mod tests;

use std::fs;

use crate::shell::{CommandFailure, WriteOrCheck, root};
use promises::PromiseSection;
use scan::Proof;
use seeds::SeedSection;

/// The file in which the promises are kept.
const PROMISES: &str = "xtask/contract.txt";

/// The page that is made from the promises.
const PAGE: &str = "docs/contract.md";

/// The file in which the sentences of the seeds are kept.
const SEEDS: &str = "xtask/seeds.txt";

/// The page that is made from the sentences of the seeds.
const SEEDS_PAGE: &str = "docs/seeds.md";

/// Makes both pages, then writes them or compares them with the present ones.
pub(crate) fn run(mode: WriteOrCheck) -> Result<(), CommandFailure> {
    let (proofs, promises, seeds) = (proofs()?, promises()?, seeds()?);
    let unpromised = scan::stray(&promises, &proofs);
    none_of("tests with property numbers that are missing", PROMISES, &unpromised)?;
    let unknown = seeds::stray(&seeds, &proofs, root());
    none_of("unknown files, tests or properties", SEEDS, &unknown)?;
    put(mode, PAGE, &page::render(&promises, &proofs))?;
    put(mode, SEEDS_PAGE, &seeds::render(&seeds, &proofs))
}

fn put(mode: WriteOrCheck, name: &str, page: &str) -> Result<(), CommandFailure> {
    let path = root().join(name);
    match mode {
        WriteOrCheck::Write => {
            fs::write(path, page).map_err(|error| failed(format!("writing {name}: {error}")))?;
            println!("wrote {name}");
            Ok(())
        }
        WriteOrCheck::Check if fs::read_to_string(path).is_ok_and(|present| present == page) => {
            Ok(())
        }
        WriteOrCheck::Check => {
            Err(failed(format!("{name} is out of date: the tests have changed")))
        }
    }
}

/// Whether there is a property with this number.
#[cfg(test)]
pub(crate) fn is_promised(number: &str) -> bool {
    let sections = promises().unwrap_or_default();
    let mut known = sections.iter().flat_map(|section| &section.promises);
    known.any(|promise| promise.number.to_string() == number)
}

fn none_of(what: &str, file: &str, stray: &[String]) -> Result<(), CommandFailure> {
    match stray {
        [] => Ok(()),
        _ => Err(failed(format!("{what} in {file}:\n{}", stray.join("\n")))),
    }
}

fn promises() -> Result<Vec<PromiseSection>, CommandFailure> {
    read(PROMISES, promises::parse)
}

fn seeds() -> Result<Vec<SeedSection>, CommandFailure> {
    read(SEEDS, seeds::parse)
}

fn read<T>(name: &str, parse: fn(&str) -> Result<T, String>) -> Result<T, CommandFailure> {
    let text = fs::read_to_string(root().join(name)).map_err(|error| error.to_string());
    text.and_then(|text| parse(&text)).map_err(|reason| failed(format!("{name}: {reason}")))
}

fn proofs() -> Result<Vec<Proof>, CommandFailure> {
    scan::tree(root()).map_err(|error| failed(format!("reading the crates: {error}")))
}

fn failed(reason: String) -> CommandFailure {
    CommandFailure::new(reason, "cargo xtask contract")
}
