//! `cargo xtask test`: the stages that prove the tree, the cheapest first.
//!
//! The first failure ends the run, so a formatting mistake is known in a second and not after the
//! slow searches. `cargo xtask quick` runs three of the stages, before a commit.

use std::time::{Duration, Instant};

use crate::api;
use crate::deny;
use crate::guard::{self, Mode};
use crate::install;
use crate::shell::{Cmd, Failure, target_dir};
use crate::sim;
use crate::summary::{Outcome, Summary, seconds};

/// One stage of the full test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Install,
    Format,
    Clippy,
    Test,
    Fast,
    Doctest,
    Docs,
    Check,
    Deny,
    Api,
    Loom,
    Sim,
    Guard,
}

// === impl Stage ===

impl Stage {
    /// The stages of `cargo xtask test`.
    pub(crate) const ALL: [Self; 12] = [
        Self::Install,
        Self::Format,
        Self::Clippy,
        Self::Test,
        Self::Doctest,
        Self::Docs,
        Self::Check,
        Self::Deny,
        Self::Api,
        Self::Loom,
        Self::Sim,
        Self::Guard,
    ];

    /// The stages of `cargo xtask quick`.
    pub(crate) const QUICK: [Self; 3] = [Self::Format, Self::Clippy, Self::Fast];

    /// The name, as given to `--only`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Install => "install",
            Self::Format => "format",
            Self::Clippy => "clippy",
            Self::Test => "test",
            Self::Fast => "fast",
            Self::Doctest => "doctest",
            Self::Docs => "docs",
            Self::Check => "check",
            Self::Deny => "deny",
            Self::Api => "api",
            Self::Loom => "loom",
            Self::Sim => "sim",
            Self::Guard => "guard",
        }
    }

    /// What the stage does, in one line.
    fn about(self) -> &'static str {
        match self {
            Self::Install => "install what the tests need and this machine lacks",
            Self::Format => "check that rustfmt would change nothing",
            Self::Clippy => "lint every target; the fences are lints too",
            Self::Test => "run unit, integration, property and tidy tests",
            Self::Fast => "run the tests that start no server and search for seconds at most",
            Self::Doctest => "run the examples in the documentation",
            Self::Docs => "build the documentation; a broken link is an error",
            Self::Check => "compile every feature alone, the benchmark and the fuzz targets",
            Self::Deny => "judge licences, duplicates and sources of what comes from outside",
            Self::Api => "let an independent client try the server by its OpenAPI description",
            Self::Loom => "search thread interleavings of the in-memory store",
            Self::Sim => "simulate nodes whose store fails, from ten thousand seeds",
            Self::Guard => "compare instructions per decision with the committed figures",
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
            Self::Fast => fast_runner().run(),
            Self::Doctest => Cmd::cargo(&["test", "--doc", "--locked"]).run(),
            Self::Docs => Cmd::cargo(&["doc", "--no-deps", "--locked"])
                .env("RUSTDOCFLAGS", "-D warnings -D rustdoc::broken_intra_doc_links")
                .run(),
            Self::Check => checks().iter().try_for_each(Cmd::run),
            Self::Deny => deny::run(),
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

/// Runs `stages` in order up to the first failure, and prints how long each took.
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
        let result = stage.run();
        let took = start.elapsed();
        println!("=== {name}: {}", seconds(took));
        summary.add(name, took, Outcome::from(&result));
        failed = result.err().map(|failure| explain(*stage, failure));
    }
    println!("\n{summary}");
    failed.map_or(Ok(()), Err)
}

fn explain(stage: Stage, failure: Failure) -> Failure {
    let name = stage.name();
    let again = match stage {
        Stage::Fast => "cargo xtask quick".to_owned(),
        _ => format!("cargo xtask test --only {name}"),
    };
    let reason = format!("stage `{name}`: {}\n  stage:   {again}", failure.reason);
    Failure { reason, ..failure }
}

fn has_nextest() -> bool {
    Cmd::cargo(&["nextest", "--version"]).succeeds()
}

