//! The commands of the repository: `cargo xtask test`, `cargo xtask sim`, `cargo xtask bench` and more.
//!
//! One command has to prove the tree on a fresh machine, and it has to be the same for a person and
//! for CI. A shell script would do until it needs tables, times and parsing; a task runner would be
//! one more thing to install. So it is a small program with one small dependency, and every step it
//! takes is a command line that it prints, which can be repeated by hand.
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

use cli::Request;
use shell::{Cmd, Failure};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match cli::parse(&args) {
        Ok(request) => perform(request),
        Err(mistake) => {
            eprintln!("xtask: {mistake}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("\n{failure}");
            ExitCode::FAILURE
        }
    }
}

fn perform(request: Request) -> Result<(), Failure> {
    match request {
        Request::Help(topic) => {
            print!("{}", cli::help(topic));
            Ok(())
        }
        Request::List => {
            print!("{}", stages::list());
            Ok(())
        }
        Request::Stages(stages) => stages::run(&stages),
        Request::Advisories => deny::advisories(),
        Request::Guard(mode) => guard::run(mode),
        Request::Sim(args) => sim::run(args),
        Request::ListMutants => mutants::print(),
        Request::Mutants(choice) => mutants::run(&choice),
        Request::Contract(mode) => contract::run(mode),
        Request::Bench(args) => {
            let line = ["run", "--release", "--locked", "--package", "tidegate-bench", "--"];
            Cmd::cargo(&line).args(args).run()
        }
    }
}
