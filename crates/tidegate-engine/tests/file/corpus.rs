//! What the fuzzer feeds on, replayed; and mutations of it, made here.
//!
//! Nothing in a file makes its reader panic, run long or answer at length. `fuzz/README.md` says how
//! to let the fuzzer search for more.

use std::fs;

use proptest::prelude::*;
use tidegate_engine::file::File;

use crate::door::Sections;
use crate::{folder, texts};

const CORPUS: &str = "../../fuzz/corpus/policy_file";

/// Reads a text, holds the answer to its bounds, and tells whether it was accepted.
fn read(text: &str) -> bool {
    let answer = File::<Sections>::parse("f.yaml", text);
    let Err(refused) = answer else {
        let file = answer.unwrap();
        file.policies().clone().build(None).expect("a file that is read makes a set");
        file.budget().check().expect("and a budget");
        return true;
    };
    let shown = refused.to_string();
    assert!(!refused.problems().is_empty() && refused.problems().len() <= 50);
    assert!(shown.len() <= 50 * 4_000, "{} bytes to be shown", shown.len());
    let hostile = |c: char| c.is_control() && c != '\n';
    assert!(!shown.contains(hostile), "{shown:?}");
    let lines = text.matches('\n').count() + 1;
    assert!(refused.problems().iter().all(|problem| (1..=lines).contains(&problem.line())));
    false
}

#[test]
fn the_corpus_is_read_without_panic_and_within_bounds() {
    let mut seeds = 0;
    for entry in fs::read_dir(folder(CORPUS)).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        read(&String::from_utf8_lossy(&bytes));
        seeds += 1;
    }
    assert!(seeds > 50, "only {seeds}");
}

#[test]
fn every_case_and_example_is_in_the_corpus() {
    let corpus: Vec<String> = texts(CORPUS, "yaml").into_iter().map(|(_, text)| text).collect();
    for folder in ["tests/file/cases", "../../examples/policies"] {
        for (name, text) in texts(folder, "yaml") {
            assert!(corpus.contains(&text), "{name} is new; copy it to fuzz/corpus/policy_file");
        }
    }
}

/// Bytes replaced, removed, repeated and taken from another seed.
#[derive(Clone, Debug)]
enum Mutation {
    Replace(usize, u8),
    Remove(usize, usize),
    Repeat(usize, usize, usize),
    Splice(usize, usize, usize, usize),
}

impl Mutation {
    fn apply(&self, bytes: &mut Vec<u8>, seeds: &[Vec<u8>]) {
        let within = |at: usize, length: usize| at % length.max(1);
        match *self {
            Self::Replace(at, byte) => {
                let at = within(at, bytes.len());
                if let Some(old) = bytes.get_mut(at) {
                    *old = byte;
                }
            }
            Self::Remove(at, length) => {
                let start = within(at, bytes.len());
                let end = (start + length).min(bytes.len());
                bytes.drain(start..end);
            }
            Self::Repeat(at, length, times) => {
                let start = within(at, bytes.len());
                let part = bytes[start..(start + length).min(bytes.len())].to_vec();
                let more = part.repeat(times);
                bytes.splice(start..start, more);
            }
            Self::Splice(at, seed, from, length) => {
                let seed = &seeds[within(seed, seeds.len())];
                let from = within(from, seed.len());
                let part = seed[from..(from + length).min(seed.len())].to_vec();
                let at = within(at, bytes.len());
                bytes.splice(at..at, part);
            }
        }
    }
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let byte =
        prop_oneof![any::<u8>(), prop::sample::select(b"{}[]:,-&*!|>'\"#%@` \n\t09/".to_vec())];
    prop_oneof![
        (any::<usize>(), byte).prop_map(|(at, byte)| Mutation::Replace(at, byte)),
        (any::<usize>(), 1_usize..40).prop_map(|(at, length)| Mutation::Remove(at, length)),
        (any::<usize>(), 1_usize..60, 1_usize..30)
            .prop_map(|(at, length, times)| Mutation::Repeat(at, length, times)),
        (any::<usize>(), any::<usize>(), any::<usize>(), 1_usize..200)
            .prop_map(|(at, seed, from, length)| Mutation::Splice(at, seed, from, length)),
    ]
}

proptest! {
    #[test]
    fn mutations_of_the_corpus_are_read_without_panic_and_within_bounds(
        seed in any::<usize>(),
        mutations in prop::collection::vec(mutation(), 1..8),
    ) {
        let seeds: Vec<Vec<u8>> =
            texts(CORPUS, "yaml").into_iter().map(|(_, text)| text.into_bytes()).collect();
        let mut bytes = seeds[seed % seeds.len()].clone();
        for mutation in &mutations {
            mutation.apply(&mut bytes, &seeds);
        }
        read(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn any_text_is_read_without_panic(text in "\\PC{0,200}") {
        read(&text);
    }
}
