//! Two nodes that count together: `cargo run -p tidegate --example fleet` with a Redis on this machine,
//! or with the URL of one as its argument.

use std::error::Error;
use std::io::Write;
use std::sync::Arc;

use tidegate::file::File;
use tidegate::redis::{RedisStore, Target};
use tidegate::{Case, Engine, Secret, Subject};

const POLICIES: &str = "
version: 1
policies:
  - name: api
    failure_mode: fail_open
    limits:
      - { name: burst, by: org, bucket: { rate: 1/min, burst: 2 } }
";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "redis://127.0.0.1:6379".to_owned());
    run(&mut std::io::stdout(), &url).await
}

/// Runs the example; it writes to `out`, so that a test can read along.
pub(crate) async fn run(out: &mut impl Write, url: &str) -> Result<(), Box<dyn Error>> {
    let nodes = [node(url).await?, node(url).await?];
    for number in [1, 2, 1, 2] {
        let engine = &nodes[number - 1];
        let (policies, subject) = (engine.policies(), Subject::new().org("acme"));
        let mut case = Case::new(policies.get("api").ok_or("no such policy")?, &subject);
        let decision = engine.decide(&mut case).await?;
        writeln!(out, "node {number}: {}", decision.verdict().name())?;
    }
    Ok(())
}

/// Starts a node: every process of a fleet does this, with the same secret.
async fn node(url: &str) -> Result<Arc<Engine<RedisStore>>, Box<dyn Error>> {
    let secret = Secret::try_new("of `openssl rand -base64 32`, not of a source file")?;
    let file: File = File::parse("policies.yaml", POLICIES)?;
    let store = RedisStore::new(Target::parse(url)?, &secret)?;
    store.check().await?;
    let engine = Engine::new(store, file.policies().clone().build(None)?).sharing(&secret);
    let engine = Arc::new(engine);
    // Finds out when a store that has failed works again; without this task nobody would.
    tokio::spawn(tidegate::tend(Arc::clone(&engine)));
    Ok(engine)
}
