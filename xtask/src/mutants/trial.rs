//! Tries one mutant on the tests: it is killed, survives, or proves nothing.

use std::fmt;
use std::fs;
use std::num::NonZeroUsize;
use std::process::Output;

use super::copy::Copy;
use super::list::{Mutant, Tests};
use crate::shell::{Cmd, CommandFailure};
use crate::stages::has_nextest;

/// The exit code of nextest if a test has failed; it has others if none could be run.
const A_TEST_FAILED: i32 = 100;

/// The result of trying one mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MutantOutcome {
    /// Killed by the test of this name.
    Killed(String),
    Survived,
    /// The mutant proves nothing, for this reason.
    Broken(String),
}

/// The copy of the tree on which mutants are tried, and how.
#[derive(Clone, Debug)]
pub(crate) struct MutantTrial {
    copy: Copy,
    jobs: Option<NonZeroUsize>,
    runner: Runner,
}

/// The program that runs the tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Runner {
    /// cargo-nextest, which also stops a mutant that never ends.
    Nextest,
    Cargo,
}

// === impl MutantTrial ===

impl MutantTrial {
    pub(crate) fn new(copy: Copy, jobs: Option<NonZeroUsize>) -> Self {
        let runner = if has_nextest() { Runner::Nextest } else { Runner::Cargo };
        Self { copy, jobs, runner }
    }

    /// Runs all the tests of `mutants` on the unchanged tree: a test that fails there can kill no
    /// mutant.
    pub(crate) fn without_mutant(&self, mutants: &[Mutant]) -> Result<(), CommandFailure> {
        let mut tried: Vec<&Tests> = Vec::new();
        for tests in mutants.iter().flat_map(|mutant| &mutant.tests) {
            if !tried.contains(&tests) {
                tried.push(tests);
                self.build(tests).run()?;
                self.test(tests).run()?;
            }
        }
        println!();
        Ok(())
    }

    /// Makes the change, runs the tests that have to notice, and takes the change back.
    pub(crate) fn of(&self, mutant: &Mutant) -> Result<MutantOutcome, CommandFailure> {
        let path = self.copy.tree.join(&mutant.file);
        let failure = |error: std::io::Error| {
            let by_hand = format!("cargo xtask mutants --only {}", mutant.name);
            CommandFailure::new(format!("{}: {error}", path.display()), by_hand)
        };
        let original = fs::read_to_string(&path).map_err(failure)?;
        let mutated = match mutant.apply(&original) {
            Ok(mutated) => mutated,
            Err(why) => return Ok(MutantOutcome::Broken(why)),
        };
        fs::write(&path, mutated).map_err(failure)?;
        let outcome = self.judge(&mutant.tests);
        fs::write(&path, original).map_err(failure)?;
        outcome
    }

    /// Runs the tests one by one; the first that the mutant does not survive decides.
    fn judge(&self, tests: &[Tests]) -> Result<MutantOutcome, CommandFailure> {
        for tests in tests {
            let build = self.build(tests).output()?;
            if !build.status.success() {
                return Ok(MutantOutcome::Broken(format!("does not compile\n{}", text(&build))));
            }
            let outcome = self.runner.judge(&self.test(tests).output()?);
            if outcome != MutantOutcome::Survived {
                return Ok(outcome);
            }
        }
        Ok(MutantOutcome::Survived)
    }

    /// Builds separately from running, so that a mutant that does not compile does not count as
    /// killed.
    fn build(&self, tests: &Tests) -> Cmd {
        self.cargo(tests, "test --no-run")
    }

    fn test(&self, tests: &Tests) -> Cmd {
        let subcommand = match self.runner {
            Runner::Nextest => "nextest run --profile mutants",
            Runner::Cargo => "test",
        };
        self.cargo(tests, subcommand).args(["--"]).args(&tests.filters)
    }

    fn cargo(&self, tests: &Tests, subcommand: &str) -> Cmd {
        let manifest = self.copy.tree.join("Cargo.toml").display().to_string();
        let build = self.copy.build.display().to_string();
        let mut cmd = Cmd::cargo(subcommand)
            .args(["--locked", "--manifest-path", &manifest, "--target-dir", &build])
            .args(["--package", &tests.package])
            .args(&tests.targets);
        if let Some(jobs) = self.jobs {
            for name in ["CARGO_BUILD_JOBS", "NEXTEST_TEST_THREADS", "RUST_TEST_THREADS"] {
                cmd = cmd.env(name, jobs.to_string());
            }
        }
        cmd
    }
}

