//! What the fuzzer began with, and what it found, replayed: `fuzz/` has the target.
#![cfg(feature = "redis")]
#![allow(clippy::unwrap_used, reason = "a test")]

use std::fs;
use std::path::Path;

use tidegate_stores::redis::fuzz::reply;

#[test]
fn p68_every_reply_of_the_corpus_is_an_answer_or_garbled() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/redis_reply");
    let mut answers = 0;
    for file in fs::read_dir(corpus).unwrap() {
        let bytes = fs::read(file.unwrap().path()).unwrap();
        answers += usize::from(reply(&bytes));
        for end in 0..bytes.len() {
            let _ = reply(&bytes[..end]);
        }
    }
    assert!(answers >= 8, "the seeds are answers, most of them");
}
