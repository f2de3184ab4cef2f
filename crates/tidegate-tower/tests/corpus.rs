//! What the fuzzers began with, and what they found, replayed: `fuzz/` has the targets.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::fs;
use std::net::IpAddr;
use std::path::Path;

use proptest::prelude::*;
use tidegate_tower::fuzz;

const TARGETS: [&str; 3] = ["client_address", "forwarded", "path"];

/// The inputs of one target; there are dozens.
fn corpus(target: &str) -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let files = fs::read_dir(&directory).unwrap_or_else(|error| panic!("{directory:?}: {error}"));
    let inputs: Vec<_> = files.map(|file| fs::read(file.unwrap().path()).unwrap()).collect();
    assert!(inputs.len() >= 24, "{directory:?}: only {}", inputs.len());
    inputs
}

/// Reads an input as the target does.
fn read(target: &str, input: &[u8]) {
    let peer = IpAddr::from([10, 0, 0, 1]);
    let shown = String::from_utf8_lossy(input);
    match target {
        "client_address" => {
            assert_eq!(fuzz::client_address(peer, &[], input), [peer; 2], "{shown}");
            let _ = fuzz::client_address(peer, &[peer.into()], input);
        }
        "forwarded" => assert!(fuzz::forwarded(input), "{shown}"),
        _ => assert!(fuzz::path(input), "{shown}"),
    }
}

#[test]
fn every_input_of_the_corpus_is_read() {
    for target in TARGETS {
        corpus(target).iter().for_each(|input| read(target, input));
    }
}

proptest! {
    #[test]
    fn so_is_every_input_with_some_bytes_changed(
        target in prop::sample::select(TARGETS.to_vec()),
        [first, second] in any::<[prop::sample::Index; 2]>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), 1..=u8::MAX), 1..6),
        cut: prop::sample::Index,
    ) {
        let inputs = corpus(target);
        let [first, second] = [first, second].map(|which| &inputs[which.index(inputs.len())]);
        // The beginning of one, the end of another.
        let mut input = first[..cut.index(first.len() + 1)].to_vec();
        input.extend(&second[cut.index(second.len() + 1)..]);
        for (place, byte) in changes {
            if !input.is_empty() {
                let place = place.index(input.len());
                input[place] ^= byte;
            }
        }
        read(target, &input);
    }
}
