//! The list fits the tree: every mutant is one change, to a file that is there, of what is promised.

use std::collections::BTreeSet;

use super::*;
use crate::contract;

/// The list does not shrink unseen.
const FEWEST: usize = 40;

#[test]
fn every_mutant_still_applies() {
    for mutant in read().unwrap() {
        let name = &mutant.name;
        let text = fs::read_to_string(root().join(&mutant.file)).unwrap_or_default();
        if let Err(why) = mutant.apply(&text) {
            panic!("{name}: {why}; the code has changed, so change the mutant in {LISTS} with it");
        }
        for tests in &mutant.tests {
            let manifest = root().join("crates").join(&tests.package).join("Cargo.toml");
            assert!(manifest.is_file(), "{name}: there is no package {}", tests.package);
        }
    }
}

#[test]
fn mutants_have_names_of_their_own_and_break_what_is_promised() {
    let (mutants, mut names) = (read().unwrap(), BTreeSet::new());
    assert!(mutants.len() >= FEWEST, "{} of {FEWEST}", mutants.len());
    for mutant in mutants {
        let name = &mutant.name;
        assert!(names.insert(name.clone()), "{name} is there twice");
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        assert!(name.chars().all(plain), "{name}: small letters, digits and hyphens");
        for number in &mutant.breaks {
            assert!(contract::is_promised(number), "{name}: {number} is not in the contract");
        }
    }
}

#[test]
fn a_name_that_is_no_mutant_is_answered_with_a_suggestion() {
    let list = "mutant abc-def\nbreaks P01\nfile a\ntest t\n-a\nmutant other\nbreaks P01\nfile a\ntest t\n-a";
    let mutants = || list::parse(list).unwrap();
    let names = |only: &[&str]| {
        let only: Vec<String> = only.iter().map(ToString::to_string).collect();
        let names = |mutants: Vec<Mutant>| mutants.into_iter().map(|mutant| mutant.name).collect();
        chosen(mutants(), &only).map(names)
    };
    assert_eq!(names(&[]), Ok(vec!["abc-def".to_owned(), "other".to_owned()]));
    assert_eq!(names(&["other"]), Ok(vec!["other".to_owned()]));
    let failure = names(&["abc-dfe"]).unwrap_err();
    assert!(failure.reason.contains("did you mean `abc-def`?"), "{failure}");
}
