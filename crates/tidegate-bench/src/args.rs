//! The command line: words in, one [`Request`] out.

use crate::middleware::Stack;
use crate::redis::Workload;
use crate::scenarios::{MANY, Scenario};

/// What the command line asked for.
#[derive(Debug, PartialEq)]
pub(crate) enum Request {
    Help,
    /// Print the names of the scenarios.
    List,
    /// Measure decisions in this process, Tidegate beside its peers.
    InProcess(Options),
    /// Measure the decision server beside a hello world and a peer.
    Server(Options),
    /// Measure the layers around a hello world, beside a peer's layers.
    Middleware(Options),
    /// Serve the hello world inside one stack of layers. Started by `middleware`, not by people.
    MiddlewareApp {
        stack: Stack,
        listen: String,
    },
    /// Send requests through one stack of layers without a socket, for a profiler.
    MiddlewareProfile {
        stack: Stack,
        requests: u32,
    },
    /// Measure the shared store beside other scripts.
    Redis(Options),
    /// Measure abuse logs on a shared store beside the script of the seed.
    Attempts(Options),
    /// Measure a node under more requests than its store can answer.
    Overload(Options),
    /// Let Tidegate alone decide on a shared store, for a profiler.
    RedisProfile {
        workload: Workload,
        decisions: u32,
    },
    /// Serve a bare hello world. Started by `server`, not by people.
    Hello {
        listen: String,
    },
    /// Show the defects of peers.
    Defects,
    /// Let Tidegate alone run one scenario, for a profiler.
    Profile {
        scenario: Scenario,
        decisions: u32,
    },
    /// Measure one contender's memory in this process. Started by the `bytes` scenario, not by
    /// people.
    Footprint {
        who: String,
        keys: u32,
    },
}

/// The options of a measurement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    /// Turns that each contender gets.
    pub(crate) rounds: usize,
    /// Keys in the scenarios that use many keys.
    pub(crate) keys: u32,
    /// The scenarios to measure.
    pub(crate) scenarios: Vec<Scenario>,
}

pub(crate) const HELP: &str = "\
usage: cargo xtask bench [in-process] [--rounds N] [--keys N] [--only SCENARIO]...
       cargo xtask bench server [--rounds N]
       cargo xtask bench middleware [--rounds N]
       cargo xtask bench redis [--rounds N]
       cargo xtask bench attempts [--rounds N]
       cargo xtask bench overload [--rounds N]
       cargo xtask bench defects
       cargo xtask bench profile SCENARIO DECISIONS
       cargo xtask bench middleware-profile STACK REQUESTS
       cargo xtask bench redis-profile WORKLOAD DECISIONS
       cargo xtask bench -- --list | --help

in-process      measure decisions in this process, Tidegate beside its peers (the default)
server          measure the decision server beside a hello world and a peer, over loopback
middleware      measure the layers around a hello world on axum, beside a peer's, over loopback
redis           measure the shared store beside scripts for one purpose, on a Redis it starts
attempts        measure abuse logs beside the script they come from, on a Redis it starts
overload        measure what gets done under more requests than a Redis it starts can answer
defects         show what peers get wrong, by asking them
profile         let Tidegate alone make this many decisions: for perf, or valgrind --tool=callgrind
middleware-profile
                the same with requests through a stack of layers
redis-profile   the same on a Redis, this many decisions by each of the callers

--rounds N      turns of each contender in a scenario (default 9)
--keys N        keys where there are many (default 1000000)
--only NAME     this scenario alone; may be given several times
--list          print the names of the scenarios and what they measure

Prints Markdown on standard output and progress on standard error. A missed bar is reported and
does not fail the command.
";

const WORDS: [&str; 14] = [
    "in-process",
    "server",
    "middleware",
    "redis",
    "attempts",
    "overload",
    "defects",
    "profile",
    "middleware-profile",
    "redis-profile",
    "--rounds",
    "--keys",
    "--only",
    "--list",
];

