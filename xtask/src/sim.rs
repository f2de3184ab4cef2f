//! `cargo xtask sim`: the simulator of `crates/tidegate-test`, in release mode.
//!
//! Its arguments are its own and passed on as they are. A failing seed fails the same way wherever it
//! is run, so the command that repeats it is one for everybody.

use crate::shell::{Cmd, Failure};

/// The program.
pub(crate) const EXAMPLE: &str = "crates/tidegate-test/examples/sim.rs";

/// How many seeds prove a tree.
pub(crate) const SEEDS: &str = "10000";

/// Builds the simulator and runs it.
pub(crate) fn run(args: impl IntoIterator<Item = String>) -> Result<(), Failure> {
    command(args).run()
}

fn command(args: impl IntoIterator<Item = String>) -> Cmd {
    Cmd::cargo(&["run", "--release", "--locked", "--package", "tidegate-test"])
        .args(["--example", "sim", "--"].map(ToOwned::to_owned))
        .args(args)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_passed_on() {
        let line = command(["--seeds", SEEDS].map(ToOwned::to_owned)).to_string();
        let example = "--package tidegate-test --example sim";
        assert_eq!(line, format!("cargo run --release --locked {example} -- --seeds 10000"));
    }
}
