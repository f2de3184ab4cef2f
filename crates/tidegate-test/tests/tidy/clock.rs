//! One file reads a clock.
//!
//! Clippy's fence can be lifted by an attribute where somebody is in a hurry; here the places are
//! counted.

use crate::demand_none;
use crate::tree::{self, File};

/// The file that may.
const READER: &str = "crates/tidegate-engine/src/clock.rs";

/// How a clock is read, or got hold of.
const READS: &[&str] =
    &["Instant::now", "SystemTime::now", "quanta", "Timestamp::now", "Zoned::now"];

/// Tools that measure for a living.
const EXEMPT: &[&str] = &["xtask/", "crates/tidegate-bench/"];

#[test]
fn one_file_reads_a_clock() {
    demand_none(&complaints(&tree::rust_files()));
}

fn complaints(files: &[File]) -> Vec<String> {
    let exempt = |file: &File| EXEMPT.iter().any(|folder| file.path.starts_with(folder));
    let subject: Vec<&File> =
        files.iter().filter(|file| !exempt(file) && !file.is_test()).collect();
    let mut complaints: Vec<String> = subject
        .iter()
        .filter(|file| file.path != READER)
        .flat_map(|file| reads(file).map(move |(number, read)| (file, number, read)))
        .map(|(file, number, read)| {
            format!("{}:{number}: `{read}`; take `now` as an argument, {READER} reads", file.path)
        })
        .collect();
    if !subject.iter().any(|file| file.path == READER && reads(file).next().is_some()) {
        complaints.push(format!("{READER}: reads no clock; update the tidy test if it has moved"));
    }
    complaints
}

fn reads(file: &File) -> impl Iterator<Item = (usize, &'static str)> {
    file.code_lines().filter_map(|(number, line)| {
        let read = READS.iter().find(|read| line.contains(*read))?;
        Some((number, *read))
    })
}

#[cfg(test)]
mod self_test {
    use super::*;

    fn said(path: &str, text: &str) -> Vec<String> {
        complaints(&[File::new(READER, "quanta::Clock::new()"), File::new(path, text)])
    }

    #[test]
    fn a_second_reader_is_found() {
        for read in READS {
            assert_eq!(said("crates/a/src/lib.rs", &format!("let x = {read}();")).len(), 1);
        }
    }

    #[test]
    fn comments_tests_and_tools_may_mention_it() {
        assert!(said("crates/a/src/lib.rs", "  /// Never `Instant::now`.").is_empty());
        for path in ["crates/a/tests/it/main.rs", "crates/a/src/x/tests.rs", "xtask/src/main.rs"] {
            assert!(said(path, "Instant::now()").is_empty(), "{path}");
        }
    }

    #[test]
    fn a_reader_that_has_gone_is_noticed() {
        assert_eq!(complaints(&[]).len(), 1);
        assert_eq!(complaints(&[File::new(READER, "// quanta")]).len(), 1);
    }
}
