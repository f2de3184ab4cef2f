//! The policy file from outside: every error as it is shown, every example as it is loaded, and what
//! a hostile file cannot do.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test: what cannot be read fails it"
)]

mod blocks;
mod corpus;
mod door;
mod entrances;
mod environments;
mod examples;
mod golden;
mod loaded;
mod made;
mod scale;
mod schema;
mod versions;

use std::fs;
use std::path::{Path, PathBuf};

/// A folder of this repository.
fn folder(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The files of a folder with this ending: their names without it and their text, sorted.
fn texts(path: &str, ending: &str) -> Vec<(String, String)> {
    let entries = fs::read_dir(folder(path)).unwrap().map(|entry| entry.unwrap().path());
    let mut texts: Vec<(String, String)> = entries
        .filter(|path| path.extension().is_some_and(|found| found == ending))
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, fs::read_to_string(path).unwrap())
        })
        .collect();
    texts.sort();
    assert!(!texts.is_empty(), "no .{ending} in {path}");
    texts
}
