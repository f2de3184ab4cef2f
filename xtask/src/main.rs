//! The commands of the repository: `cargo xtask test`, `cargo xtask sim`, `cargo xtask bench` and more.
//!
//! One command has to prove the tree on a fresh machine, and it has to be the same for a person and
//! for CI. A shell script would do until it needs tables, times and parsing; a task runner would be
//! one more thing to install. So it is a small program, and every step it takes is a command line
//! that it prints, which can be repeated by hand.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a developer tool: it talks to a terminal, times its stages and reads PATH"
)]

mod api;
mod cli;
mod contract;
mod deny;
mod guard;
mod install;
mod mutants;
mod shell;
mod sim;
mod stages;
mod suggest;
mod summary;
mod valkey;

use std::process::ExitCode;

use clap::Parser as _;

use cli::{CommandLine, Invocation};
use shell::{Cmd, CommandFailure, WriteOrCheck};

fn main() -> ExitCode {
    match perform(CommandLine::parse().request) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("\n{failure}");
            ExitCode::FAILURE
        }
    }
}

fn perform(request: Invocation) -> Result<(), CommandFailure> {
    match request {
        Invocation::Test { list: true, .. } => {
            print!("{}", stages::list());
            Ok(())
        }
        Invocation::Test { only, .. } if only.is_empty() => stages::run(&stages::TEST),
        Invocation::Test { only, .. } => stages::run(&stages::named(&only)),
        Invocation::Quick => stages::run(&stages::QUICK),
        Invocation::Advisories => deny::advisories(),
        Invocation::Guard { bless: true } => guard::run(WriteOrCheck::Write),
        Invocation::Guard { bless: false } => guard::run(WriteOrCheck::Check),
        Invocation::Sim(passed) => sim::command(passed.arguments).run(),
        Invocation::Mutants(choice) if choice.list => mutants::print(),
        Invocation::Mutants(choice) => mutants::run(&choice),
        Invocation::Contract { check: true } => contract::run(WriteOrCheck::Check),
        Invocation::Contract { check: false } => contract::run(WriteOrCheck::Write),
        Invocation::Bench(passed) => {
            install::for_benchmarks()?;
            Cmd::cargo("run --release --locked --package tidegate-bench --")
                .args(passed.arguments)
                .run()
        }
    }
}
