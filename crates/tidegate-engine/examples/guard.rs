//! One decision, many times: what `cargo xtask guard` counts the instructions of.
//!
//! `guard list` names the scenarios; `guard <scenario> <iterations>` runs one. Nothing here depends
//! on chance or on the time of day, so two runs take the same instructions.

#![expect(clippy::print_stdout, reason = "it is a command")]

use std::error::Error;
use std::hint::black_box;

use tidegate_core::{
    Bucket, Case, Counts, Digests, Dimension, FailureMode, Limit, ManualClock, Name, Period,
    PolicySet, PolicySpec, Quota, Rate, Scope, Shape, Span, Subject, Timestamp, Window,
};
use tidegate_engine::memory::{Budget, MemoryStore};
use tidegate_engine::{Engine, ready};

type Fallible<T> = Result<T, Box<dyn Error>>;

/// A scenario: its name, its limits, and how far time moves between two decisions.
type Scenario = (&'static str, fn() -> Fallible<Vec<Limit>>, Span);

const SCENARIOS: [Scenario; 5] = [
    ("one_bucket_admitted", one_bucket, Span::SECOND),
    ("one_bucket_denied", one_bucket, Span::ZERO),
    ("five_buckets_admitted", five_buckets, Span::SECOND),
    ("bucket_and_quota_admitted", bucket_and_quota, Span::SECOND),
    ("sliding_window_admitted", sliding_window, Span::SECOND),
];

fn main() -> Fallible<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [list] if list == "list" => {
            for (name, _, _) in SCENARIOS {
                println!("{name}");
            }
            Ok(())
        }
        [name, iterations] => {
            let scenario = SCENARIOS.iter().find(|(known, _, _)| known == name);
            run(scenario.ok_or("no such scenario; try `guard list`")?, iterations.parse()?)
        }
        _ => Err("usage: guard list | guard <scenario> <iterations>".into()),
    }
}

fn run((_, limits, step): &Scenario, iterations: u32) -> Fallible<()> {
    let spec = PolicySpec::new(Name::try_new("guard")?, FailureMode::FailOpen);
    let spec = limits()?.into_iter().fold(spec, PolicySpec::limit);
    let policies = PolicySet::builder().policy(spec).build(None)?;
    let clock = ManualClock::new(Timestamp::from_micros(1_800_000_000_000_000));
    let budget = Budget { buckets: 1_000, quotas: 1_000, windows: 100, attempts: 16 };
    let store = MemoryStore::new(budget, &clock);
    let engine = Engine::with_digests(store, policies, Digests::new([1, 2]));
    let subject = Subject::new().org("acme").user("u7").token("t-123456").class("read");
    let mut reader = engine.reader();
    let place = reader.policies().place("guard").ok_or("the policy is there")?;
    for _ in 0..iterations {
        clock.advance(*step);
        let policy = &reader.policies().policies()[place];
        let mut case = Case::new(policy, black_box(&subject));
        let decision = ready(engine.decide(&mut case)).ok_or("memory never waits")??;
        black_box(decision.verdict());
    }
    Ok(())
}

fn one_bucket() -> Fallible<Vec<Limit>> {
    Ok(vec![bucket("burst", &[Dimension::Org])?])
}

fn five_buckets() -> Fallible<Vec<Limit>> {
    Ok(vec![
        bucket("org", &[Dimension::Org])?,
        bucket("user", &[Dimension::Org, Dimension::User])?,
        bucket("token", &[Dimension::Org, Dimension::Token])?,
        bucket("class", &[Dimension::Org, Dimension::Class])?,
        bucket("all", &[])?,
    ])
}

fn bucket_and_quota() -> Fallible<Vec<Limit>> {
    let quota = Quota::try_new(1_000_000, Period::Fixed(Span::DAY), Counts::Admitted)?;
    let scope = Scope::of([Dimension::Org]);
    Ok(vec![
        bucket("burst", &[Dimension::Org])?,
        Limit::new(Name::try_new("quota")?, scope, Shape::Quota(quota)),
    ])
}

fn sliding_window() -> Fallible<Vec<Limit>> {
    let window = Window::try_new(1_000, Span::MINUTE, Counts::Admitted)?;
    let scope = Scope::of([Dimension::Org]);
    Ok(vec![Limit::new(Name::try_new("window")?, scope, Shape::Window(window))])
}

fn bucket(name: &str, scope: &[Dimension]) -> Fallible<Limit> {
    let shape = Shape::Bucket(Bucket::try_new(Rate::per_second(10)?, 20)?);
    Ok(Limit::new(Name::try_new(name)?, Scope::of(scope.iter().copied()), shape))
}
