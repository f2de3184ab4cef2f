//! The page of promises: one table per section.

use super::PROMISES;
use super::promises::{Promise, PromiseSection};
use super::scan::Proof;

/// Renders the whole page.
pub(crate) fn render(sections: &[PromiseSection], proofs: &[Proof]) -> String {
    let promises = || sections.iter().flat_map(|section| &section.promises);
    let proven = promises().filter(|promise| of(promise, proofs).next().is_some()).count();
    let mut page = format!(
        "# The contract: property → test\n\n\
         Made by `cargo xtask contract` from `{PROMISES}` and the names of the tests; do not edit it \
         by hand.\n\n\
         A test carries the number of what it holds: `p24_…` belongs to P24. Functions under\n\
         `src/sim/checks` are checkers: the simulator runs them over every trace. Of {} properties, \
         {proven}\nhave a test.\n",
        promises().count()
    );
    for section in sections {
        page.push_str(&format!("\n## {}\n\n", section.title));
        page.push_str("| | property | held by |\n|---|---|---|\n");
        page.extend(section.promises.iter().map(|promise| row(promise, proofs)));
    }
    page
}

fn row(promise: &Promise, proofs: &[Proof]) -> String {
    let places: Vec<String> =
        of(promise, proofs).map(|proof| format!("`{}`", proof.place)).collect();
    let held = match &promise.later {
        _ if !places.is_empty() => places.join("<br>"),
        Some(later) => later.clone(),
        None => "no test yet".to_owned(),
    };
    format!("| {} | {} | {held} |\n", promise.number, promise.sentence)
}

fn of<'a>(promise: &'a Promise, proofs: &'a [Proof]) -> impl Iterator<Item = &'a Proof> {
    proofs.iter().filter(|proof| proof.numbers.contains(&promise.number))
}

#[cfg(test)]
mod self_test {
    use super::super::promises::{self, PropertyNumber};
    use super::*;

    #[test]
    fn rows_say_who_holds_them_or_that_nobody_does() {
        let text = "## A\nP01 | one\nP02 | two\nP03 | three | comes with it\nP04 | four | late";
        let sections = promises::parse(text).unwrap();
        let proof = |number, place: &str| Proof {
            numbers: vec![PropertyNumber::P(number)],
            place: place.into(),
        };
        let proofs = [proof(1, "a.rs::p01_x"), proof(1, "b.rs::p01_y"), proof(4, "c.rs::p04_z")];
        let page = render(&sections, &proofs);
        for row in [
            "| P01 | one | `a.rs::p01_x`<br>`b.rs::p01_y` |\n",
            "| P02 | two | no test yet |\n",
            "| P03 | three | comes with it |\n",
            "| P04 | four | `c.rs::p04_z` |\n",
        ] {
            assert!(page.contains(row), "{row}\n{page}");
        }
        assert!(page.contains("Of 4 properties, 2\nhave a test."), "{page}");
    }
}
