//! What the fuzzers began with, and what they found, replayed: `fuzz/` has the targets.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use tidegate_server::fuzz;

/// The inputs of one target; there are some.
fn corpus(target: &str) -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let files = fs::read_dir(&directory).unwrap_or_else(|error| panic!("{directory:?}: {error}"));
    let inputs: Vec<_> = files.map(|file| fs::read(file.unwrap().path()).unwrap()).collect();
    assert!(!inputs.is_empty(), "{directory:?} is empty");
    inputs
}

/// Reads an input as the target does; must not panic.
fn read(target: &str, input: &[u8]) {
    match target {
        "request_body" => drop(fuzz::request_body(input)),
        "request_query" => drop(fuzz::request_query(input)),
        _ => assert!(fuzz::cost(input), "{}", String::from_utf8_lossy(input)),
    }
}

const TARGETS: [&str; 3] = ["request_body", "request_query", "cost"];

#[test]
fn every_input_of_the_corpus_is_read() {
    for target in TARGETS {
        corpus(target).iter().for_each(|input| read(target, input));
    }
}

proptest! {
    #[test]
    fn t24_so_is_every_input_with_some_bytes_changed(
        target in prop::sample::select(TARGETS.to_vec()),
        which: prop::sample::Index,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut: prop::sample::Index,
    ) {
        let inputs = corpus(target);
        let mut input = inputs[which.index(inputs.len())].clone();
        for (place, byte) in changes {
            if !input.is_empty() {
                let place = place.index(input.len());
                input[place] = byte;
            }
        }
        input.truncate(cut.index(input.len() + 1).max(input.len() / 2));
        read(target, &input);
    }
}
