//! cargo-deny: what may come in from outside, by `deny.toml`.
//!
//! Licences, duplicates and sources are facts of `Cargo.lock`, so judging them is a stage. Advisories change
//! from day to day and have to be fetched, so they are a command of their own: a tree that was good
//! yesterday should not fail today because of what somebody has found out about a dependency.

use std::path::PathBuf;

use crate::shell::{Cmd, Failure, root, target_dir};

/// Pinned: a check that is new tomorrow should not fail a tree that was good today.
const VERSION: &str = "0.20.2";

/// Judges what `Cargo.lock` tells.
pub(crate) fn run() -> Result<(), Failure> {
    check(&["bans", "licenses", "sources"])
}

/// Judges what is known about the dependencies today. It fetches the database of advisories.
pub(crate) fn advisories() -> Result<(), Failure> {
    check(&["advisories"])
}

fn check(what: &[&str]) -> Result<(), Failure> {
    let program = program()?;
    Cmd::new(program.display().to_string(), &["--all-features", "check"])
        .args(what.iter().map(ToString::to_string))
        .run()
}

/// The program, compiled if it is not there. Unoptimised: it runs for a second.
fn program() -> Result<PathBuf, Failure> {
    let tools = root().join(target_dir()).join("tools");
    let program = tools.join("bin/cargo-deny");
    if !program.exists() {
        let (into, build) =
            (tools.display().to_string(), tools.join("build").display().to_string());
        Cmd::cargo(&[
            "install",
            "cargo-deny",
            "--version",
            VERSION,
            "--locked",
            "--debug",
            "--quiet",
        ])
        .args(["--no-default-features", "--root", &into, "--target-dir", &build].map(String::from))
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .run()?;
        // Only the program is wanted of a gigabyte.
        let _ = std::fs::remove_dir_all(tools.join("build"));
    }
    Ok(program)
}
