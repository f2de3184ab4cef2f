//! An API that organisations share, behind both layers: `cargo run -p tidegate --example org-api`. The
//! guide in `docs/guides/org-api.md` explains it piece by piece.

pub(crate) mod app;
mod handlers;
pub(crate) mod tokens;

use std::error::Error;

use tidegate::SystemClock;
use tidegate::file::File;
use tidegate_tower::report::{Audit, JsonLines, Metrics, Reporter};
use tidegate_tower::serve::{Bounds, Serve, listen};
use tokio::net::TcpListener;

use app::app;
use tokens::Tokens;

/// The policy file with the limits.
pub(crate) const POLICIES: &str = include_str!("policies.yaml");

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // [environment] [audit.jsonl]
    let mut arguments = std::env::args().skip(1);
    run(POLICIES, arguments.next(), arguments.next(), "127.0.0.1:3000").await
}

#[allow(clippy::print_stdout, reason = "says where to find it")]
pub(crate) async fn run(
    policies: &str,
    environment: Option<String>,
    audit: Option<String>,
    address: &str,
) -> Result<(), Box<dyn Error>> {
    let file = File::parse_in("policies.yaml", policies, environment.as_deref())?;
    let mut reporter = Reporter::default().measuring(Metrics::default());
    if let Some(path) = audit {
        reporter = reporter.auditing(Audit::builder().start(JsonLines::open(path)?)?);
    }
    // The log: every refusal is an event of `tidegate::throttle`.
    tracing_subscriber::fmt().json().with_max_level(tracing::Level::INFO).init();

    let api = app(&file, SystemClock::new(), reporter, Tokens::example())?;
    let listener = TcpListener::from_std(listen(address.parse()?)?)?;
    let address = listener.local_addr()?;
    println!("curl -i http://{address}/v1/reports -H 'authorization: Bearer ada-laptop'");
    let stop = async { drop(tokio::signal::ctrl_c().await) };
    let stopped = Serve::new(Bounds::default()).run(listener, api, stop).await?;
    println!("{} connections were cut off", stopped.cut);
    Ok(())
}
