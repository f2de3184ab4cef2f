//! Five requests of one user against a burst and a daily quota, each with what every limit said.
//!
//! `cargo run --release -p tidegate-engine --example quickstart`

#![expect(clippy::print_stdout, reason = "it is a demonstration")]

use std::error::Error;

use tidegate_core::{
    Bucket, Calendar, Case, Counts, Dimension, FailureMode, Limit, Name, Period, PolicySet,
    PolicySpec, Quota, Rate, Retry, Scope, Shape, Subject, Unit, Verdict,
};
use tidegate_engine::memory::{Budget, MemoryStore};
use tidegate_engine::{Engine, SystemClock, ready};

fn main() -> Result<(), Box<dyn Error>> {
    let engine = Engine::new(MemoryStore::new(Budget::default(), SystemClock::new()), policies()?);
    let set = engine.policies();
    let policy = set.get("api").ok_or("the policy is there")?;
    let subject = Subject::new().org("acme").user("u7");

    for request in 1..=5 {
        let mut case = Case::new(policy, &subject);
        let decision = ready(engine.decide(&mut case)).ok_or("memory never waits")??;
        let answer = match decision.verdict() {
            Verdict::Admit => "admit".to_owned(),
            Verdict::Queue(wait) => format!("queue for {wait}"),
            Verdict::Degrade => "degrade".to_owned(),
            Verdict::Deny(denial) => match denial.retry {
                Retry::After(wait) => format!("deny; retry after {wait}"),
                Retry::Never => "deny; no wait helps".to_owned(),
            },
        };
        let binding = decision.binding().ok_or("a limit has decided")?;
        println!("request {request}: {answer} (decided by `{}`)", binding.limit.name());
        for said in decision.explain() {
            println!("    {:<6} {:>4} left", said.limit.name().as_str(), said.reading.remaining);
        }
    }
    Ok(())
}

/// Three at once and one more each second for a user; 1,000 a day in Berlin for the organisation.
fn policies() -> Result<PolicySet, Box<dyn Error>> {
    let user = Scope::of([Dimension::Org, Dimension::User]);
    let burst = Shape::Bucket(Bucket::try_new(Rate::per_second(1)?, 3)?);
    let day = Period::Calendar(Calendar::try_new(Unit::Day, "Europe/Berlin", None)?);
    let quota = Shape::Quota(Quota::try_new(1_000, day, Counts::Admitted)?);

    let api = PolicySpec::new(Name::try_new("api")?, FailureMode::FailOpen)
        .limit(Limit::new(Name::try_new("user")?, user, burst))
        .limit(Limit::new(Name::try_new("daily")?, Scope::of([Dimension::Org]), quota));
    Ok(PolicySet::builder().policy(api).build(None)?)
}
