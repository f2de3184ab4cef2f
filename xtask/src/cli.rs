//! The command line: words in, one [`Invocation`] out.

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, Parser, Subcommand};

use crate::mutants::MutantChoice;
use crate::stages::{CiStage, TEST};

/// The commands of the repository.
#[derive(Debug, Parser)]
#[command(bin_name = "cargo xtask")]
pub(crate) struct CommandLine {
    #[command(subcommand)]
    pub(crate) request: Invocation,
}

/// What the command line asked for.
#[derive(Debug, PartialEq, Subcommand)]
pub(crate) enum Invocation {
    /// Prove the tree: install what is missing, then run every stage.
    ///
    /// The stages run in the order in which they are listed, up to the first that fails.
    Test {
        /// Run this stage alone; may be given several times.
        #[arg(long, value_name = "STAGE", value_parser = stage_names())]
        only: Vec<String>,
        /// Print the names of the stages and what they do.
        #[arg(long)]
        list: bool,
    },
    /// What to run before a commit: format, lints and the fast tests.
    ///
    /// Checks the format, lints every target and runs the tests that start no server and search for
    /// seconds at most: some minutes after a change of the core, seconds after a change of the
    /// server. What it lets through, `cargo xtask test` may still find.
    Quick,
    /// Ask whether a dependency has a known fault.
    ///
    /// Fetches the database of security advisories and judges the dependencies by it. Not a stage
    /// of `test`: what is known changes without the tree.
    Advisories,
    /// Compare instructions per decision with the committed figures.
    ///
    /// Counts the instructions of one decision, scenario by scenario, under valgrind's callgrind,
    /// and compares them with xtask/instructions.txt. Fails when one has grown by more than 3 %.
    Guard {
        /// Accept the present counts: rewrites the file, to be committed with the change that
        /// explains them.
        #[arg(long)]
        bless: bool,
    },
    /// Simulate nodes whose store fails, from seeds.
    ///
    /// Builds the simulator of crates/tidegate-test and runs it: nodes, clients and a store that
    /// fails, stalls and heals, all from one seed, checked after every step. Its arguments are
    /// `--seeds <n>` to run this many seeds, `--start <seed>` for the first of them, `--seed <seed>`
    /// to replay one and print its trace, and `--adversary` to search for schedules that gain an
    /// attacker most. `cargo xtask sim -- --help` shows them all.
    Sim(PassedOn),
    /// Break the code on purpose and expect the tests to notice.
    ///
    /// Makes each change listed in xtask/mutants to a copy of the tree under the target directory,
    /// one at a time, and runs the tests that have to notice. Fails if a mutant survives, or does
    /// not compile.
    Mutants(MutantChoice),
    /// Write docs/contract.md and docs/seeds.md: which test holds which property and sentence.
    ///
    /// The pages are made from the sentences in xtask/contract.txt and the numbers that the tests
    /// carry in their names, and from xtask/seeds.txt, which names code and tests.
    Contract {
        /// Write nothing; fail if a page is out of date.
        #[arg(long)]
        check: bool,
    },
    /// Measure Tidegate beside its peers.
    ///
    /// Builds crates/tidegate-bench with its peers in release mode and runs it: Tidegate and the
    /// others alternate within one run, and ratios are reported. It is a measurement and no part of
    /// `test`. `cargo xtask bench -- --help` shows its arguments.
    Bench(PassedOn),
}

/// Arguments that are passed on to another program.
#[derive(Args, Debug, PartialEq)]
pub(crate) struct PassedOn {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) arguments: Vec<String>,
}