// === impl Runner ===

impl Runner {
    fn judge(self, output: &Output) -> MutantOutcome {
        let text = text(output);
        match (self, output.status.code()) {
            (_, Some(0)) => MutantOutcome::Survived,
            (Self::Nextest, Some(A_TEST_FAILED)) | (Self::Cargo, _) => MutantOutcome::Killed(
                killer(&text).unwrap_or_else(|| "a test without a name".into()),
            ),
            (Self::Nextest, _) => {
                MutantOutcome::Broken(format!("its tests could not be run\n{text}"))
            }
        }
    }
}

// === impl MutantOutcome ===

impl fmt::Display for MutantOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Killed(test) => write!(f, "killed by {test}"),
            Self::Survived => f.write_str("SURVIVED"),
            Self::Broken(why) => write!(f, "BROKEN: {why}"),
        }
    }
}

fn text(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes)).concat()
}

/// The first test that failed, from the output of either runner.
fn killer(text: &str) -> Option<String> {
    text.lines().map(str::trim).find_map(|line| {
        if let Some(name) = line.strip_prefix("test ").and_then(|l| l.strip_suffix(" ... FAILED")) {
            return Some(name.to_owned());
        }
        let name = line.rsplit(' ').next()?;
        match line.split_once('[')?.0.trim_end() {
            "FAIL" => Some(name.to_owned()),
            "TIMEOUT" => Some(format!("{name}, which did not end")),
            how if how.starts_with("SIG") => Some(format!("{name}, by {how}")),
            _ => None,
        }
    })
}

#[cfg(test)]
mod self_test {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use super::*;

    fn ended(code: i32, stdout: &str) -> Output {
        let status = ExitStatus::from_raw(code << 8);
        Output { status, stdout: stdout.into(), stderr: Vec::new() }
    }

    #[test]
    fn only_a_failing_test_is_a_kill() {
        let nextest =
            |code| Runner::Nextest.judge(&ended(code, "    FAIL [ 0.1s] (1/2) core a::p24_x"));
        assert_eq!(nextest(0), MutantOutcome::Survived);
        assert_eq!(nextest(100), MutantOutcome::Killed("a::p24_x".into()));
        // No test matched, nothing could be built.
        for code in [4, 101] {
            assert!(matches!(nextest(code), MutantOutcome::Broken(_)), "{code}");
        }
        let cargo = Runner::Cargo.judge(&ended(101, "test a::p24_x ... FAILED\n"));
        assert_eq!(cargo, MutantOutcome::Killed("a::p24_x".into()));
        assert_eq!(Runner::Cargo.judge(&ended(0, "")), MutantOutcome::Survived);
    }

    #[test]
    fn the_killer_is_named_by_either_runner() {
        let named = |text: &str| killer(text).unwrap_or_default();
        assert_eq!(named("PASS [ 0.1s] core a\n  FAIL [ 0.1s] (2/2) core a::b\n"), "a::b");
        assert_eq!(named("  TIMEOUT [ 60.0s] (2/2) core b\n"), "b, which did not end");
        assert_eq!(named("  SIGABRT [ 0.1s] (2/2) core b\n"), "b, by SIGABRT");
        assert_eq!(named("test a ... ok\ntest b ... FAILED\ntest c ... FAILED"), "b");
        assert_eq!(killer("nothing [here]"), None);
    }

    #[test]
    fn the_copy_is_built_beside_itself_and_no_wider_than_asked() {
        let copy = Copy { tree: "/t/tree".into(), build: "/t/build".into() };
        let tests = Tests {
            package: "core".into(),
            targets: vec!["--lib".into()],
            filters: vec!["p24".into(), "caps".into()],
        };
        let mut trial = MutantTrial { copy, jobs: None, runner: Runner::Cargo };
        let line = trial.test(&tests).to_string();
        let place = "--locked --manifest-path /t/tree/Cargo.toml --target-dir /t/build";
        assert_eq!(line, format!("cargo test {place} --package core --lib -- p24 caps"));
        trial.jobs = NonZeroUsize::new(1);
        let line = trial.build(&tests).to_string();
        assert!(line.starts_with("CARGO_BUILD_JOBS=1 "), "{line}");
        assert!(line.ends_with("--package core --lib"), "{line}");
    }
}
