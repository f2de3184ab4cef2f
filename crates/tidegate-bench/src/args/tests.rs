//! What the command line is taken to mean.

use super::*;

fn parsed(line: &str) -> Result<BenchRequest, String> {
    let words = ["bench"].into_iter().chain(line.split_whitespace());
    BenchLine::try_parse_from(words).map(BenchLine::request).map_err(|mistake| mistake.to_string())
}

#[test]
fn everything_is_measured_unless_something_is_named() {
    let Ok(BenchRequest::InProcess(all)) = parsed("") else { panic!("the default is to measure") };
    assert_eq!(all.scenarios(), Scenario::value_variants());
    assert_eq!(parsed("in-process"), parsed(""));
    let Ok(BenchRequest::InProcess(some)) = parsed("--only hot --only zipf --rounds 3 --keys 10")
    else {
        panic!("all of these are known")
    };
    assert_eq!(some.scenarios(), [Scenario::Hot, Scenario::Zipf]);
    assert_eq!((some.rounds.rounds, some.keys), (3, 10));
}

#[test]
fn mistakes_are_named() {
    for (line, named) in [
        ("--rounds", "a value is required for '--rounds <N>'"),
        ("--rounds 0", "invalid value '0' for '--rounds <N>'"),
        ("redis-profile bucket 0", "invalid value '0' for '<DECISIONS>'"),
        ("--only warm", "[possible values: hot, "),
        ("faster", "unrecognized subcommand 'faster'"),
        ("defects please", "unexpected argument 'please'"),
        ("middleware-profile warm 1", "[possible values: bare, org"),
        ("redis-profile warm 1", "[possible values: bucket, three-and-quota]"),
    ] {
        let mistake = parsed(line).unwrap_err();
        assert!(mistake.contains(named), "{line}: {mistake}");
    }
}

#[test]
fn servers_are_measured_when_named_first() {
    let rounds = |rounds| Rounds { rounds };
    assert_eq!(parsed("server --rounds 3"), Ok(BenchRequest::Server(rounds(3))));
    assert_eq!(parsed("middleware --rounds 4"), Ok(BenchRequest::Middleware(rounds(4))));
    assert_eq!(parsed("redis --rounds 2"), Ok(BenchRequest::Redis(rounds(2))));
    assert_eq!(parsed("attempts"), Ok(BenchRequest::Attempts(rounds(9))));
    assert!(parsed("--rounds 2 redis").is_err());
}
