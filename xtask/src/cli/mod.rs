//! The command line: words in, one [`Request`] out.
//!
//! Parsed by hand: a handful of commands is not worth a parser that everybody would have to compile
//! before the first test runs.

mod help;
#[cfg(test)]
mod tests;

pub(crate) use help::{Topic, help};

use std::num::NonZeroUsize;

use crate::contract;
use crate::guard;
use crate::mutants;
use crate::stages::{self, Stage};
use crate::suggest::hint;

/// What the command line asked for.
#[derive(Debug, PartialEq)]
pub(crate) enum Request {
    Help(Topic),
    /// Print the names of the stages of `test`.
    List,
    /// Run these stages, of `test` or `quick`.
    Stages(Vec<Stage>),
    /// Check the dependencies for security advisories.
    Advisories,
    Guard(guard::Mode),
    /// Run the simulator, with its own arguments.
    Sim(Vec<String>),
    /// Print the names of the mutants.
    ListMutants,
    Mutants(mutants::Choice),
    Contract(contract::Mode),
    /// Run the benchmarks, with their own arguments.
    Bench(Vec<String>),
}

/// Parses the words after `cargo xtask`.
pub(crate) fn parse(args: &[String]) -> Result<Request, String> {
    let Some((command, rest)) = args.split_first() else {
        return Ok(Request::Help(Topic::Everything));
    };
    match command.as_str() {
        "test" => parse_test(rest),
        "quick" => alone(rest, Topic::Quick, Request::Stages(Stage::QUICK.to_vec())),
        "advisories" => alone(rest, Topic::Advisories, Request::Advisories),
        "guard" => Ok(match flag(rest, Topic::Guard, "--bless")? {
            None => Request::Help(Topic::Guard),
            Some(true) => Request::Guard(guard::Mode::Bless),
            Some(false) => Request::Guard(guard::Mode::Check),
        }),
        "sim" => Ok(passed_on(rest, Topic::Sim, Request::Sim)),
        "mutants" => parse_mutants(rest),
        "contract" => Ok(match flag(rest, Topic::Contract, "--check")? {
            None => Request::Help(Topic::Contract),
            Some(true) => Request::Contract(contract::Mode::Check),
            Some(false) => Request::Contract(contract::Mode::Write),
        }),
        "bench" => Ok(passed_on(rest, Topic::Bench, Request::Bench)),
        "help" | "--help" | "-h" => Ok(Request::Help(parse_topic(rest)?)),
        other => Err(format!(
            "unknown command `{other}`{}\n`cargo xtask help` lists the commands",
            hint(other, commands())
        )),
    }
}

fn commands() -> impl Iterator<Item = &'static str> {
    Topic::ALL.into_iter().chain([Topic::Everything]).map(Topic::name)
}

fn parse_test(mut rest: &[String]) -> Result<Request, String> {
    let mut only = Vec::new();
    while let Some((word, tail)) = rest.split_first() {
        rest = tail;
        match word.as_str() {
            "--help" | "-h" => return Ok(Request::Help(Topic::Test)),
            "--list" => return Ok(Request::List),
            "--only" => {
                let (name, tail) = rest.split_first().ok_or("--only needs the name of a stage")?;
                only.push(stage(name)?);
                rest = tail;
            }
            other => return Err(unknown(Topic::Test, other, &["--only", "--list", "--help"])),
        }
    }
    if only.is_empty() {
        only.extend(Stage::ALL);
    }
    Ok(Request::Stages(only))
}

fn parse_mutants(mut rest: &[String]) -> Result<Request, String> {
    let mut choice = mutants::Choice::default();
    while let Some((word, tail)) = rest.split_first() {
        rest = tail;
        let value = rest.split_first();
        match word.as_str() {
            "--help" | "-h" => return Ok(Request::Help(Topic::Mutants)),
            "--list" => return Ok(Request::ListMutants),
            "--only" => {
                let (name, tail) = value.ok_or("--only needs the name of a mutant")?;
                choice.only.push(name.clone());
                rest = tail;
            }
            "--jobs" => {
                let jobs = value.and_then(|(jobs, _)| jobs.parse::<NonZeroUsize>().ok());
                choice.jobs = Some(jobs.ok_or("--jobs needs a number from 1")?);
                rest = &rest[1..];
            }
            other => {
                let known = ["--only", "--jobs", "--list", "--help"];
                return Err(unknown(Topic::Mutants, other, &known));
            }
        }
    }
    Ok(Request::Mutants(choice))
}

/// Parses the one flag of a command: whether it was given, or `None` if help was wanted.
fn flag(rest: &[String], topic: Topic, name: &str) -> Result<Option<bool>, String> {
    match rest.first().map(String::as_str) {
        None => Ok(Some(false)),
        Some(first) if first == name && rest.len() == 1 => Ok(Some(true)),
        Some("--help" | "-h") => Ok(None),
        Some(first) => {
            let odd = if first == name { &rest[1] } else { first };
            Err(unknown(topic, odd, &[name, "--help"]))
        }
    }
}

/// Parses a command without options.
fn alone(rest: &[String], topic: Topic, request: Request) -> Result<Request, String> {
    match rest.first().map(String::as_str) {
        None => Ok(request),
        Some("--help" | "-h") => Ok(Request::Help(topic)),
        Some(odd) => Err(unknown(topic, odd, &["--help"])),
    }
}

/// Parses a command whose arguments are passed on to another program.
fn passed_on(rest: &[String], topic: Topic, request: fn(Vec<String>) -> Request) -> Request {
    match rest.split_first() {
        Some((word, _)) if word == "--help" || word == "-h" => Request::Help(topic),
        Some((word, tail)) if word == "--" => request(tail.to_vec()),
        _ => request(rest.to_vec()),
    }
}

fn parse_topic(rest: &[String]) -> Result<Topic, String> {
    let Some(word) = rest.first() else { return Ok(Topic::Everything) };
    let mut topics = Topic::ALL.into_iter().chain([Topic::Everything]);
    topics
        .find(|topic| topic.name() == word)
        .ok_or_else(|| format!("no help on `{word}`{}", hint(word, commands())))
}

fn stage(name: &str) -> Result<Stage, String> {
    Stage::ALL.into_iter().find(|stage| stage.name() == name).ok_or_else(|| {
        let hint = hint(name, Stage::ALL.map(Stage::name));
        format!("unknown stage `{name}`{hint}\n\nstages:\n{}", stages::list())
    })
}

fn unknown(topic: Topic, word: &str, known: &[&str]) -> String {
    format!("unknown option `{word}`{}\n\n{}", hint(word, known.iter().copied()), help(topic))
}
