//! `cargo xtask test`: the stages that prove the tree, in the order of their price.
//!
//! The cheap ones come first and the first failure ends the run, so a slip of formatting is known
//! in a second and not after the slow searches. A stage whose subject does not exist yet is skipped
//! loudly, never silently.

use std::time::{Duration, Instant};

use crate::api;
use crate::guard::{self, Mode};
use crate::install;
use crate::shell::{Cmd, Failure, root, target_dir};
use crate::sim;
use crate::summary::{Outcome, Summary, seconds};

/// One step of the proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Install,
    Format,
    Clippy,
    Test,
    Doctest,
    Docs,
    Shipped,
    Api,
    Loom,
    Sim,
    Guard,
}

// === impl Stage ===

impl Stage {
    pub(crate) const ALL: [Self; 11] = [
        Self::Install,
        Self::Format,
        Self::Clippy,
        Self::Test,
        Self::Doctest,
        Self::Docs,
        Self::Shipped,
        Self::Api,
        Self::Loom,
        Self::Sim,
        Self::Guard,
    ];

    /// The name, as given to `--only`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Install => "install",
            Self::Format => "format",
            Self::Clippy => "clippy",
            Self::Test => "test",
            Self::Doctest => "doctest",
            Self::Docs => "docs",
            Self::Shipped => "shipped",
            Self::Api => "api",
            Self::Loom => "loom",
            Self::Sim => "sim",
            Self::Guard => "guard",
        }
    }

    /// What it does, in one line.
    fn about(self) -> &'static str {
        match self {
            Self::Install => "install what the tests need and this machine lacks",
            Self::Format => "check that rustfmt would change nothing",
            Self::Clippy => "lint every target; the fences are lints too",
            Self::Test => "run unit, integration, property and tidy tests",
            Self::Doctest => "run the examples in the documentation",
            Self::Docs => "build the documentation; a broken link is an error",
            Self::Shipped => "run the tests of answers as release builds give them",
            Self::Api => "let an independent client try the server by its OpenAPI description",
            Self::Loom => "search thread interleavings of the in-memory store",
            Self::Sim => "simulate nodes whose store fails, from ten thousand seeds",
            Self::Guard => "compare instructions per decision with the committed figures",
        }
    }

    /// The file it is about, without which there is nothing to run.
    fn subject(self) -> Option<&'static str> {
        match self {
            Self::Loom => Some("crates/tidegate-engine/tests/loom.rs"),
            Self::Sim => Some(sim::EXAMPLE),
            Self::Guard => Some(guard::EXAMPLE),
            _ => None,
        }
    }

    fn run(self) -> Result<(), Failure> {
        match self {
            Self::Install => install::run(),
            Self::Format => Cmd::cargo(&["fmt", "--all", "--check"]).run(),
            // Not `--workspace`: the default members leave the benchmark's peers out.
            Self::Clippy => {
                Cmd::cargo(&["clippy", "--all-targets", "--locked", "--", "-D", "warnings"]).run()
            }
            Self::Test => test_runner().run(),
            Self::Doctest => Cmd::cargo(&["test", "--doc", "--locked"]).run(),
            Self::Docs => Cmd::cargo(&["doc", "--no-deps", "--locked"])
                .env("RUSTDOCFLAGS", "-D warnings -D rustdoc::broken_intra_doc_links")
                .run(),
            Self::Shipped => shipped().run(),
            Self::Api => api::run(),
            Self::Loom => loom().run(),
            Self::Sim => sim::run(["--seeds", sim::SEEDS].map(ToOwned::to_owned)),
            Self::Guard => guard::run(Mode::Check),
        }
    }
}

/// The stages and what they do, one per line.
pub(crate) fn list() -> String {
    Stage::ALL.map(|stage| format!("  {:<8} {}\n", stage.name(), stage.about())).concat()
}

/// Runs `stages` in order up to the first failure, and sums up what each took.
pub(crate) fn run(stages: &[Stage]) -> Result<(), Failure> {
    let mut summary = Summary::default();
    let mut failed = None;
    for (index, stage) in stages.iter().enumerate() {
        let name = stage.name();
        if failed.is_some() {
            summary.add(name, Duration::ZERO, Outcome::NotRun);
            continue;
        }
        println!("\n=== [{}/{}] {name}: {}", index + 1, stages.len(), stage.about());
        let start = Instant::now();
        let result = run_or_skip(*stage);
        let took = start.elapsed();
        println!("=== {name}: {}", seconds(took));
        summary.add(name, took, Outcome::from(&result));
        failed = result.err().map(|failure| explain(*stage, failure));
    }
    println!("\n{summary}");
    failed.map_or(Ok(()), Err)
}

/// Whether the stage ran, unless it failed.
fn run_or_skip(stage: Stage) -> Result<Option<String>, Failure> {
    match stage.subject().filter(|path| !root().join(path).exists()) {
        Some(path) => {
            let reason = format!("{path} does not exist");
            println!("SKIPPED: {reason}");
            Ok(Some(reason))
        }
        None => stage.run().map(|()| None),
    }
}

fn explain(stage: Stage, failure: Failure) -> Failure {
    let name = stage.name();
    let reason =
        format!("stage `{name}`: {}\n  stage:   cargo xtask test --only {name}", failure.reason);
    Failure { reason, ..failure }
}

/// nextest isolates each test in a process and stops one that hangs; plain `cargo test` is enough.
fn test_runner() -> Cmd {
    if Cmd::cargo(&["nextest", "--version"]).succeeds() {
        println!("with cargo-nextest");
        Cmd::cargo(&["nextest", "run", "--all-targets", "--locked"])
    } else {
        println!("with cargo test (cargo-nextest is not installed; both run the same tests)");
        Cmd::cargo(&["test", "--all-targets", "--locked"])
    }
}

/// Details are told by debug builds only, so what a release build answers is another half of the code. Only
/// the crate that answers is compiled without debug assertions; everything else is there already.
fn shipped() -> Cmd {
    let profile = "profile.dev.package.tidegate-tower.debug-assertions=false";
    Cmd::cargo(&["test", "--locked", "--config", profile])
        .args(["--package", "tidegate-tower", "--lib", "answer::"].map(ToOwned::to_owned))
}

/// Loom replaces the atomics of the whole build, hence a target directory of its own.
fn loom() -> Cmd {
    let target = target_dir().join("loom").display().to_string();
    Cmd::cargo(&["test", "--release", "--locked", "--target-dir", &target])
        .args(["--package", "tidegate-engine", "--test", "loom"].map(ToOwned::to_owned))
        .env("RUSTFLAGS", "--cfg loom")
        .env("LOOM_MAX_PREEMPTIONS", "3")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guide_for_contributors_knows_every_stage() {
        let guide = include_str!("../../CONTRIBUTING.md");
        for stage in Stage::ALL {
            let row = format!("| `{}` |", stage.name());
            assert!(guide.contains(&row), "CONTRIBUTING.md: add a row {row} to the stages");
        }
    }

    #[test]
    fn a_failing_stage_says_which_and_how_to_repeat_it() {
        let failure = Failure { reason: "it broke".into(), by_hand: "cargo fmt".into() };
        let text = explain(Stage::Format, failure).to_string();
        for part in ["stage `format`: it broke", "cargo xtask test --only format", "cargo fmt"] {
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn loom_has_a_target_directory_of_its_own() {
        let line = loom().to_string();
        assert!(line.starts_with("RUSTFLAGS='--cfg loom' LOOM_MAX_PREEMPTIONS=3 cargo"), "{line}");
        assert!(line.contains("/loom --package tidegate-engine --test loom"), "{line}");
    }
}
