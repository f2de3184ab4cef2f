//! Files stay small enough to be read in one sitting.

use crate::demand_none;
use crate::tree::{self, File};

/// No file of a crate's `src` is longer.
const LONGEST: usize = 500;

/// Half of them are shorter.
const MEDIAN: usize = 150;

#[test]
fn files_are_short() {
    let files: Vec<File> = tree::rust_files().into_iter().filter(File::is_source).collect();
    let median = median_too_high(files.iter().map(length).collect());
    demand_none(&files.iter().filter_map(too_long).chain(median).collect::<Vec<_>>());
}

fn too_long(file: &File) -> Option<String> {
    let (path, lines) = (&file.path, length(file));
    (lines > LONGEST).then(|| {
        format!("{path}: {lines} lines, at most {LONGEST}; split it where a second idea begins")
    })
}

fn median_too_high(lengths: Vec<usize>) -> Option<String> {
    let median = median(lengths)?;
    (median >= MEDIAN).then(|| {
        format!(
            "the median source file has {median} lines, under {MEDIAN} wanted; split the longer"
        )
    })
}

fn length(file: &File) -> usize {
    file.text.lines().count()
}

/// The upper median, which is a length that occurs.
fn median(mut lengths: Vec<usize>) -> Option<usize> {
    lengths.sort_unstable();
    lengths.get(lengths.len() / 2).copied()
}

#[cfg(test)]
mod self_test {
    use super::*;

    #[test]
    fn a_long_file_is_found() {
        let said = |lines| too_long(&File::new("a.rs", &"x\n".repeat(lines)));
        assert!(said(LONGEST).is_none());
        assert!(said(LONGEST + 1).is_some());
    }

    #[test]
    fn a_high_median_is_found() {
        assert_eq!(median(vec![]), None);
        assert_eq!(median(vec![9, 1, 5]), Some(5));
        assert!(median_too_high(vec![1, MEDIAN - 1, 900]).is_none());
        assert!(median_too_high(vec![1, MEDIAN, 900]).is_some());
    }
}
