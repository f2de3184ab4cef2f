//! What the fuzzer of records began with, and what it found, replayed: `fuzz/` has the target.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::fs;
use std::path::Path;

use tidegate_core::{
    Attempts, Bucket, Counts, Ladder, Period, Quota, Rate, Record, Shape, Span, Window,
};

fn shapes() -> [Shape; 5] {
    let window = |count| Window::try_new(count, Span::MINUTE, Counts::Admitted).unwrap();
    let quota = Quota::try_new(9, Period::Fixed(Span::DAY), Counts::Admitted).unwrap();
    let ladder = Ladder::default();
    [
        Shape::Bucket(Bucket::try_new(Rate::per_second(3).unwrap(), 5).unwrap()),
        Shape::Quota(quota),
        Shape::Window(window(5)),
        Shape::Window(window(500)),
        Shape::Attempts(Attempts::climbing(5, Span::MINUTE, ladder).unwrap()),
    ]
}

/// Whether the bytes are a record of any of the shapes; one that is written is read again.
fn is_record(bytes: &[u8]) -> bool {
    shapes().iter().any(|shape| match Record::decode(bytes, Some(shape)) {
        Ok(Some(record)) => {
            assert_eq!(Record::decode(&record.encode(), Some(shape)), Ok(Some(record)));
            true
        }
        Ok(None) | Err(_) => false,
    })
}

#[test]
fn p68_every_file_of_the_corpus_is_a_record_or_a_flaw() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/record");
    let (mut records, mut flaws) = (0, 0);
    for file in fs::read_dir(corpus).unwrap() {
        let bytes = fs::read(file.unwrap().path()).unwrap();
        if is_record(&bytes) {
            records += 1;
        } else {
            flaws += 1;
        }
        for end in 0..bytes.len() {
            let _ = is_record(&bytes[..end]);
        }
    }
    assert_eq!((records, flaws), (7, 5), "the seeds: one of each form, and one of each flaw");
}
