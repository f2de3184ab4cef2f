//! Charge what a request may cost, then settle for what it did cost:
//! `cargo run -p tidegate --example settle`

use std::error::Error;
use std::io::Write;

use tidegate::file::File;
use tidegate::memory::MemoryStore;
use tidegate::{Case, Cost, Engine, Subject, SystemClock};

const POLICIES: &str = "
version: 1
policies:
  - name: model
    protects: spend
    failure_mode: fail_closed
    limits:
      - name: tokens
        by: org
        quota: { count: 10000, per: day, zone: UTC }
        settles: true
";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    run(&mut std::io::stdout()).await
}

/// Runs the example; it writes to `out`, so that a test can read along.
pub(crate) async fn run(out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let file: File = File::parse("policies.yaml", POLICIES)?;
    let store = MemoryStore::try_new(file.budget(), SystemClock::new())?;
    let engine = Engine::new(store, file.policies().clone().build(None)?);
    let (policies, subject) = (engine.policies(), Subject::new().org("acme"));
    let policy = policies.get("model").ok_or("no such policy")?;

    // The answer may take 4,000 tokens, so that much is taken.
    let mut case = Case::new(policy, &subject).weighing(Cost::try_new(4_000)?);
    let decision = engine.decide(&mut case).await?;
    let ticket = engine.ticket(&decision).ok_or("admitted, by a limit that settles")?;
    writeln!(out, "charged 4000: {} left", decision.status().remaining)?;

    // It took 1,500. The rest is given back, once.
    let settled = engine.settle(ticket.as_str(), 1_500).await?;
    writeln!(out, "settled for 1500: {} given back", settled.returned)?;
    let again = engine.settle(ticket.as_str(), 0).await;
    writeln!(out, "settled again: {}", again.err().ok_or("at most once")?)?;

    let mut case = Case::new(policy, &subject);
    writeln!(out, "now: {} left", engine.peek(&mut case).await?.status().remaining)?;
    Ok(())
}
