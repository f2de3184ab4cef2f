//! The instruction guard: the cost of one decision, in a unit that other load on the machine does
//! not change.
//!
//! Wall time on a shared machine swings by a factor of two to four, so a test on it either raises
//! false alarms or misses real ones. Instructions executed under callgrind are nearly the same on
//! every run. Each row of `crates/tidegate-guard` runs twice, with different numbers of decisions;
//! the difference leaves start-up out, and is compared with committed figures. The hot decision is
//! timed as well, beside the least a limiter can do: see `time.rs`.

mod callgrind;
mod figures;
mod time;

use std::fs;
use std::path::Path;

use crate::shell::{Cmd, CommandFailure, WriteOrCheck, root, target_dir};
use figures::{Comparison, GuardFigures};
use time::Times;

/// The source of the program that is measured: `guard list` names its rows, `guard <row> <n>`
/// decides n times, `guard time <rounds>` times the hot decision.
const PROGRAM: &str = "crates/tidegate-guard/src/main.rs";

/// The file in which the accepted figures are kept.
const FIGURES: &str = "xtask/instructions.txt";

/// Decisions of the shorter run: enough that all counters have been created.
const FEW: u64 = 200;
/// Decisions that the longer run makes in addition. They are many, because the place of a counter
/// in the store's table differs from run to run, and its cost to the shorter run is thus divided by
/// many.
const MORE: u64 = 4_000;

/// The arguments that time the hot decision, with turns that take about a second in all.
const ROUNDS: &str = "time 1000";
/// The file in which the times are kept, under the target directory.
const TIMES: &str = "guard/time.txt";

/// Counts the instructions of every row and times the hot decision, then compares or blesses.
pub(crate) fn run(mode: WriteOrCheck) -> Result<(), CommandFailure> {
    Cmd::cargo("build --release --locked --package tidegate-guard").run()?;
    let committed = read_figures()?;
    let compiler = compiler()?;
    let now = measure()?;
    let comparison = Comparison::new(&committed, &now);
    println!("\ninstructions per decision:\n\n{comparison}");
    time()?;
    match mode {
        WriteOrCheck::Write => bless(&now, &compiler),
        WriteOrCheck::Check => {
            if let Some(other) = committed.compiler.filter(|other| *other != compiler) {
                println!("note: the figures are from {other}, this is {compiler}");
            }
            check(&comparison)
        }
    }
}

fn check(comparison: &Comparison) -> Result<(), CommandFailure> {
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
    Err(failed(reason))
}

fn bless(now: &[(String, u64)], compiler: &str) -> Result<(), CommandFailure> {
    let text = figures::render(now, compiler);
    write(&root().join(FIGURES), &text)?;
    println!("wrote {FIGURES}: commit it with the change that explains it");
    Ok(())
}

fn read_figures() -> Result<GuardFigures, CommandFailure> {
    let path = root().join(FIGURES);
    // Without the file every scenario is unknown, and the table says to bless.
    let text = if path.exists() { read(&path)? } else { String::new() };
    figures::parse(&text).map_err(|e| failed(format!("{FIGURES}: {e}")))
}

/// The compiler's name and version: with another one, counts may change by themselves.
fn compiler() -> Result<String, CommandFailure> {
    let version = Cmd::new("rustc", "--version").read()?;
    Ok(version.split_whitespace().take(2).collect::<Vec<_>>().join(" "))
}

fn measure() -> Result<Vec<(String, u64)>, CommandFailure> {
    let listing = Cmd::new(binary(), "list").read()?;
    let rows: Vec<&str> = listing.split_whitespace().collect();
    if rows.is_empty() {
        return Err(failed(format!("`guard list` names no row; see {PROGRAM}")));
    }
    rows.into_iter().map(|row| Ok((row.to_owned(), per_decision(row)?))).collect()
}

/// Times the hot decision, prints its multiple of the floor, and saves it for comparisons between
/// runs.
fn time() -> Result<(), CommandFailure> {
    let cmd = Cmd::new(binary(), ROUNDS);
    let times = Times::parse(&cmd.read()?).map_err(|e| failed(format!("`{cmd}`: {e}")))?;
    println!("time per decision (not judged: time on a shared machine swings):\n\n{times}");
    write(&target_dir().join(TIMES), &times.to_string())?;
    match times.absurd() {
        None => Ok(()),
        Some(row) => Err(failed(format!("hot/{row}: no noise explains its multiple of the floor"))),
    }
}

fn binary() -> String {
    target_dir().join("release/tidegate-guard").display().to_string()
}

fn per_decision(row: &str) -> Result<u64, CommandFailure> {
    let (few, many) = (count(row, FEW)?, count(row, FEW + MORE)?);
    callgrind::per_decision(few, many, MORE)
        .ok_or_else(|| failed(format!("row {row}: more decisions took no more work")))
}

/// All instructions of one run of the program.
fn count(row: &str, decisions: u64) -> Result<u64, CommandFailure> {
    let dir = target_dir().join("guard");
    fs::create_dir_all(&dir).map_err(|e| failed(format!("{}: {e}", dir.display())))?;
    let out = dir.join(format!("{}-{decisions}.callgrind", row.replace('/', "-")));
    Cmd::new("valgrind", "--quiet --tool=callgrind")
        .args([format!("--callgrind-out-file={}", out.display()), binary()])
        .args([row.to_owned(), decisions.to_string()])
        .run()?;
    callgrind::total(&read(&out)?)
        .ok_or_else(|| failed(format!("{} holds no total", out.display())))
}

fn read(path: &Path) -> Result<String, CommandFailure> {
    fs::read_to_string(path).map_err(|e| failed(format!("{}: {e}", path.display())))
}

fn write(path: &Path, text: &str) -> Result<(), CommandFailure> {
    fs::write(path, text).map_err(|e| failed(format!("writing {}: {e}", path.display())))
}

fn failed(reason: String) -> CommandFailure {
    CommandFailure::new(reason, "cargo xtask guard")
}
