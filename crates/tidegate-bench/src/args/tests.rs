//! What the command line is taken to mean.

use super::*;

fn parsed(line: &str) -> Result<Request, String> {
    let words: Vec<String> = line.split_whitespace().map(ToOwned::to_owned).collect();
    parse(&words)
}

#[test]
fn everything_is_measured_unless_something_is_named() {
    let Ok(Request::InProcess(all)) = parsed("") else { panic!("the default is to measure") };
    assert_eq!(all.scenarios, Scenario::ALL);
    assert_eq!(parsed("in-process"), parsed(""));
    let Ok(Request::InProcess(some)) = parsed("--only hot --only zipf --rounds 3 --keys 10") else {
        panic!("all of these are known")
    };
    assert_eq!(some.scenarios, [Scenario::Hot, Scenario::Zipf]);
    assert_eq!((some.rounds, some.keys), (3, 10));
}

#[test]
fn mistakes_are_named() {
    for (line, named) in [
        ("--rounds", "`--rounds` needs a number"),
        ("--rounds 0", "`--rounds` needs a number"),
        ("--only warm", "`warm`; there are hot"),
        ("faster", "unknown argument `faster`"),
        ("defects please", "`please` follows it"),
        ("middleware-profile warm 1", "needs one of bare, org"),
        ("redis-profile warm 1", "needs one of bucket, three-and-quota"),
    ] {
        let mistake = parsed(line).unwrap_err();
        assert!(mistake.contains(named), "{line}: {mistake}");
    }
}

#[test]
fn servers_are_measured_when_named_first() {
    assert!(matches!(parsed("server --rounds 3"), Ok(Request::Server(some)) if some.rounds == 3));
    let middleware = parsed("middleware --rounds 4");
    assert!(matches!(middleware, Ok(Request::Middleware(some)) if some.rounds == 4));
    assert!(matches!(parsed("redis --rounds 2"), Ok(Request::Redis(some)) if some.rounds == 2));
    assert!(matches!(parsed("attempts"), Ok(Request::Attempts(some)) if some.rounds == 9));
    assert!(parsed("--rounds 2 redis").is_err());
}
