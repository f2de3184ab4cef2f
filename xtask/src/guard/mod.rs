//! The instruction guard: what one decision costs, in a unit that does not depend on the weather.
//!
//! Wall time on a shared machine swings by a factor of two to four, so a test on it either cries
//! wolf or sleeps. Instructions executed under callgrind are nearly the same on every run. Each
//! scenario of `crates/tidegate-engine/examples/guard.rs` runs twice, with different numbers of
//! decisions; the difference leaves start-up out, and what remains is compared with committed
//! figures.

mod callgrind;
mod figures;

use std::fs;
use std::path::{Path, PathBuf};

use crate::shell::{Cmd, Failure, root, target_dir};
use figures::{Comparison, Figures};

/// What is measured: `guard list` names its scenarios, `guard <scenario> <n>` decides n times.
pub(crate) const EXAMPLE: &str = "crates/tidegate-engine/examples/guard.rs";

/// Where the accepted figures are kept.
const FIGURES: &str = "xtask/instructions.txt";

/// Decisions of the shorter run; the longer one makes twice as many.
const DECISIONS: u64 = 2_000;

/// What to do with the counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Compare them with the committed figures.
    Check,
    /// Make them the committed figures.
    Bless,
}

/// Counts the instructions of every scenario, then compares or blesses.
pub(crate) fn run(mode: Mode) -> Result<(), Failure> {
    Cmd::cargo(&["build", "--release", "--locked", "--package", "tidegate-engine"])
        .args(["--example", "guard"].map(ToOwned::to_owned))
        .run()?;
    let committed = read_figures()?;
    let compiler = compiler()?;
    let now = measure()?;
    let comparison = Comparison::new(&committed, &now);
    println!("\ninstructions per decision:\n\n{comparison}");
    match mode {
        Mode::Bless => bless(&now, &compiler),
        Mode::Check => {
            if let Some(other) = committed.compiler.filter(|other| *other != compiler) {
                println!("note: the figures are from {other}, this is {compiler}");
            }
            check(&comparison)
        }
    }
}

fn check(comparison: &Comparison) -> Result<(), Failure> {
    if comparison.has_gains() {
        println!("better than committed: run `cargo xtask guard --bless` to keep what was gained");
    }
    if comparison.is_accepted() {
        return Ok(());
    }
    let reason = format!(
        "instructions per decision differ from {FIGURES} (see the table)\n  \
         intended? `cargo xtask guard --bless` accepts them; commit the file with the reason"
    );
    Err(Failure { reason, by_hand: "cargo xtask guard".into() })
}

fn bless(now: &[(String, u64)], compiler: &str) -> Result<(), Failure> {
    let text = figures::render(now, compiler);
    fs::write(root().join(FIGURES), text).map_err(|e| failed(format!("writing {FIGURES}: {e}")))?;
    println!("wrote {FIGURES}: commit it with the change that explains it");
    Ok(())
}

fn read_figures() -> Result<Figures, Failure> {
    let path = root().join(FIGURES);
    // Without the file every scenario is missing, and the table says to bless.
    let text = if path.exists() { read(&path)? } else { String::new() };
    figures::parse(&text).map_err(|e| failed(format!("{FIGURES}: {e}")))
}

/// The compiler's name and version: with another one, counts may move by themselves.
fn compiler() -> Result<String, Failure> {
    let version = Cmd::new("rustc", &["--version"]).read()?;
    Ok(version.split_whitespace().take(2).collect::<Vec<_>>().join(" "))
}

fn measure() -> Result<Vec<(String, u64)>, Failure> {
    let binary = root().join(target_dir()).join("release/examples/guard").display().to_string();
    let listing = Cmd::new(&binary, &["list"]).read()?;
    let scenarios: Vec<&str> = listing.split_whitespace().collect();
    if scenarios.is_empty() {
        return Err(failed(format!("`guard list` names no scenario; see {EXAMPLE}")));
    }
    scenarios
        .into_iter()
        .map(|scenario| Ok((scenario.to_owned(), per_decision(&binary, scenario)?)))
        .collect()
}

fn per_decision(binary: &str, scenario: &str) -> Result<u64, Failure> {
    let few = count(binary, scenario, DECISIONS)?;
    let many = count(binary, scenario, 2 * DECISIONS)?;
    callgrind::per_decision(few, many, DECISIONS)
        .ok_or_else(|| failed(format!("scenario {scenario}: more decisions took no more work")))
}

/// All instructions of one run of the example.
fn count(binary: &str, scenario: &str, decisions: u64) -> Result<u64, Failure> {
    let out = out_file(scenario, decisions)?;
    let sink = format!("--callgrind-out-file={}", out.display());
    Cmd::new("valgrind", &["--quiet", "--tool=callgrind", &sink])
        .args([binary.to_owned(), scenario.to_owned(), decisions.to_string()])
        .run()?;
    callgrind::total(&read(&root().join(&out))?)
        .ok_or_else(|| failed(format!("{} holds no total", out.display())))
}

fn out_file(scenario: &str, decisions: u64) -> Result<PathBuf, Failure> {
    let dir = target_dir().join("guard");
    fs::create_dir_all(root().join(&dir)).map_err(|e| failed(format!("{}: {e}", dir.display())))?;
    Ok(dir.join(format!("{}-{decisions}.callgrind", scenario.replace('/', "-"))))
}

fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|e| failed(format!("{}: {e}", path.display())))
}

fn failed(reason: String) -> Failure {
    Failure { reason, by_hand: "cargo xtask guard".into() }
}
