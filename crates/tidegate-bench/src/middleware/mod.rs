//! Our layers around a hello world on axum, beside no layers and beside a peer's.
//!
//! Every stack is a server of its own, a process of this program with one thread, so that its processor
//! time is known; the load generator has the other core. They stay up for the whole run and take turns.

mod app;
mod instructions;
mod report;
mod stack;

pub(crate) use app::{profile, serve};
pub(crate) use stack::Stack;

use crate::args::Options;
use crate::server::load::{self, Expected, Load};
use crate::server::process::{self, Process};
use crate::{Fallible, progress};

/// A stack that is measured, and its figures.
struct Contender {
    stack: Stack,
    process: Process,
    load: Load,
    /// Requests per second, one figure for each round.
    per_second: Vec<f64>,
    /// Microseconds of processor time per request, one figure for each round.
    micros: Vec<f64>,
    /// Instructions per request, if they could be counted.
    instructions: Option<f64>,
}

/// Starts the servers, lets them take turns, and prints the report.
pub(crate) fn run(options: &Options) -> Fallible<()> {
    load::check()?;
    let mut contenders = Vec::new();
    for stack in Stack::ALL {
        contenders.push(Contender::start(stack)?);
    }
    for round in 0..=options.rounds {
        progress("middleware", round, options.rounds);
        for contender in &mut contenders {
            // Round 0 warms up and is not counted.
            contender.turn(round > 0)?;
        }
    }
    if instructions::can_be_counted() {
        for contender in &mut contenders {
            contender.instructions = Some(instructions::count(contender.stack)?);
        }
    }
    println!("{}", report::whole(&contenders, options));
    Ok(())
}

// === impl Contender ===

impl Contender {
    fn start(stack: Stack) -> Fallible<Self> {
        let port = process::free_port()?;
        let listen = format!("127.0.0.1:{port}");
        let args = ["middleware-app", stack.name(), &listen];
        let process = Process::start(&std::env::current_exe()?, &args, port)?;
        let expected = if stack.refuses() { Expected::Refusals } else { Expected::Successes };
        let load = Load::get(&format!("http://{listen}/hello"), expected);
        let (per_second, micros, instructions) = (Vec::new(), Vec::new(), None);
        Ok(Self { stack, process, load, per_second, micros, instructions })
    }

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
