//! cargo-deny: checks the dependencies against `deny.toml`.
//!
//! Licences, duplicates and sources are facts of `Cargo.lock`, so checking them is a stage.
//! Advisories change from day to day and have to be fetched, so they are a command of their own: a
//! tree that was good yesterday should not fail today because of something found in a dependency.

use std::path::PathBuf;

use crate::shell::{Cmd, CommandFailure, target_dir};

/// The version of cargo-deny. Pinned: a check that is new tomorrow should not fail a tree that was
/// good today.
const VERSION: &str = "0.20.2";

/// Checks licences, duplicates and sources, which follow from `Cargo.lock`.
pub(crate) fn run() -> Result<(), CommandFailure> {
    check("bans licenses sources")
}

/// Checks the dependencies for known advisories. It fetches the advisory database.
pub(crate) fn advisories() -> Result<(), CommandFailure> {
    check("advisories")
}

fn check(what: &str) -> Result<(), CommandFailure> {
    let line = format!("--all-features check {what}");
    Cmd::new(program()?.display().to_string(), &line).run()
}

/// The path of cargo-deny, which is compiled if it is missing. Unoptimised, because it runs for a
/// second.
fn program() -> Result<PathBuf, CommandFailure> {
    let tools = target_dir().join("tools");
    let program = tools.join("bin/cargo-deny");
    if !program.exists() {
        let build = tools.join("build");
        let line = "install cargo-deny --locked --debug --quiet --no-default-features --version";
        Cmd::cargo(line)
            .args([VERSION, "--root", &tools.to_string_lossy()])
            .args(["--target-dir", &build.to_string_lossy()])
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .run()?;
        // Only the program is needed, out of a gigabyte.
        let _ = std::fs::remove_dir_all(build);
    }
    Ok(program)
}
