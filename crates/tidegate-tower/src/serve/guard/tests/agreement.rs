//! The guard agrees with the model, and with itself however the bytes are split.

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;

use super::grammar::{connection, mutated};
use super::model::judge;
use super::{ALL, Division, read, read_bytewise};

/// Cuts bytes into pieces of the given lengths, over and over.
fn pieces<'a>(bytes: &'a [u8], lengths: &'a [usize]) -> impl Iterator<Item = &'a [u8]> {
    let mut rest = bytes;
    lengths.iter().cycle().map_while(move |&length| {
        let (piece, after) = rest.split_at(length.min(rest.len()));
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

/// That a guard divides bytes as the model does, and each beginning of them.
fn agree(bytes: &[u8]) -> Result<(), TestCaseError> {
    let wanted: Division = judge(bytes).0;
    prop_assert_eq!(&read([bytes]), &wanted, "{}", bytes.escape_ascii());
    prop_assert_eq!(&read_bytewise(bytes), &wanted, "{}", bytes.escape_ascii());
    for count in 0..bytes.len() {
        let part = &bytes[..count];
        prop_assert_eq!(read([part]), judge(part).0, "{}", part.escape_ascii());
    }
    Ok(())
}

#[test]
fn the_grammar_reaches_every_fault_and_whole_connections() {
    let mut runner = TestRunner::deterministic();
    let bytes = prop_oneof![connection(), mutated()];
    let (mut seen, mut whole, mut requests) = (Vec::new(), 0, 0);
    for _ in 0..10_000 {
        let bytes = bytes.new_tree(&mut runner).unwrap().current();
        let (division, found) = judge(&bytes);
        requests += found.len();
        match division.refused {
            Some(malformed) => seen.push(malformed),
            None => whole += 1,
        }
    }
    for malformed in ALL {
        let count = seen.iter().filter(|&&other| other == malformed).count();
        assert!(count >= 5, "{malformed:?}: {count}");
    }
    assert!(whole > 1_000 && requests > 5_000, "{whole} whole connections, {requests} requests");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn made_up_connections_agree_with_the_model(bytes in connection()) {
        agree(&bytes)?;
    }

    #[test]
    fn mutated_connections_agree_with_the_model(bytes in mutated()) {
        agree(&bytes)?;
    }

    #[test]
    fn pieces_come_to_the_same_as_the_whole(
        bytes in prop_oneof![connection(), mutated()],
        lengths in prop::collection::vec(1_usize..40, 1..8),
    ) {
        let whole = read([&bytes[..]]);
        prop_assert_eq!(read(pieces(&bytes, &lengths)), whole, "{}", bytes.escape_ascii());
    }

    #[test]
    fn any_bytes_agree_with_the_model(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        agree(&bytes)?;
    }
}