/// Runs all tests, with nextest if it is installed: it isolates each test in a process and stops
/// one that hangs. Plain `cargo test` is enough.
fn test_runner() -> Cmd {
    if has_nextest() {
        println!("with cargo-nextest");
        Cmd::cargo(&["nextest", "run", "--all-targets", "--locked"])
    } else {
        println!("with cargo test (cargo-nextest is not installed; both run the same tests)");
        Cmd::cargo(&["test", "--all-targets", "--locked"])
    }
}

/// Runs the fast tests; `.config/nextest.toml` says which these are.
fn fast_runner() -> Cmd {
    if has_nextest() {
        Cmd::cargo(&["nextest", "run", "--all-targets", "--locked", "--cargo-quiet"])
            .args(["--profile", "quick"].map(ToOwned::to_owned))
    } else {
        println!(
            "unit tests only (cargo-nextest, which can select the fast ones, is not installed)"
        );
        Cmd::cargo(&["test", "--lib", "--bins", "--locked"])
    }
}

/// Commands that check each feature that users can switch on, without the others, and the members
/// that nothing else compiles. `cargo check` is enough to know that they compile.
fn checks() -> Vec<Cmd> {
    let alone = FEATURES.iter().flat_map(|(package, features)| {
        let check = ["check", "--locked", "--package", package, "--no-default-features"];
        let one = move |feature: &&str| {
            Cmd::cargo(&check).args(["--features".to_owned(), (*feature).to_owned()])
        };
        core::iter::once(Cmd::cargo(&check)).chain(features.iter().map(one))
    });
    let others = ["--package", "tidegate-bench", "--package", "tidegate-fuzz"];
    let others = Cmd::cargo(&["check", "--locked"]).args(others.map(ToOwned::to_owned));
    alone.chain([others]).collect()
}

/// The features of each crate that has any; a test compares them with the manifests.
const FEATURES: &[(&str, &[&str])] = &[
    ("tidegate-engine", &["file"]),
    ("tidegate-stores", &["redis"]),
    ("tidegate-tower", &["axum", "otel", "serve"]),
    ("tidegate", &["redis", "tend", "tower", "axum", "serve", "otel", "abuse-limiter", "binary"]),
];

/// Runs the tests under loom, which replaces the atomics of the whole build, hence a target
/// directory of its own. The engine alone is enough, and without link-time optimisation it is
/// compiled in a third of the time.
fn loom() -> Cmd {
    let target = target_dir().join("loom").display().to_string();
    Cmd::cargo(&["test", "--profile", "search", "--locked", "--target-dir", &target])
        .args(["--package", "tidegate-engine", "--no-default-features"].map(ToOwned::to_owned))
        .args(["--test", "loom"].map(ToOwned::to_owned))
        .env("RUSTFLAGS", "--cfg loom")
        .env("LOOM_MAX_PREEMPTIONS", "3")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::root;

    #[test]
    fn the_guide_for_contributors_knows_every_stage() {
        let guide = include_str!("../../CONTRIBUTING.md");
        for stage in Stage::ALL {
            let row = format!("| `{}` |", stage.name());
            assert!(guide.contains(&row), "CONTRIBUTING.md: add a row {row} to the stages");
        }
    }

    #[test]
    fn every_feature_is_checked_alone() {
        for (package, features) in FEATURES {
            let path = root().join("crates").join(package).join("Cargo.toml");
            let text = std::fs::read_to_string(path).unwrap();
            let section = text.split("[features]\n").nth(1).unwrap();
            let section = section.split("\n[").next().unwrap();
            let names = section.lines().filter_map(|line| line.split_once(" = "));
            let is_feature = |name: &&str| *name != "default" && !name.starts_with('#');
            let mut names: Vec<&str> = names.map(|(name, _)| name).filter(is_feature).collect();
            let mut known = features.to_vec();
            names.sort_unstable();
            known.sort_unstable();
            assert_eq!(names, known, "{package}");
        }
        let with_features = std::fs::read_dir(root().join("crates")).unwrap().filter(|folder| {
            let manifest = folder.as_ref().unwrap().path().join("Cargo.toml");
            std::fs::read_to_string(manifest).unwrap().contains("\n[features]\n")
        });
        assert_eq!(with_features.count(), FEATURES.len());
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
        assert!(line.contains("/loom --package tidegate-engine"), "{line}");
    }
}
