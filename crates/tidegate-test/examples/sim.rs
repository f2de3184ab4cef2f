//! Runs the simulator: `cargo xtask sim --seeds 10000`, or `--seed 7` to run one again and read it.
#![allow(
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::float_arithmetic,
    reason = "a tool: what it finds is to be read, and a share of a second is a share of a second"
)]

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use tidegate_core::{Cause, Clock as _, Span, Timestamp};
use tidegate_engine::SystemClock;
use tidegate_test::sim::adversary::{Goal, search};
use tidegate_test::sim::checks::Broken;
use tidegate_test::sim::trace::{Observation, What};
use tidegate_test::sim::{RunFigures, Schedule, run, run_and_compare, shrink};

const USAGE: &str =
    "usage: sim [--seeds N] [--start S] [--threads T] | --seed S | --adversary [--start S]";

/// What was asked for.
#[derive(Debug)]
struct Asked {
    seeds: u64,
    start: u64,
    threads: usize,
    one: Option<u64>,
    adversary: bool,
}

/// What all threads share.
struct Shared {
    next: AtomicU64,
    first: u64,
    end: u64,
    stop: AtomicBool,
    sum: Mutex<RunFigures>,
    failed: Mutex<Option<(u64, Broken)>>,
    clock: SystemClock,
    began: Timestamp,
}

/// One in so many seeds is run in other ways too.
const COMPARED: u64 = 50;
/// So many records of a failing trace are shown.
const LINES: usize = 60;
/// So much faster than real time it has to be.
const RATIO: u64 = 10_000;

fn main() -> ExitCode {
    let asked = match Asked::parse(std::env::args().skip(1)) {
        Ok(asked) => asked,
        Err(wrong) => {
            eprintln!("{wrong}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let fine = match asked.one {
        _ if asked.adversary => adversary(asked.start),
        Some(seed) => one(seed),
        None => many(&asked),
    };
    if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Lets somebody look for the worst that can be done.
fn adversary(seed: u64) -> bool {
    let mut fine = true;
    for goal in Goal::ALL {
        match search(goal, seed) {
            Ok(found) => {
                println!("{found}");
                fine &= found.holds();
            }
            Err(broken) => {
                println!("{goal:?}: {broken}");
                fine = false;
            }
        }
    }
    fine
}

/// Runs one seed, and shows it if it fails.
fn one(seed: u64) -> bool {
    let schedule = Schedule::of(seed);
    match run_and_compare(&schedule) {
        Ok(figures) => {
            println!("seed {seed} holds: {figures:?}");
            true
        }
        Err(broken) => {
            show(seed, broken);
            false
        }
    }
}

/// Runs many seeds on several threads.
fn many(asked: &Asked) -> bool {
    let clock = SystemClock::new();
    let shared = Shared {
        next: AtomicU64::new(asked.start),
        first: asked.start,
        end: asked.start + asked.seeds,
        stop: AtomicBool::new(false),
        sum: Mutex::default(),
        failed: Mutex::default(),
        began: clock.now(),
        clock,
    };
    std::thread::scope(|scope| {
        for _ in 1..asked.threads {
            scope.spawn(|| work(&shared, false));
        }
        work(&shared, true);
    });
    let failed = shared.failed.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some((seed, broken)) = failed {
        show(seed, broken);
        return false;
    }
    summary(&shared, asked)
}

fn work(shared: &Shared, tells: bool) {
    let mut told = shared.began;
    while !shared.stop.load(Ordering::Relaxed) {
        let seed = shared.next.fetch_add(1, Ordering::Relaxed);
        if seed >= shared.end {
            return;
        }
        let schedule = Schedule::of(seed);
        let ran = match seed % COMPARED {
            0 => run_and_compare(&schedule),
            _ => run(&schedule),
        };
        match ran {
            Ok(figures) => *shared.sum.lock().unwrap_or_else(PoisonError::into_inner) += figures,
            Err(broken) => {
                shared.stop.store(true, Ordering::Relaxed);
                let mut failed = shared.failed.lock().unwrap_or_else(PoisonError::into_inner);
                failed.get_or_insert((seed, broken));
            }
        }
        let now = shared.clock.now();
        if tells && now.since(told) >= Span::from_secs(5) {
            told = now;
            eprintln!(
                "{} of {} seeds",
                seed.saturating_sub(shared.first),
                shared.end - shared.first
            );
        }
    }
}

/// One line of figures. Whether it was fast enough.
fn summary(shared: &Shared, asked: &Asked) -> bool {
    let figures = *shared.sum.lock().unwrap_or_else(PoisonError::into_inner);
    let real = shared.clock.now().since(shared.began).as_micros().max(1);
    let ratio = figures.micros / real;
    let changes: Vec<String> = Cause::ALL
        .iter()
        .zip(figures.changes)
        .map(|(cause, count)| format!("{} {count}", cause.name()))
        .collect();
    println!(
        "{} seeds from {}, {} events, {} decisions, {}, {} compared and {} not ({:.1} h of virtual \
         time in {:.1} s, {ratio} times as fast)",
        asked.seeds,
        asked.start,
        figures.steps,
        figures.decisions,
        changes.join(", "),
        figures.compared,
        figures.uncompared,
        figures.micros as f64 / 3.6e9,
        real as f64 / 1e6,
    );
    if ratio < RATIO {
        eprintln!("less than {RATIO} times as fast as real time");
    }
    ratio >= RATIO
}

/// Shows the shortest schedule that fails in the same way.
fn show(seed: u64, broken: Broken) {
    println!("seed {seed} fails: cargo xtask sim --seed {seed}: {broken}");
    let failing = shrink::shrink(Schedule::of(seed), broken);
    println!("shortest: {}", failing.broken);
    for step in &failing.schedule.steps {
        println!("  {step:?}");
    }
    let telling = |record: &&Observation| !matches!(record.what, What::Stood(_) | What::Truth(_));
    let trace: Vec<&Observation> = failing.trace.iter().filter(telling).collect();
    for record in &trace[trace.len().saturating_sub(LINES)..] {
        println!("  {record}");
    }
}

// === impl Asked ===

impl Asked {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let mut asked = Self { seeds: 1_000, start: 0, threads, one: None, adversary: false };
        while let Some(word) = words.next() {
            if word == "--adversary" {
                asked.adversary = true;
                continue;
            }
            let value = words.next().ok_or_else(|| format!("{word} needs a number"))?;
            let number: u64 = value.parse().map_err(|_| format!("{value} is no number"))?;
            match word.as_str() {
                "--seeds" => asked.seeds = number,
                "--start" => asked.start = number,
                "--seed" => asked.one = Some(number),
                "--threads" => asked.threads = usize::try_from(number).unwrap_or(1).max(1),
                _ => return Err(format!("there is no {word}")),
            }
        }
        Ok(asked)
    }
}