fn stage_names() -> PossibleValuesParser {
    TEST.map(|CiStage { name, about, .. }| PossibleValue::new(name).help(about)).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Invocation, String> {
        let words = ["xtask"].into_iter().chain(line.split_whitespace());
        let parsed = CommandLine::try_parse_from(words);
        parsed.map(|line| line.request).map_err(|mistake| mistake.to_string())
    }

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn nothing_and_help_both_explain() {
        for line in ["", "help", "--help", "-h", "help help"] {
            assert!(parsed(line).unwrap_err().contains("cargo xtask"), "{line:?}");
        }
        for name in ["test", "quick", "advisories", "guard", "sim", "mutants", "contract", "bench"]
        {
            assert!(parsed("help").unwrap_err().contains(&format!("\n  {name} ")), "{name}");
            for line in [format!("help {name}"), format!("{name} --help")] {
                let usage = format!("Usage: cargo xtask {name}");
                assert!(parsed(&line).unwrap_err().contains(&usage), "{line:?}");
            }
        }
        assert!(parsed("test --help").unwrap_err().contains(TEST[0].about));
    }

    #[test]
    fn test_takes_all_stages_or_those_named() {
        let test = |only: &[&str], list| Ok(Invocation::Test { only: words(only), list });
        assert_eq!(parsed("test"), test(&[], false));
        assert_eq!(parsed("test --only loom --only clippy"), test(&["loom", "clippy"], false));
        assert_eq!(parsed("test --list"), test(&[], true));
    }

    #[test]
    fn guard_blesses_only_when_told() {
        assert_eq!(parsed("guard"), Ok(Invocation::Guard { bless: false }));
        assert_eq!(parsed("guard --bless"), Ok(Invocation::Guard { bless: true }));
        assert!(parsed("guard --bless now").unwrap_err().contains("'now'"));
    }

    #[test]
    fn contract_writes_unless_it_is_to_check() {
        assert_eq!(parsed("contract"), Ok(Invocation::Contract { check: false }));
        assert_eq!(parsed("contract --check"), Ok(Invocation::Contract { check: true }));
        assert!(parsed("contract --check now").unwrap_err().contains("'now'"));
    }

    #[test]
    fn mutants_takes_all_or_those_named() {
        let choice = |only: &[&str], jobs, list| {
            let jobs = std::num::NonZeroUsize::new(jobs);
            Ok(Invocation::Mutants(MutantChoice { only: words(only), jobs, list }))
        };
        assert_eq!(parsed("mutants"), choice(&[], 0, false));
        assert_eq!(parsed("mutants --only a --jobs 1 --only b"), choice(&["a", "b"], 1, false));
        assert_eq!(parsed("mutants --list"), choice(&[], 0, true));
        for line in ["mutants --jobs", "mutants --jobs 0", "mutants --jobs many", "mutants --only"]
        {
            assert!(parsed(line).unwrap_err().contains("value"), "{line}");
        }
    }

    #[test]
    fn sim_and_bench_pass_their_arguments_on() {
        let passed = |arguments: &[&str]| PassedOn { arguments: words(arguments) };
        assert_eq!(parsed("bench"), Ok(Invocation::Bench(passed(&[]))));
        for line in ["--rounds 3", "redis --rounds", "redis --help", "--only hot --rounds 3"] {
            let arguments: Vec<&str> = line.split(' ').collect();
            assert_eq!(parsed(&format!("bench {line}")), Ok(Invocation::Bench(passed(&arguments))));
        }
        assert_eq!(parsed("bench -- --help"), Ok(Invocation::Bench(passed(&["--help"]))));
        assert_eq!(parsed("bench -- --list"), Ok(Invocation::Bench(passed(&["--list"]))));
        assert_eq!(parsed("sim --seed 7"), Ok(Invocation::Sim(passed(&["--seed", "7"]))));
        assert_eq!(parsed("sim -- --help"), Ok(Invocation::Sim(passed(&["--help"]))));
    }

    #[test]
    fn mistakes_are_answered_with_a_suggestion() {
        for (line, meant) in [
            ("tets", "'test'"),
            ("mutant", "'mutants'"),
            ("test --onyl loom", "'--only"),
            ("test --only lom", "'loom'"),
            ("guard --bles", "'--bless'"),
            ("contract --chekc", "'--check'"),
            ("mutants --job 1", "'--jobs'"),
            ("gaurd", "'guard'"),
        ] {
            let mistake = parsed(line).unwrap_err();
            assert!(mistake.contains(meant), "{line}: {mistake}");
        }
        assert!(parsed("test --only").unwrap_err().contains("a value is required"));
        // Clap names this one and suggests nothing.
        assert!(parsed("help gaurd").unwrap_err().contains("'gaurd'"));
    }
}