/// Parses the command-line words that follow the program's name.
pub(crate) fn parse(words: &[String]) -> Result<Request, String> {
    let mut options = Options { rounds: 9, keys: MANY, scenarios: Vec::new() };
    let mut words = words.iter().map(String::as_str);
    let mut measure: fn(Options) -> Request = Request::InProcess;
    let mut first = true;
    while let Some(word) = words.next() {
        match word {
            "in-process" if first => {}
            "server" if first => measure = Request::Server,
            "middleware" if first => measure = Request::Middleware,
            "middleware-app" if first => {
                let stack = stack(word, words.next())?;
                let listen = words.next().ok_or("middleware-app needs an address")?.to_owned();
                return Ok(Request::MiddlewareApp { stack, listen });
            }
            "middleware-profile" if first => {
                let stack = stack(word, words.next())?;
                let requests = number(word, words.next())?;
                return Ok(Request::MiddlewareProfile { stack, requests });
            }
            "redis" if first => measure = Request::Redis,
            "attempts" if first => measure = Request::Attempts,
            "overload" if first => measure = Request::Overload,
            "redis-profile" if first => {
                let workload = workload(word, words.next())?;
                let decisions = number(word, words.next())?;
                return Ok(Request::RedisProfile { workload, decisions });
            }
            "hello" if first => {
                let listen = words.next().ok_or("hello needs an address")?.to_owned();
                return Ok(Request::Hello { listen });
            }
            "defects" if first => return nothing_after(word, words.next(), Request::Defects),
            "profile" if first => {
                let scenario = scenario(word, words.next())?;
                let decisions = number(word, words.next())?;
                return Ok(Request::Profile { scenario, decisions });
            }
            "footprint" if first => {
                let who = words.next().ok_or("footprint needs a contender")?.to_owned();
                return Ok(Request::Footprint { who, keys: number("footprint", words.next())? });
            }
            "--help" | "-h" => return Ok(Request::Help),
            "--list" => return Ok(Request::List),
            "--rounds" => options.rounds = number(word, words.next())? as usize,
            "--keys" => options.keys = number(word, words.next())?,
            "--only" => options.scenarios.push(scenario(word, words.next())?),
            other => {
                let known = WORDS.join(", ");
                return Err(format!("unknown argument `{other}`; known are {known}\n\n{HELP}"));
            }
        }
        first = false;
    }
    if options.scenarios.is_empty() {
        options.scenarios.extend(Scenario::ALL);
    }
    Ok(measure(options))
}

fn nothing_after(word: &str, next: Option<&str>, request: Request) -> Result<Request, String> {
    match next {
        None => Ok(request),
        Some(extra) => Err(format!("`{word}` takes nothing, but `{extra}` follows it")),
    }
}

fn number(word: &str, value: Option<&str>) -> Result<u32, String> {
    let number = value.and_then(|value| value.parse().ok()).filter(|number| *number > 0);
    number.ok_or_else(|| format!("`{word}` needs a number from 1 to {}", u32::MAX))
}

fn workload(word: &str, name: Option<&str>) -> Result<Workload, String> {
    let found = Workload::ALL.into_iter().find(|workload| Some(workload.name()) == name);
    let known = || Workload::ALL.map(Workload::name).join(", ");
    found.ok_or_else(|| format!("`{word}` needs one of {}", known()))
}

fn stack(word: &str, name: Option<&str>) -> Result<Stack, String> {
    let found = Stack::ALL.into_iter().find(|stack| Some(stack.name()) == name);
    found.ok_or_else(|| format!("`{word}` needs one of {}", Stack::ALL.map(Stack::name).join(", ")))
}

fn scenario(word: &str, name: Option<&str>) -> Result<Scenario, String> {
    let known = || Scenario::ALL.map(Scenario::name).join(", ");
    let name = name.ok_or_else(|| format!("`{word}` needs one of {}", known()))?;
    Scenario::ALL
        .into_iter()
        .find(|scenario| scenario.name() == name)
        .ok_or_else(|| format!("no scenario is named `{name}`; there are {}", known()))
}

#[cfg(test)]
mod tests;
