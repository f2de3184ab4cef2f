//! `cargo xtask sim`: the simulator of `crates/tidegate-test`, as the tests have compiled it.
//!
//! Its arguments are its own and passed on as they are. A failing seed fails the same way wherever it
//! is run, so the command that repeats it is one for everybody.

use crate::shell::{Cmd, Failure};

/// How many seeds prove a tree.
pub(crate) const SEEDS: &str = "10000";

/// Builds the simulator and runs it.
pub(crate) fn run(args: impl IntoIterator<Item = String>) -> Result<(), Failure> {
    command(args).run()
}

fn command(args: impl IntoIterator<Item = String>) -> Cmd {
    // Without a package: chosen alone, it would have its dependencies compiled anew with fewer features.
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
