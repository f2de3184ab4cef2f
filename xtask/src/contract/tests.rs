//! The page tells the truth, and what the failure semantics promise is held by tests.

use super::promises::Number;
use super::*;

/// Properties of the failure semantics that no test holds yet. The list only gets shorter.
const WITHOUT_TEST: &[u8] = &[
    1, 3, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28,
    29, 30, 31, 32, 33, 34, 35, 37, 38, 39, 40, 41, 42, 43, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54,
    55, 56, 57, 58, 60, 61, 62, 63, 64, 65, 66, 79, 85,
];

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
    assert_eq!(
        missing, WITHOUT_TEST,
        "left: without a test; name one `pNN_…`. Right: WITHOUT_TEST in xtask/src/contract/tests.rs; \
         take out what has a test now"
    );
}

#[test]
fn all_that_is_promised_is_listed() {
    let sections = promises().unwrap();
    let listed: Vec<Number> =
        sections.iter().flat_map(|section| &section.promises).map(|known| known.number).collect();
    let expected: Vec<Number> = (1..=96).map(Number::P).chain((1..=10).map(Number::G)).collect();
    assert_eq!(listed, expected);
}
