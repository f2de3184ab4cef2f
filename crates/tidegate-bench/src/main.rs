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
mod callgrind;
mod contenders;
mod defects;
mod footprint;
mod machine;
mod measure;
mod middleware;
mod policy;
mod reading;
mod redis;
mod report;
mod rows;
mod scenarios;
mod server;
mod workload;

use std::error::Error;
use std::process::ExitCode;

use clap::Parser as _;

use args::{BenchLine, BenchRequest};

/// The result of anything here that can fail; its error is a message for the person who ran it.
type Fallible<T> = Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    let done = match BenchLine::parse().request() {
        BenchRequest::InProcess(options) if options.list => {
            scenarios::list();
            Ok(())
        }
        BenchRequest::InProcess(options) => scenarios::run(&options),
        BenchRequest::Server(options) => server::run(options),
        BenchRequest::Middleware(options) => middleware::run(options),
        BenchRequest::MiddlewareApp { stack, listen } => middleware::serve(stack, &listen),
        BenchRequest::MiddlewareProfile { stack, requests } => middleware::profile(stack, requests),
        BenchRequest::Redis(options) => redis::run(options),
        BenchRequest::Attempts(options) => redis::attempts(options),
        BenchRequest::Overload(options) => redis::overload(options),
        BenchRequest::RedisProfile { workload, decisions } => redis::profile(workload, decisions),
        BenchRequest::Hello { listen } => server::hello(&listen),
        BenchRequest::Rows(options) => rows::run(options),
        BenchRequest::Reading(options) => reading::run(options),
        BenchRequest::Defects => defects::show(),
        BenchRequest::Profile { scenario, decisions } => scenario.profile(decisions),
        BenchRequest::Footprint { who, keys } => footprint::child(&who, keys),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
