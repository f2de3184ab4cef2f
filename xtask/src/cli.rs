//! The command line: words in, one [`Request`] out.
//!
//! Parsed by hand, because three commands do not pay for a parser that everybody would have to
//! compile before the first test runs.

use crate::guard::Mode;
use crate::stages::{self, Stage};
use crate::suggest::hint;

/// What was asked for.
#[derive(Debug, PartialEq)]
pub(crate) enum Request {
    Help(Topic),
    /// The names of the stages of `test`.
    List,
    /// These stages of `test`.
    Test(Vec<Stage>),
    Guard(Mode),
    /// The benchmarks, with their own arguments.
    Bench(Vec<String>),
}

/// What help is wanted on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Topic {
    Everything,
    Test,
    Guard,
    Bench,
}

const COMMANDS: [&str; 4] = ["test", "guard", "bench", "help"];

const OVERVIEW: &str = "\
The commands of the repository.

usage: cargo xtask <command>

commands:
  test    prove the tree: install what is missing, then run every stage
  guard   compare instructions per decision with the committed figures
  bench   measure Tidegate beside its peers
  help    show this, or `help <command>`
";

const TEST: &str = "\
usage: cargo xtask test [--only <stage>]... [--list]

Runs the stages below in this order and stops at the first that fails.

  --only <stage>  run this stage alone; may be given several times
  --list          print the names of the stages and what they do

stages:
";

const GUARD: &str = "\
usage: cargo xtask guard [--bless]

Counts the instructions of one decision, scenario by scenario, under valgrind's callgrind, and
compares them with xtask/instructions.txt. Fails when one has grown by more than 10 %.

  --bless  accept the present counts: rewrites the file, to be committed with the change
           that explains them
";

const BENCH: &str = "\
usage: cargo xtask bench [--] [arguments of the benchmark]...

Builds crates/tidegate-bench with its peers in release mode and runs it: Tidegate and the others
alternate within one run, and ratios are reported. It is a measurement and no part of `test`.

  bench           decisions in this process
  bench server    the decision server, over HTTP
  bench redis     the shared store, on a Redis it starts
  bench attempts  abuse logs on one, beside the script they come from

`cargo xtask bench -- --help` shows the arguments of the benchmark itself.
";

/// Reads the words after `cargo xtask`.
pub(crate) fn parse(args: &[String]) -> Result<Request, String> {
    let Some((command, rest)) = args.split_first() else {
        return Ok(Request::Help(Topic::Everything));
    };
    match command.as_str() {
        "test" => parse_test(rest),
        "guard" => parse_guard(rest),
        "bench" => Ok(parse_bench(rest)),
        "help" | "--help" | "-h" => Ok(Request::Help(parse_topic(rest)?)),
        other => Err(format!(
            "unknown command `{other}`{}\n`cargo xtask help` lists the commands",
            hint(other, COMMANDS)
        )),
    }
}

/// The text for `topic`.
pub(crate) fn help(topic: Topic) -> String {
    match topic {
        Topic::Everything => {
            format!("{OVERVIEW}\n{TEST}{}\n{GUARD}\n{BENCH}", stages::list())
        }
        Topic::Test => format!("{TEST}{}", stages::list()),
        Topic::Guard => GUARD.to_owned(),
        Topic::Bench => BENCH.to_owned(),
    }
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
    Ok(Request::Test(only))
}

fn parse_guard(rest: &[String]) -> Result<Request, String> {
    match rest.first().map(String::as_str) {
        None => Ok(Request::Guard(Mode::Check)),
        Some("--bless") if rest.len() == 1 => Ok(Request::Guard(Mode::Bless)),
        Some("--help" | "-h") => Ok(Request::Help(Topic::Guard)),
        Some(first) => {
            let odd = if first == "--bless" { &rest[1] } else { first };
            Err(unknown(Topic::Guard, odd, &["--bless", "--help"]))
        }
    }
}

fn parse_bench(rest: &[String]) -> Request {
    match rest.split_first() {
        Some((word, _)) if word == "--help" || word == "-h" => Request::Help(Topic::Bench),
        Some((word, tail)) if word == "--" => Request::Bench(tail.to_vec()),
        _ => Request::Bench(rest.to_vec()),
    }
}

fn parse_topic(rest: &[String]) -> Result<Topic, String> {
    match rest.first().map(String::as_str) {
        None | Some("help") => Ok(Topic::Everything),
        Some("test") => Ok(Topic::Test),
        Some("guard") => Ok(Topic::Guard),
        Some("bench") => Ok(Topic::Bench),
        Some(other) => Err(format!("no help on `{other}`{}", hint(other, COMMANDS))),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Request, String> {
        let words: Vec<String> = line.split_whitespace().map(ToOwned::to_owned).collect();
        parse(&words)
    }

    #[test]
    fn nothing_and_help_both_explain() {
        for line in ["", "help", "--help", "-h"] {
            assert_eq!(parsed(line), Ok(Request::Help(Topic::Everything)), "{line:?}");
        }
        for line in ["help test", "test --help"] {
            assert_eq!(parsed(line), Ok(Request::Help(Topic::Test)), "{line:?}");
        }
        assert_eq!(parsed("bench -h"), Ok(Request::Help(Topic::Bench)));
        assert_eq!(parsed("guard -h"), Ok(Request::Help(Topic::Guard)));
    }

    #[test]
    fn test_takes_all_stages_or_those_named() {
        let names = |line| match parsed(line) {
            Ok(Request::Test(stages)) => stages.into_iter().map(Stage::name).collect(),
            other => panic!("{line}: {other:?}"),
        };
        let all: Vec<&str> = names("test");
        assert_eq!(all, Stage::ALL.map(Stage::name));
        assert_eq!(names("test --only loom --only clippy"), ["loom", "clippy"]);
        assert_eq!(parsed("test --list"), Ok(Request::List));
    }

    #[test]
    fn guard_blesses_only_when_told() {
        assert_eq!(parsed("guard"), Ok(Request::Guard(Mode::Check)));
        assert_eq!(parsed("guard --bless"), Ok(Request::Guard(Mode::Bless)));
        assert!(parsed("guard --bless now").unwrap_err().contains("`now`"));
    }

    #[test]
    fn bench_passes_its_arguments_on() {
        let args = |words: &[&str]| {
            Ok(Request::Bench(words.iter().map(|word| (*word).to_owned()).collect()))
        };
        assert_eq!(parsed("bench"), args(&[]));
        assert_eq!(parsed("bench --rounds 3"), args(&["--rounds", "3"]));
        assert_eq!(parsed("bench redis --rounds 3"), args(&["redis", "--rounds", "3"]));
        assert_eq!(parsed("bench -- --help"), args(&["--help"]));
    }

    #[test]
    fn mistakes_are_answered_with_a_suggestion() {
        for (line, meant) in [
            ("tets", "did you mean `test`?"),
            ("test --onyl loom", "did you mean `--only`?"),
            ("test --only lom", "did you mean `loom`?"),
            ("guard --bles", "did you mean `--bless`?"),
            ("help gaurd", "did you mean `guard`?"),
        ] {
            let mistake = parsed(line).unwrap_err();
            assert!(mistake.contains(meant), "{line}: {mistake}");
        }
        assert!(parsed("test --only").unwrap_err().contains("needs the name"));
    }
}
