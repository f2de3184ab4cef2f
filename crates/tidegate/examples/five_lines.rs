//! The five lines of the README, as a program: `cargo run -p tidegate --example five_lines`

use std::error::Error;
use std::io::Write;

use tidegate::file::File;
use tidegate::memory::MemoryStore;
use tidegate::{Case, Engine, Subject, SystemClock};

const POLICIES: &str = "
version: 1
policies:
  - name: api
    failure_mode: fail_open
    limits:
      - { name: burst, by: [org, user], bucket: { rate: 1/s, burst: 2 } }
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
    for request in 1..=3 {
        let (policies, subject) = (engine.policies(), Subject::new().org("acme").user("u7"));
        let mut case = Case::new(policies.get("api").ok_or("no such policy")?, &subject);
        let decision = engine.decide(&mut case).await?;
        writeln!(out, "request {request}: {}", decision.verdict().name())?;
    }
    Ok(())
}
