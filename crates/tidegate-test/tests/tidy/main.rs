//! Tidy: rules about the repository itself, kept by reading it.
//!
//! What a compiler or a lint can hold is not here. The rest, such as which crate may name which and
//! whether the documents tell the truth, erodes by one reasonable exception at a time unless
//! something fails. Every check is a function from text to complaints, proven able to complain by a
//! test next to it; every complaint says what to do.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test: what cannot be read fails it"
)]

mod artefacts;
mod clock;
mod dependencies;
mod docs;
mod markers;
mod members;
mod modules;
mod purity;
mod signatures;
mod size;
mod tree;
mod words;

/// Fails with every complaint at once.
#[track_caller]
fn demand_none(complaints: &[String]) {
    assert!(complaints.is_empty(), "\n\n{}\n", complaints.join("\n"));
}
