//! The decision server beside a hello world and a peer, over real sockets.
//!
//! Load generator and server share the machine, so requests per second depend on both of them;
//! processor time per request is the cost of the server alone. Both are reported. All servers stay
//! up for the whole run and take turns.

mod hello;
pub(crate) mod load;
pub(crate) mod process;

pub(crate) use hello::run as hello;

use std::fmt::Write as _;
use std::path::PathBuf;

use crate::args::Options;
use crate::machine;
use crate::measure::{Row, median};
use crate::{Fallible, progress};
use load::Load;
use process::Process;

/// A server that is measured, and its figures.
struct Contender {
    name: &'static str,
    process: Process,
    load: Load,
    per_second: Vec<f64>,
    micros: Vec<f64>,
}

/// The first bar for the decision server: at least this share of the hello world's requests per second.
const RATE_BAR: f64 = 0.88;

/// The second bar for the decision server: at most this multiple of the hello world's processor time.
const TIME_BAR: f64 = 1.2;

/// A policy with one bucket that is never empty, so that the server is measured while it admits.
const POLICIES: &str = "\
version: 1
policies:
  - name: api
    failure_mode: fail_open
    limits:
      - name: per-user
        by: user
        bucket: { rate: 1000000/s, burst: 1000000 }
";

const BODY: &str = r#"{"policy":"api","subject":{"user":"user-0001"}}"#;
const PEER_BODY: &str =
    r#"{"key":"user-0001","max_burst":1000000,"count_per_period":1000000,"period":1}"#;

/// Builds and starts the servers, lets them take turns, and prints the report.
pub(crate) fn run(options: &Options) -> Fallible<()> {
    load::check()?;
    let mut contenders = start()?;
    for round in 0..=options.rounds {
        progress("server", round, options.rounds);
        for contender in &mut contenders {
            // Round 0 warms up and is not counted.
            contender.turn(round > 0)?;
        }
    }
    println!("{}", report(&contenders, options));
    Ok(())
}

fn start() -> Fallible<Vec<Contender>> {
    let scratch = process::scratch()?;
    let policies = scratch.join("policies.yaml");
    std::fs::write(&policies, POLICIES)?;
    let contender = |name, binary: PathBuf, args: &[&str], port: u16, path, body| {
        let process = Process::start(&binary, args, port)?;
        let load = Load::post(&scratch, name, &format!("http://127.0.0.1:{port}{path}"), body)?;
        Fallible::Ok(Contender { name, process, load, per_second: vec![], micros: vec![] })
    };
    let mut contenders = Vec::new();

    let port = process::free_port()?;
    let listen = format!("127.0.0.1:{port}");
    let myself = std::env::current_exe()?;
    contenders.push(contender("hello", myself, &["hello", &listen], port, "/", BODY)?);

    let port = process::free_port()?;
    let listen = format!("127.0.0.1:{port}");
    let config = policies.display().to_string();
    let args = ["serve", "--config", &config, "--listen", &listen, "--log-level", "warn"];
    let tidegate = process::build_tidegate()?;
    contenders.push(contender("tidegate", tidegate, &args, port, "/v1/decide", BODY)?);

    let port = process::free_port()?;
    let text = port.to_string();
    let args = ["--http", "--http-host", "127.0.0.1", "--http-port", &text, "--log-level", "error"];
    let peer = process::build_peer()?;
    contenders.push(contender("throttlecrab", peer, &args, port, "/throttle", PEER_BODY)?);
    Ok(contenders)
}

fn report(contenders: &[Contender], options: &Options) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write_report(&mut text, contenders, options);
    text
}

fn write_report(
    text: &mut String,
    contenders: &[Contender],
    options: &Options,
) -> Result<(), std::fmt::Error> {
    for (fact, value) in machine::facts() {
        writeln!(text, "- {fact}: {value}")?;
    }
    writeln!(text, "- command: `cargo xtask bench server --rounds {}`", options.rounds)?;
    writeln!(
        text,
        "\n| server | requests/s | to hello | in rounds | µs of processor per request | to hello | in rounds |"
    )?;
    writeln!(text, "|---|---:|---:|---:|---:|---:|---:|")?;
    let row = |name, figures: &[f64]| Row { name, figures: figures.to_vec(), admitted: 1.0 };
    let Some(hello) = contenders.first() else { return Ok(()) };
    for contender in contenders {
        let (rate, base) = (row(contender.name, &contender.per_second), row("", &hello.per_second));
        let (cpu, cpu_base) = (row(contender.name, &contender.micros), row("", &hello.micros));
        let ((low, high), (less, more)) = (rate.spread_to(&base), cpu.spread_to(&cpu_base));
        writeln!(
            text,
            "| {} | {:.0} | {:.2} | {low:.2}–{high:.2} | {:.2} | {:.2} | {less:.2}–{more:.2} |",
            contender.name,
            median(&contender.per_second),
            rate.ratio_to(&base),
            median(&contender.micros),
            cpu.ratio_to(&cpu_base),
        )?;
    }
    let ours = contenders.iter().find(|contender| contender.name == "tidegate");
    let Some(ours) = ours else { return Ok(()) };
    let rate = row("", &ours.per_second).ratio_to(&row("", &hello.per_second));
    let time = row("", &ours.micros).ratio_to(&row("", &hello.micros));
    let verdict = |is_met| if is_met { "met" } else { "**MISSED**" };
    let (fast, cheap) = (verdict(rate >= RATE_BAR), verdict(time <= TIME_BAR));
    writeln!(
        text,
        "\nBars: requests/s ≥ {RATE_BAR} of the hello world, measured {rate:.2}: {fast};"
    )?;
    writeln!(text, "processor time ≤ {TIME_BAR} of it, measured {time:.2}: {cheap}")
}

// === impl Contender ===

impl Contender {
    fn turn(&mut self, counts: bool) -> Fallible<()> {
        let before = self.process.on_processor()?;
        let done = self.load.run()?;
        let took = self.process.on_processor()? - before;
        if counts {
            self.per_second.push(done.per_second);
            self.micros.push(took.as_secs_f64() * 1e6 / done.requests as f64);
        }
        Ok(())
    }
}
