//! cargo-deny: checks the dependencies against `deny.toml`.
//!
//! Licences, duplicates and sources are facts of `Cargo.lock`, so checking them is a stage.
//! Advisories change from day to day and have to be fetched, so they are a command of their own: a
//! tree that was good yesterday should not fail today because of something found in a dependency.

use std::path::PathBuf;

use crate::shell::{Cmd, Failure, root, target_dir};

/// The version of cargo-deny. Pinned: a check that is new tomorrow should not fail a tree that was
/// good today.
const VERSION: &str = "0.20.2";

/// Checks licences, duplicates and sources, which follow from `Cargo.lock`.
pub(crate) fn run() -> Result<(), Failure> {
    check(&["bans", "licenses", "sources"])
}

/// Checks the dependencies for known advisories. It fetches the advisory database.
pub(crate) fn advisories() -> Result<(), Failure> {
    check(&["advisories"])
}

fn check(what: &[&str]) -> Result<(), Failure> {
    let program = program()?;
    Cmd::new(program.display().to_string(), &["--all-features", "check"])
        .args(what.iter().map(ToString::to_string))
        .run()
}

/// The path of cargo-deny, which is compiled if it is missing. Unoptimised, because it runs for a
/// second.
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
        // Only the program is needed, out of a gigabyte.
        let _ = std::fs::remove_dir_all(tools.join("build"));
    }
    Ok(program)
}
