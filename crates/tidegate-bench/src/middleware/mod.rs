//! Our layers around a hello world on axum, beside no layers and beside a peer's.
//!
//! Every stack is a server of its own, a process of this program with one thread, so that its processor
//! time is known; the load generator has the other core. They stay up for the whole run and take turns.

mod app;
mod stack;

pub(crate) use app::{profile, serve};
pub(crate) use stack::Stack;

use std::process::Command;

use clap::ValueEnum as _;

use crate::Fallible;
use crate::args::{Rounds, name};
use crate::bars::Bound;
use crate::callgrind;
use crate::measure::{median, ratio};
use crate::report::{BenchReport, compared, shown};
use crate::server::load::{self, ExpectedAnswers, WrkLoad};
use crate::server::loaded::Loaded;
use crate::server::process::{self, ServerProcess};

/// The bar for the org layer: at most this many times the processor time without a limiter.
const BAR: Bound = Bound::AtMost(1.15);

/// Requests of the shorter run whose instructions are counted.
const FEW: u32 = 1000;
/// Requests of the longer run.
const MORE: u32 = 6000;

/// Starts the servers, lets them take turns, and prints the report.
pub(crate) fn run(Rounds { rounds }: Rounds) -> Fallible<()> {
    load::check()?;
    let stacks = Stack::value_variants();
    let mut servers = stacks.iter().map(start).collect::<Fallible<Vec<Loaded>>>()?;
    Loaded::take_turns("middleware", &mut servers, rounds)?;
    let counts = match callgrind::is_installed() {
        true => stacks.iter().map(instructions).collect::<Fallible<Vec<f64>>>()?,
        false => Vec::new(),
    };
    println!("{}", report(&servers, &counts, rounds));
    Ok(())
}

fn start(stack: &Stack) -> Fallible<Loaded> {
    let port = process::free_port()?;
    let listen = format!("127.0.0.1:{port}");
    let args = ["middleware-app", &name(stack), &listen];
    let process = ServerProcess::start(&std::env::current_exe()?, &args, port)?;
    let expected =
        if stack.refuses() { ExpectedAnswers::Refusals } else { ExpectedAnswers::Successes };
    let load = WrkLoad::get(&format!("http://{listen}/hello"), expected);
    Ok(Loaded::new(stack.title(), process, load))
}

/// Instructions per request of a stack: this program sends requests through it under callgrind, few
/// and then more, and the difference is the cost of the requests alone. No socket and no HTTP is
/// involved: only axum, the limiter, and building a request.
fn instructions(stack: &Stack) -> Fallible<f64> {
    let name = name(stack);
    eprintln!("instructions: {name}");
    let total = |requests: u32| {
        let out = process::scratch()?.join(format!("{name}.callgrind"));
        let output = Command::new("valgrind")
            .args(callgrind::args(&out))
            .arg(std::env::current_exe()?)
            .args(["middleware-profile", &name, &requests.to_string()])
            .output()?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{name} under callgrind:\n{text}").into());
        }
        callgrind::total(&out)
    };
    let (few, more) = (total(FEW)?, total(MORE)?);
    Ok(more.saturating_sub(few) as f64 / f64::from(MORE - FEW))
}

/// Makes the report; `servers` and `counts` are in the order of the stacks.
fn report(servers: &[Loaded], counts: &[f64], rounds: u32) -> BenchReport {
    let mut report = BenchReport::new(&format!("middleware --rounds {rounds}"));
    let of = |stack: Stack| &servers[stack as usize];
    let bare = of(Stack::Bare);
    let row = |(place, Loaded { name, per_second, micros, .. }): (usize, &Loaded)| {
        let times = compared(micros, Some(&bare.micros));
        let rate = ratio(per_second, &bare.per_second);
        let count = shown(counts.get(place).copied(), 0);
        format!(
            "{name} | {:.2} | {times} | {:.0} | {rate:.2} | {count}",
            median(micros),
            median(per_second)
        )
    };
    report.table(
        "around the hello world | µs of processor per request: | to none: | in rounds: | requests/s: \
         | to none: | instructions, without HTTP:",
        servers.iter().enumerate().map(row),
    );
    let to = |stack| Some(ratio(&of(Stack::Org).micros, &of(stack).micros));
    let rows = [
        BAR.verdict("org layer", "processor time per request, to none", to(Stack::Bare)),
        Bound::Below(1.0).verdict(
            "org layer",
            "processor time per request, to `tower_governor`",
            to(Stack::Governor),
        ),
    ];
    report.bars("around the hello world", rows);
    report
}
