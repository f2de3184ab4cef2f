//! `cargo xtask sim`: the simulator of `crates/tidegate-test`, as the tests have compiled it.
//!
//! Its arguments are passed on unchanged. A failing seed fails the same way on every machine, so
//! anybody can repeat it with the same command.

use crate::shell::Cmd;

/// The arguments of a full test.
pub(crate) const FULL: &str = "--seeds 10000";

/// The command that builds the simulator and runs it with these arguments.
pub(crate) fn command(args: impl IntoIterator<Item = impl Into<String>>) -> Cmd {
    // Without a package: a package chosen alone would have its dependencies compiled again with
    // fewer features.
    Cmd::cargo("run --locked --example sim --").args(args)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_passed_on() {
        let line = command(FULL.split(' ')).to_string();
        assert_eq!(line, "cargo run --locked --example sim -- --seeds 10000");
    }
}
