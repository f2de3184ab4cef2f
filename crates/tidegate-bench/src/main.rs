//! Tidegate beside its peers, interleaved in one run.
//!
//! `cargo xtask bench` measures, `cargo xtask bench -- --help` explains. On a shared machine a
//! figure of one minute says little about the next, so nobody is measured alone: the contenders of
//! a scenario take turns of a fraction of a second, for several rounds, and what is reported first
//! is the ratio of their medians. The method and the last results are in `docs/benchmarks.md`.
#![allow(
    clippy::disallowed_methods,
    clippy::float_arithmetic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a developer tool: it times others, averages what it saw, and talks to a terminal"
)]

mod args;
mod bars;
mod contenders;
mod defects;
mod footprint;
mod machine;
mod measure;
mod middleware;
mod redis;
mod report;
mod scenarios;
mod server;
mod workload;

use std::error::Error;
use std::process::ExitCode;

use args::{HELP, Options, Request};
use measure::progress;
use scenarios::Scenario;

/// The result of anything here that can fail; its error is a message for the person who ran it.
type Fallible<T> = Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = match args::parse(&words) {
        Ok(Request::Help) => {
            print!("{HELP}");
            Ok(())
        }
        Ok(Request::List) => {
            list();
            Ok(())
        }
        Ok(Request::InProcess(options)) => in_process(&options),
        Ok(Request::Server(options)) => server::run(&options),
        Ok(Request::Middleware(options)) => middleware::run(&options),
        Ok(Request::MiddlewareApp { stack, listen }) => middleware::serve(stack, &listen),
        Ok(Request::MiddlewareProfile { stack, requests }) => middleware::profile(stack, requests),
        Ok(Request::Redis(options)) => redis::run(&options),
        Ok(Request::Attempts(options)) => redis::attempts(&options),
        Ok(Request::Overload(options)) => redis::overload(&options),
        Ok(Request::RedisProfile { workload, decisions }) => redis::profile(workload, decisions),
        Ok(Request::Hello { listen }) => server::hello(&listen),
        Ok(Request::Defects) => defects::show(),
        Ok(Request::Profile { scenario, decisions }) => scenario.profile(decisions),
        Ok(Request::Footprint { who, keys }) => footprint::child(&who, keys),
        Err(mistake) => Err(mistake.into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn list() {
    for scenario in Scenario::ALL {
        println!("{:<16}{}", scenario.name(), scenario.about());
    }
}

/// Runs the scenarios and prints the report. A bar that is missed is reported and is no failure:
/// this is a measurement, on a machine that may have been busy.
fn in_process(options: &Options) -> Fallible<()> {
    let mut outcomes = Vec::new();
    for scenario in &options.scenarios {
        outcomes.push(scenario.run(options)?);
    }
    println!("{}", report::whole(&outcomes, options));
    Ok(())
}
