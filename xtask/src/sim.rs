//! `cargo xtask sim`: the simulator of `crates/tidegate-test`, as the tests have compiled it.
//!
//! Its arguments are passed on unchanged. A failing seed fails the same way on every machine, so
//! anybody can repeat it with the same command.

use crate::shell::{Cmd, Failure};

/// Number of seeds that a full test runs.
pub(crate) const SEEDS: &str = "10000";

/// Builds the simulator and runs it.
pub(crate) fn run(args: impl IntoIterator<Item = String>) -> Result<(), Failure> {
    command(args).run()
}

fn command(args: impl IntoIterator<Item = String>) -> Cmd {
    // Without a package: a package chosen alone would have its dependencies compiled again with
    // fewer features.
    Cmd::cargo(&["run", "--locked", "--example", "sim", "--"]).args(args)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_passed_on() {
        let line = command(["--seeds", SEEDS].map(ToOwned::to_owned)).to_string();
        assert_eq!(line, "cargo run --locked --example sim -- --seeds 10000");
    }
}
