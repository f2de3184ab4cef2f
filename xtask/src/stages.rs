//! `cargo xtask test`: the stages that prove the tree, the cheapest first.
//!
//! The first failure ends the run, so a formatting mistake is known in a second and not after the
//! slow searches. `cargo xtask quick` runs three of the stages, before a commit.

use std::time::{Duration, Instant};

use crate::api;
use crate::deny;
use crate::guard;
use crate::install;
use crate::shell::{Cmd, CommandFailure, WriteOrCheck, target_dir};
use crate::sim;
use crate::summary::{seconds, summary};

/// One stage of a test.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CiStage {
    /// The name, as given to `--only`.
    pub(crate) name: &'static str,
    /// What the stage does, in one line.
    pub(crate) about: &'static str,
    run: fn() -> Result<(), CommandFailure>,
}

const FORMAT: CiStage = stage("format", "check that rustfmt would change nothing", || {
    Cmd::cargo("fmt --all --check").run()
});

const CLIPPY: CiStage = stage("clippy", "lint every target; the fences are lints too", || {
    // Not `--workspace`: the default members leave the benchmark's peers out.
    Cmd::cargo("clippy --all-targets --locked -- -D warnings").run()
});

/// The stages of `cargo xtask test`, in order.
pub(crate) const TEST: [CiStage; 12] = [
    stage("install", "install what the tests need and this machine lacks", install::run),
    FORMAT,
    CLIPPY,
    stage("test", "run unit, integration, property and tidy tests", || test_runner().run()),
    stage("doctest", "run the examples in the documentation", || {
        Cmd::cargo("test --doc --locked").run()
    }),
    stage("docs", "build the documentation; a broken link is an error", || {
        Cmd::cargo("doc --no-deps --locked")
            .env("RUSTDOCFLAGS", "-D warnings -D rustdoc::broken_intra_doc_links")
            .run()
    }),
    stage("check", "compile every feature alone, the benchmark and the fuzz targets", || {
        checks().iter().try_for_each(Cmd::run)
    }),
    stage("deny", "judge licences, duplicates and sources of what comes from outside", deny::run),
    stage("api", "let an independent client try the server by its OpenAPI description", api::run),
    stage("loom", "search thread interleavings of the in-memory store and of circuits", || {
        loom().run()
    }),
    stage("sim", "simulate nodes whose store fails, from ten thousand seeds", || {
        sim::command(sim::FULL.split(' ')).run()
    }),
    stage("guard", "compare instructions per decision with the committed figures", || {
        guard::run(WriteOrCheck::Check)
    }),
];

/// The stages of `cargo xtask quick`.
pub(crate) const QUICK: [CiStage; 3] = [
    FORMAT,
    CLIPPY,
    stage("fast", "run the tests that start no server and search for seconds at most", || {
        fast_runner().run()
    }),
];

const fn stage(
    name: &'static str,
    about: &'static str,
    run: fn() -> Result<(), CommandFailure>,
) -> CiStage {
    CiStage { name, about, run }
}

/// The stages of `cargo xtask test` and what they do, one per line.
pub(crate) fn list() -> String {
    TEST.map(|CiStage { name, about, .. }| format!("  {name:<8} {about}\n")).concat()
}

/// The stages of `cargo xtask test` with these names, in the order of the names.
pub(crate) fn named(names: &[String]) -> Vec<CiStage> {
    names.iter().filter_map(|name| TEST.into_iter().find(|stage| stage.name == *name)).collect()
}

/// Runs `stages` in order up to the first failure, and prints how long each took.
pub(crate) fn run(stages: &[CiStage]) -> Result<(), CommandFailure> {
    let mut rows = Vec::new();
    let mut result = Ok(());
    for (index, CiStage { name, about, run }) in stages.iter().enumerate() {
        if result.is_err() {
            rows.push((*name, Duration::ZERO, "not run"));
            continue;
        }
        println!("\n=== [{}/{}] {name}: {about}", index + 1, stages.len());
        let start = Instant::now();
        result = run().map_err(|failure| explain(name, failure));
        let took = start.elapsed();
        println!("=== {name}: {}", seconds(took));
        rows.push((*name, took, if result.is_ok() { "ok" } else { "FAILED" }));
    }
    println!("\n{}", summary(&rows));
    result
}

fn explain(name: &str, failure: CommandFailure) -> CommandFailure {
    let again = match name {
        "fast" => "cargo xtask quick".to_owned(),
        _ => format!("cargo xtask test --only {name}"),
    };
    let reason = format!("stage `{name}`: {}\n  stage:   {again}", failure.reason);
    CommandFailure { reason, ..failure }
}

/// Whether cargo-nextest is installed.
pub(crate) fn has_nextest() -> bool {
    Cmd::cargo("nextest --version").succeeds()
}

/// Runs all tests, with nextest if it is installed: it isolates each test in a process and stops
/// one that hangs. Plain `cargo test` is enough.
fn test_runner() -> Cmd {
    if has_nextest() {
        println!("with cargo-nextest");
        Cmd::cargo("nextest run --all-targets --locked")
    } else {
        println!("with cargo test (cargo-nextest is not installed; both run the same tests)");
        Cmd::cargo("test --all-targets --locked")
    }
}

/// Runs the fast tests; `.config/nextest.toml` says which these are.
fn fast_runner() -> Cmd {
    if has_nextest() {
        Cmd::cargo("nextest run --all-targets --locked --cargo-quiet --profile quick")
    } else {
        println!(
            "unit tests only (cargo-nextest, which can select the fast ones, is not installed)"
        );
        Cmd::cargo("test --lib --bins --locked")
    }
}

/// Commands that check each feature that users can switch on, without the others, and the members
/// that nothing else compiles. `cargo check` is enough to know that they compile.
fn checks() -> Vec<Cmd> {
    let alone = FEATURES.iter().flat_map(|(package, features)| {
        let check = format!("check --locked --package {package} --no-default-features");
        let one = |feature: &&str| Cmd::cargo(&format!("{check} --features {feature}"));
        let mut checks = vec![Cmd::cargo(&check)];
        checks.extend(features.iter().map(one));
        checks
    });
    let others = Cmd::cargo("check --locked --package tidegate-bench --package tidegate-fuzz");
    alone.chain([others]).collect()
}

/// The features of each crate that has any; a test compares them with the manifests.
const FEATURES: &[(&str, &[&str])] = &[
    ("tidegate-engine", &["file"]),
    ("tidegate-stores", &["redis"]),
    ("tidegate-tower", &["axum", "otel", "serve"]),
    (
        "tidegate",
        &[
            "redis",
            "tend",
            "tower",
            "axum",
            "serve",
            "otel",
            "abuse-limiter",
            "latencies",
            "binary",
        ],
    ),
];

/// Runs the tests under loom, which replaces the atomics of the whole build, hence a target
/// directory of its own. The engine alone is enough, and without link-time optimisation it is
/// compiled in a third of the time.
fn loom() -> Cmd {
    Cmd::cargo("test --profile search --locked --target-dir")
        .args([target_dir().join("loom").display().to_string()])
        .args(
            "--package tidegate-engine --no-default-features --test loom --test loom_circuit"
                .split(' '),
        )
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
        for stage in TEST {
            let row = format!("| `{}` |", stage.name);
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
        let failure = CommandFailure::new("it broke", "cargo fmt");
        let text = explain("format", failure).to_string();
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
