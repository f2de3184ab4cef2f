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

use crate::shell::{Failure, root};
use promises::Section;
use scan::Proof;

/// The file in which the promises are kept.
const PROMISES: &str = "xtask/contract.txt";

/// The page that is made from the promises.
const PAGE: &str = "docs/contract.md";

/// The file in which the sentences of the seeds are kept.
const SEEDS: &str = "xtask/seeds.txt";

/// The page that is made from the sentences of the seeds.
const SEEDS_PAGE: &str = "docs/seeds.md";

/// What to do with the pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Write the pages.
    Write,
    /// Fail if a page is out of date.
    Check,
}

/// Makes both pages, then writes them or compares them with the present ones.
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

/// Whether there is a property with this number.
#[cfg(test)]
pub(crate) fn is_promised(number: &str) -> bool {
    let sections = promises().unwrap_or_default();
    let mut known = sections.iter().flat_map(|section| &section.promises);
    known.any(|promise| promise.number.to_string() == number)
}

/// Makes the page of promises.
fn contract(proofs: &[Proof]) -> Result<String, Failure> {
    let sections = promises()?;
    none_of(
        "tests with property numbers that are missing",
        PROMISES,
        &scan::stray(&sections, proofs),
    )?;
    Ok(page::render(&sections, proofs))
}

/// Makes the page of the requests of the seeds.
fn asked(proofs: &[Proof]) -> Result<String, Failure> {
    let documents = documents()?;
    let stray = seeds::stray(&documents, proofs, root());
    none_of("unknown files, tests or properties", SEEDS, &stray)?;
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
