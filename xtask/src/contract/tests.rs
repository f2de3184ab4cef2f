//! The pages tell the truth, and what the failure semantics promise is held by tests.

use super::promises::PropertyNumber;
use super::*;

/// What the failure semantics promise: all but what drivers, stores and the gateway do.
fn failure_semantics() -> impl Iterator<Item = u8> {
    (1..=66).chain(79..=85)
}

#[test]
fn the_pages_are_what_would_be_written() {
    run(WriteOrCheck::Check).unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn every_property_of_the_failure_semantics_has_a_test() {
    let proofs = proofs().unwrap();
    let held = |number: &u8| {
        proofs.iter().any(|proof| proof.numbers.contains(&PropertyNumber::P(*number)))
    };
    let missing: Vec<u8> = failure_semantics().filter(|number| !held(number)).collect();
    assert!(missing.is_empty(), "without a test; name one `pNN_…`: {missing:?}");
}

#[test]
fn all_that_is_promised_is_listed() {
    let sections = promises().unwrap();
    let listed: Vec<PropertyNumber> =
        sections.iter().flat_map(|section| &section.promises).map(|known| known.number).collect();
    let expected: Vec<PropertyNumber> =
        (1..=96).map(PropertyNumber::P).chain((1..=10).map(PropertyNumber::G)).collect();
    assert_eq!(listed, expected);
}

#[test]
fn every_sentence_of_the_seeds_is_listed() {
    let sections = seeds().unwrap();
    let documents = sections.chunk_by(|one, next| one.document == next.document);
    let counts: Vec<(&str, usize)> = documents
        .map(|document| {
            let sentences = document.iter().map(|section| section.sentences.len());
            (document[0].document.split(' ').next().unwrap_or_default(), sentences.sum())
        })
        .collect();
    // A sentence that goes is missed here, and a new one comes with its test or its reason.
    assert_eq!(counts, [("000", 132), ("001", 86), ("002", 101), ("003", 59), ("004", 99)]);
}

/// The gateway is not built; everything else that has no test is a matter of this list.
#[test]
fn what_has_no_test_is_of_the_gateway_or_for_a_reason_of_its_own() {
    let sections = seeds().unwrap();
    for (title, sentence) in seeds::sentences(&sections) {
        let seeds::HeldBy::Not(reason) = &sentence.held else { continue };
        let of_gateway = reason.contains("comes with the gateway");
        assert_eq!(of_gateway, title.starts_with("004"), "{title}, line {}", sentence.line);
    }
}
