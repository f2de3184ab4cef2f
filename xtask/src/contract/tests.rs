//! The page tells the truth, and what the failure semantics promise is held by tests.

use super::promises::Number;
use super::*;

/// What the failure semantics promise: all but what drivers, stores and the gateway do.
fn failure_semantics() -> impl Iterator<Item = u8> {
    (1..=66).chain(79..=85)
}

#[test]
fn the_page_is_what_would_be_written() {
    run(Mode::Check).unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn every_property_of_the_failure_semantics_has_a_test() {
    let proofs = proofs().unwrap();
    let held = |number: &u8| proofs.iter().any(|proof| proof.numbers.contains(&Number::P(*number)));
    let missing: Vec<u8> = failure_semantics().filter(|number| !held(number)).collect();
    assert!(missing.is_empty(), "without a test; name one `pNN_…`: {missing:?}");
}

#[test]
fn all_that_is_promised_is_listed() {
    let sections = promises().unwrap();
    let listed: Vec<Number> =
        sections.iter().flat_map(|section| &section.promises).map(|known| known.number).collect();
    let expected: Vec<Number> = (1..=96).map(Number::P).chain((1..=10).map(Number::G)).collect();
    assert_eq!(listed, expected);
}
