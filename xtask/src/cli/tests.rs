//! Words in, requests out, and an answer to every slip.

use super::*;

fn parsed(line: &str) -> Result<Request, String> {
    let words: Vec<String> = line.split_whitespace().map(ToOwned::to_owned).collect();
    parse(&words)
}

#[test]
fn nothing_and_help_both_explain() {
    for line in ["", "help", "--help", "-h", "help help"] {
        assert_eq!(parsed(line), Ok(Request::Help(Topic::Everything)), "{line:?}");
    }
    for topic in Topic::ALL {
        for line in [format!("help {}", topic.name()), format!("{} --help", topic.name())] {
            assert_eq!(parsed(&line), Ok(Request::Help(topic)), "{line:?}");
        }
        let usage = format!("usage: cargo xtask {}", topic.name());
        assert!(help(topic).starts_with(&usage), "{usage}");
        assert!(help(Topic::Everything).contains(&usage), "{usage}");
    }
}

#[test]
fn test_takes_all_stages_or_those_named() {
    let names = |line| match parsed(line) {
        Ok(Request::Stages(stages)) => stages.into_iter().map(Stage::name).collect(),
        other => panic!("{line}: {other:?}"),
    };
    let all: Vec<&str> = names("test");
    assert_eq!(all, Stage::ALL.map(Stage::name));
    assert_eq!(names("test --only loom --only clippy"), ["loom", "clippy"]);
    assert_eq!(parsed("test --list"), Ok(Request::List));
}

#[test]
fn guard_blesses_only_when_told() {
    assert_eq!(parsed("guard"), Ok(Request::Guard(guard::Mode::Check)));
    assert_eq!(parsed("guard --bless"), Ok(Request::Guard(guard::Mode::Bless)));
    assert!(parsed("guard --bless now").unwrap_err().contains("`now`"));
}

#[test]
fn contract_writes_unless_it_is_to_check() {
    assert_eq!(parsed("contract"), Ok(Request::Contract(contract::Mode::Write)));
    assert_eq!(parsed("contract --check"), Ok(Request::Contract(contract::Mode::Check)));
    assert!(parsed("contract --check now").unwrap_err().contains("`now`"));
}

#[test]
fn mutants_takes_all_or_those_named() {
    let choice = |only: &[&str], jobs| {
        let only = only.iter().map(ToString::to_string).collect();
        Ok(Request::Mutants(mutants::Choice { only, jobs: NonZeroUsize::new(jobs) }))
    };
    assert_eq!(parsed("mutants"), choice(&[], 0));
    assert_eq!(parsed("mutants --only a --jobs 1 --only b"), choice(&["a", "b"], 1));
    assert_eq!(parsed("mutants --list"), Ok(Request::ListMutants));
    for line in ["mutants --jobs", "mutants --jobs 0", "mutants --jobs many"] {
        assert!(parsed(line).unwrap_err().contains("a number from 1"), "{line}");
    }
    assert!(parsed("mutants --only").unwrap_err().contains("needs the name"));
}

#[test]
fn sim_and_bench_pass_their_arguments_on() {
    let words = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(parsed("bench"), Ok(Request::Bench(words(&[]))));
    assert_eq!(parsed("bench --rounds 3"), Ok(Request::Bench(words(&["--rounds", "3"]))));
    assert_eq!(parsed("bench redis --rounds"), Ok(Request::Bench(words(&["redis", "--rounds"]))));
    assert_eq!(parsed("bench -- --help"), Ok(Request::Bench(words(&["--help"]))));
    assert_eq!(parsed("sim --seed 7"), Ok(Request::Sim(words(&["--seed", "7"]))));
    assert_eq!(parsed("sim -- --help"), Ok(Request::Sim(words(&["--help"]))));
}

#[test]
fn mistakes_are_answered_with_a_suggestion() {
    for (line, meant) in [
        ("tets", "did you mean `test`?"),
        ("mutant", "did you mean `mutants`?"),
        ("test --onyl loom", "did you mean `--only`?"),
        ("test --only lom", "did you mean `loom`?"),
        ("guard --bles", "did you mean `--bless`?"),
        ("contract --chekc", "did you mean `--check`?"),
        ("mutants --job 1", "did you mean `--jobs`?"),
        ("help gaurd", "did you mean `guard`?"),
    ] {
        let mistake = parsed(line).unwrap_err();
        assert!(mistake.contains(meant), "{line}: {mistake}");
    }
    assert!(parsed("test --only").unwrap_err().contains("needs the name"));
}
