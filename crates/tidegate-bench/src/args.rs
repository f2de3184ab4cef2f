//! The command line.

use clap::builder::RangedI64ValueParser;
use clap::{Args, Parser, Subcommand, ValueEnum, value_parser};

use crate::middleware::Stack;
use crate::redis::Workload;
use crate::scenarios::{MANY, Scenario};

/// Measure Tidegate beside its peers.
///
/// Without a command, decisions in this process are measured. Prints Markdown on standard output and
/// progress on standard error. A missed bar is reported and does not fail the command.
#[derive(Debug, Parser, PartialEq)]
#[command(bin_name = "cargo xtask bench", args_conflicts_with_subcommands = true)]
pub(crate) struct BenchLine {
    #[command(subcommand)]
    request: Option<BenchRequest>,
    #[command(flatten)]
    options: Options,
}

/// What the command line asked for.
#[derive(Debug, PartialEq, Subcommand)]
pub(crate) enum BenchRequest {
    /// Measure decisions in this process, Tidegate beside its peers (the default).
    InProcess(Options),
    /// Measure the decision server beside a hello world and a peer, over loopback.
    Server(Rounds),
    /// Measure the layers around a hello world on axum, beside a peer's, over loopback.
    Middleware(Rounds),
    /// Serve the hello world inside one stack of layers. Started by `middleware`, not by people.
    #[command(hide = true)]
    MiddlewareApp { stack: Stack, listen: String },
    /// Measure the shared store beside scripts for one purpose, on a Redis it starts.
    Redis(Rounds),
    /// Measure abuse logs beside the script they come from, on a Redis it starts.
    Attempts(Rounds),
    /// Measure what gets done under more requests than a Redis it starts can answer.
    Overload(Rounds),
    /// Measure limits that are rows: decisions while rows change, and a million of them.
    Rows(Rounds),
    /// Measure what it costs to read a policy file, and the body of a request.
    Reading(Rounds),
    /// Show what peers get wrong, by asking them.
    Defects,
    /// Let Tidegate alone make this many decisions: for perf, or valgrind --tool=callgrind.
    Profile {
        scenario: Scenario,
        #[arg(value_parser = positive())]
        decisions: u32,
    },
    /// Send this many requests through one stack of layers without a socket, for a profiler.
    MiddlewareProfile {
        stack: Stack,
        #[arg(value_parser = positive())]
        requests: u32,
    },
    /// Let each caller of Tidegate make this many decisions on a Redis, for a profiler.
    RedisProfile {
        workload: Workload,
        #[arg(value_parser = positive())]
        decisions: u32,
    },
    /// Serve a bare hello world. Started by `server`, not by people.
    #[command(hide = true)]
    Hello { listen: String },
    /// Measure one contender's memory in this process. Started by the scenario `bytes`, not by people.
    #[command(hide = true)]
    Footprint { who: String, keys: u32 },
}

/// The length of a measurement.
#[derive(Args, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rounds {
    /// Turns that each contender gets.
    #[arg(long, value_name = "N", default_value_t = 9, value_parser = positive())]
    pub(crate) rounds: u32,
}

/// The options of a measurement in this process.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    #[command(flatten)]
    pub(crate) rounds: Rounds,
    /// Keys in the scenarios that use many keys.
    #[arg(long, value_name = "N", default_value_t = MANY, value_parser = positive())]
    pub(crate) keys: u32,
    /// Measure this scenario alone; may be given several times.
    #[arg(long, value_name = "SCENARIO")]
    pub(crate) only: Vec<Scenario>,
    /// Print the names of the scenarios and what they measure.
    #[arg(long)]
    pub(crate) list: bool,
}

/// A parser of numbers from 1.
fn positive() -> RangedI64ValueParser<u32> {
    value_parser!(u32).range(1..)
}

/// The name of `value` on the command line and in tables.
pub(crate) fn name(value: &impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

// === impl BenchLine ===

impl BenchLine {
    /// The request; the default is to measure in this process.
    pub(crate) fn request(self) -> BenchRequest {
        self.request.unwrap_or(BenchRequest::InProcess(self.options))
    }
}

// === impl Options ===

impl Options {
    /// The scenarios to measure.
    pub(crate) fn scenarios(&self) -> &[Scenario] {
        if self.only.is_empty() { Scenario::value_variants() } else { &self.only }
    }
}

#[cfg(test)]
mod tests;
