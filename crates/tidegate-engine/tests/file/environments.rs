//! One file, other numbers in some environments.

use tidegate_core::{Case, Digests, PolicySet, Subject};
use tidegate_engine::file::{File, FileError, NoDoor};

const FILE: &str = "
version: 1
environments: [production, staging, laptop]
shared:
  - name: per-address
    by: ip
    bucket: { rate: 20/s, burst: 40 }
    in: { staging: { bucket: { burst: 4000 } } }
policies:
  - name: api
    failure_mode: degraded
    limits:
      - shared: per-address
      - name: burst
        by: org
        bucket: { rate: 20/s, burst: 50 }
        in:
          staging: { bucket: { rate: 200/s, burst: 500 } }
          laptop: { bucket: { burst: 5 } }
        overrides:
          - match: { org: acme }
            bucket: { rate: 500/s }
          - match: { org: large }
            bucket: { burst: 900 }
";

fn parse_in(text: &str, environment: Option<&str>) -> Result<File, FileError> {
    File::<NoDoor>::parse_in("policies.yaml", text, environment)
}

/// What each limit bears at once, and how many it gets back in ten seconds.
fn numbers(set: &PolicySet, org: &str) -> Vec<(u64, u64)> {
    let subject = Subject::new().org(org).ip([192, 0, 2, 1].into());
    let mut case = Case::new(set.get("api").unwrap(), &subject);
    case.resolve(&Digests::new([7, 11]));
    let shapes = case.batch().charges().iter().map(|charge| charge.shape().clone());
    let numbers = shapes.map(|shape| {
        let tidegate_core::Shape::Bucket(bucket) = shape else { panic!("a bucket") };
        (bucket.burst(), bucket.rate().tokens() * 10_000_000 / bucket.rate().per().as_micros())
    });
    numbers.collect()
}

#[test]
fn an_environment_has_its_numbers_and_otherwise_those_of_the_limit() {
    for (environment, usual, acme, large) in [
        (None, [(40, 200), (50, 200)], (50, 5_000), (900, 200)),
        (Some("production"), [(40, 200), (50, 200)], (50, 5_000), (900, 200)),
        (Some("staging"), [(4_000, 200), (500, 2_000)], (500, 5_000), (900, 2_000)),
        (Some("laptop"), [(40, 200), (5, 200)], (5, 5_000), (900, 200)),
    ] {
        let set = parse_in(FILE, environment).unwrap().policies().clone().build(None).unwrap();
        assert_eq!(numbers(&set, "o"), usual, "{environment:?}");
        assert_eq!(numbers(&set, "acme")[1], acme, "{environment:?}: on top of its numbers");
        assert_eq!(numbers(&set, "large")[1], large, "{environment:?}");
    }
}

#[test]
fn an_environment_that_is_not_declared_is_refused() {
    for (text, suggested) in [(FILE.to_owned(), true), (without_environments(), false)] {
        let refused = parse_in(&text, Some("stagin")).unwrap_err();
        let [problem] = refused.problems() else { panic!("{refused}") };
        assert_eq!(problem.wrong().code(), "unknown-environment");
        let shown = refused.to_string();
        assert_eq!(shown.contains("did you mean `staging`?"), suggested, "{shown}");
    }
    parse_in(&without_environments(), None).unwrap();
}

fn without_environments() -> String {
    let kept = FILE.lines().filter(|line| {
        let line = line.trim_start();
        let differs = ["environments:", "in:", "staging:", "laptop:"];
        !differs.iter().any(|start| line.starts_with(start))
    });
    kept.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_mistake_in_one_environment_is_found_in_every_other() {
    let wrong = FILE.replace("burst: 500 }", "burst: 0 }");
    for environment in [None, Some("production"), Some("staging"), Some("laptop")] {
        let refused = parse_in(&wrong, environment).unwrap_err();
        let [problem] = refused.problems() else { panic!("{refused}") };
        assert_eq!(problem.wrong().code(), "bad-numbers");
        assert_eq!(problem.environment().map(ToString::to_string).as_deref(), Some("staging"));
    }
}

#[test]
fn what_is_wrong_everywhere_is_told_once_and_of_no_environment() {
    let wrong = FILE.replace("failure_mode: degraded", "failure_mode: degrade");
    let refused = parse_in(&wrong, Some("staging")).unwrap_err();
    let [problem] = refused.problems() else { panic!("{refused}") };
    assert_eq!(problem.environment(), None);
}
