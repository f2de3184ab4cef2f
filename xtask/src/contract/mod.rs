//! `docs/contract.md`: what is promised, and which test holds it.
//!
//! A promise without a test is a wish, and a list of tests that is kept by hand lies after a month. So
//! a test carries the number of its property in its name, and the page is made from the names. The
//! sentences are kept in `xtask/contract.txt`, one line each, so that a change of promise is a change
//! of one line.

mod page;
mod promises;
mod scan;
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

/// What to do with the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Write it.
    Write,
    /// Fail if it would be another.
    Check,
}

/// Makes the page, then writes it or compares.
pub(crate) fn run(mode: Mode) -> Result<(), Failure> {
    let page = make()?;
    let path = root().join(PAGE);
    match mode {
        Mode::Write => {
            fs::write(path, page).map_err(|error| failed(format!("writing {PAGE}: {error}")))?;
            println!("wrote {PAGE}");
            Ok(())
        }
        Mode::Check if fs::read_to_string(path).is_ok_and(|present| present == page) => Ok(()),
        Mode::Check => Err(failed(format!("{PAGE} is out of date: the tests have changed"))),
    }
}

/// Whether a property has this number.
#[cfg(test)]
pub(crate) fn is_promised(number: &str) -> bool {
    let sections = promises().unwrap_or_default();
    let mut known = sections.iter().flat_map(|section| &section.promises);
    known.any(|promise| promise.number.to_string() == number)
}

/// The page as it should be.
fn make() -> Result<String, Failure> {
    let (sections, proofs) = (promises()?, proofs()?);
    let stray = scan::stray(&sections, &proofs);
    if !stray.is_empty() {
        let reason = format!("numbers of nothing promised in {PROMISES}:\n{}", stray.join("\n"));
        return Err(failed(reason));
    }
    Ok(page::render(&sections, &proofs))
}

fn promises() -> Result<Vec<Section>, Failure> {
    let text = fs::read_to_string(root().join(PROMISES)).map_err(|error| error.to_string());
    text.and_then(|text| promises::parse(&text))
        .map_err(|reason| failed(format!("{PROMISES}: {reason}")))
}

fn proofs() -> Result<Vec<Proof>, Failure> {
    scan::tree(root()).map_err(|error| failed(format!("reading the crates: {error}")))
}

fn failed(reason: String) -> Failure {
    Failure { reason, by_hand: "cargo xtask contract".into() }
}
