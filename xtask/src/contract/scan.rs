//! Finds the tests of the crates, and the numbers that some carry, by reading the sources.
//!
//! To ask the test binaries for the names, all of them would have to be built, those of loom
//! included, just to make a page. The sources say the same: a test is a function under `#[test]` or
//! `#[tokio::test]`, inside `proptest!` as well. A test that is ignored proves nothing and does not
//! count. The checkers of the simulator are no tests themselves, but run after each of its steps.

use std::fs;
use std::io;
use std::path::Path;

use super::promises::{PromiseSection, PropertyNumber};
use crate::shell::files;

/// The folder of the checkers, functions that the simulator runs over every trace.
const CHECKERS: &str = "/src/sim/checks/";

/// A function that proves something: the properties whose numbers it carries, or the sentences that
/// name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Proof {
    pub(crate) numbers: Vec<PropertyNumber>,
    /// The place of the function, as `file::function`.
    pub(crate) place: String,
}

// === impl Proof ===

impl Proof {
    /// The name of the function.
    pub(crate) fn name(&self) -> &str {
        self.place.rsplit("::").next().unwrap_or_default()
    }
}

/// All proofs in the crates, sorted by place.
pub(crate) fn tree(root: &Path) -> io::Result<Vec<Proof>> {
    let mut proofs = Vec::new();
    for path in files(&root.join("crates"))? {
        if path.extension().is_some_and(|ending| ending == "rs") {
            let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy();
            proofs.extend(file(&name, &fs::read_to_string(&path)?));
        }
    }
    proofs.sort_by(|a, b| a.place.cmp(&b.place));
    Ok(proofs)
}

/// The proofs in one file.
fn file(path: &str, text: &str) -> Vec<Proof> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let proof = |(index, line): (usize, &&str)| {
        let name = function(line)?;
        let numbers = numbers(name);
        let counts = path.contains(CHECKERS) || is_test(&lines[..index]);
        counts.then(|| Proof { numbers, place: format!("{path}::{name}") })
    };
    lines.iter().enumerate().filter_map(proof).collect()
}

/// A complaint for each proof with a number that belongs to no promise.
pub(crate) fn stray(sections: &[PromiseSection], proofs: &[Proof]) -> Vec<String> {
    let promised = |number: &PropertyNumber| {
        sections.iter().flat_map(|section| &section.promises).any(|known| known.number == *number)
    };
    let complaint = |proof: &Proof| {
        let number = proof.numbers.iter().find(|number| !promised(number))?;
        Some(format!("  {} says {number}", proof.place))
    };
    proofs.iter().filter_map(complaint).collect()
}

/// The name of the function that begins on this line.
fn function(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fn ")?;
    let qualifies =
        |word: &str| matches!(word, "pub" | "async" | "const") || word.starts_with("pub(");
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    before.split_whitespace().all(qualifies).then(|| after.split(|c| !is_name(c)).next())?
}

/// The property numbers at the front of a name. Numbers of threats and faults may come before them.
fn numbers(name: &str) -> Vec<PropertyNumber> {
    let is_other = |part: &str| {
        let rest = part.strip_prefix(['t', 'r']).unwrap_or_default();
        rest.trim_end_matches(|c: char| c.is_ascii_lowercase()).parse::<u8>().is_ok()
    };
    let parts = name.split('_').skip_while(|part| is_other(part));
    parts.map_while(PropertyNumber::of_name).collect()
}

/// Whether the attributes at the end of `before` make the function below them a test that is run.
fn is_test(before: &[&str]) -> bool {
    let ends = |line: &&&str| line.is_empty() || line.ends_with(['}', '{', ';']);
    let attributes = || before.iter().rev().take_while(|line| !ends(line));
    let has = |start: &str| attributes().any(|line| line.starts_with(start));
    (has("#[test]") || has("#[tokio::test")) && !has(concat!("#[ig", "nore"))
}

#[cfg(test)]
mod self_test {
    use super::*;

    fn places(path: &str, text: &str) -> Vec<String> {
        file(path, text).into_iter().map(|proof| proof.place).collect()
    }

    #[test]
    fn tests_are_found_in_all_their_forms() {
        let text = "
            #[test]
            fn p01_plain() {}

            /// Why.
            #[tokio::test(flavor = \"multi_thread\")]
            async fn p02_waits() {}

            proptest! {
                #![proptest_config(few(8))]
                #[test]
                fn p03_for_all(x in 0..9) {}
            }";
        assert_eq!(
            places("a.rs", text),
            ["a.rs::p01_plain", "a.rs::p02_waits", "a.rs::p03_for_all"]
        );
    }

    #[test]
    fn what_is_not_run_is_no_proof() {
        let off = concat!("#[ig", "nore = \"slow\"]");
        for text in [
            "fn p01_helper() {}".to_owned(),
            "#[test]\nmod other {}\nfn p01_helper() {}".to_owned(),
            format!("#[test]\n{off}\nfn p01_off() {{}}"),
            "#[test]\n// fn p01_gone() {}".to_owned(),
        ] {
            assert_eq!(places("a.rs", &text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn a_number_is_not_needed() {
        let proofs = file("a.rs", "#[test]\nfn it_is_so() {}");
        let [proof] = proofs.as_slice() else { panic!("{proofs:?}") };
        assert_eq!((proof.name(), proof.numbers.len()), ("it_is_so", 0));
    }

    #[test]
    fn checkers_of_the_simulator_need_no_attribute() {
        let text = "pub(super) fn p24_login_account(trace: &Trace) {}";
        let path = "crates/tidegate-test/src/sim/checks/caps.rs";
        assert_eq!(places(path, text).len(), 1);
        assert_eq!(places("crates/tidegate-test/src/sim/clients.rs", text).len(), 0);
    }

    #[test]
    fn a_name_may_carry_several_numbers() {
        assert_eq!(numbers("p24_p25_caps"), [PropertyNumber::P(24), PropertyNumber::P(25)]);
        assert_eq!(numbers("t44_p76_reply"), [PropertyNumber::P(76)]);
        assert_eq!(numbers("r25c_p75_fleet"), [PropertyNumber::P(75)]);
        assert_eq!(numbers("g10_worst"), [PropertyNumber::G(10)]);
        assert_eq!(numbers("the_p24_of_it"), []);
        assert_eq!(numbers("t44_threat"), []);
    }

    #[test]
    fn a_number_of_nothing_promised_is_told() {
        let sections = super::super::promises::parse("## A\nP01 | a").unwrap();
        let proofs = file("a.rs", "#[test]\nfn p01_a() {}\n#[test]\nfn p97_c() {}");
        assert_eq!(stray(&sections, &proofs), ["  a.rs::p97_c says P97"]);
    }
}
