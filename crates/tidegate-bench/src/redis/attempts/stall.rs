//! How long one call stalls the server when it finds a whole history expired.

use std::sync::Arc;
use std::time::Duration;

use super::super::asker::{Asker, Door, secret};
use super::super::load::{self, Load};
use super::super::server::Server;
use super::super::workload::Request;
use super::history::{BRIEF, NUMBERS, apart};
use super::pattern::{self, fill, make_attempts};
use super::{SCRIPT, Who};
use crate::Fallible;

/// The call that finds all attempts expired, by one contender.
pub(crate) struct Stall {
    pub(crate) who: Who,
    /// Bytes that the key takes before the call.
    pub(crate) memory: u64,
    /// Microseconds that the call took, as the server reports them.
    pub(crate) micros: u64,
}

/// Attempts that have left the windows: as many as fit a small machine twice.
pub(crate) const EXPIRED: u32 = 300_000;

/// Measures that call for Tidegate and for the seed.
pub(crate) async fn show(server: &mut Server) -> Fallible<[Stall; 2]> {
    eprintln!("{EXPIRED} expired attempts");
    Ok([tidegate(server).await?, seed(server).await?])
}

/// Measures Tidegate: makes the attempts and waits until their windows, which are brief, are over.
async fn tidegate(server: &mut Server) -> Fallible<Stall> {
    server.clear().await?;
    let door = Door { port: server.port, db: 0 };
    let mut request = apart(Who::Tidegate, &secret()?)?;
    let asker = Asker::tidegate(BRIEF.policy()?, door).await?;
    let attempts: Arc<[Request]> = Arc::new([apart(Who::Tidegate, &secret()?)?]);
    make_attempts(&asker, &attempts, EXPIRED).await?;
    // A block that the last attempts may have begun is over by then as well.
    tokio::time::sleep(Duration::from_secs(BRIEF.long() + 1)).await;
    // The request has to pass, which shows that no attempt counts any more.
    request.passes = Some(true);
    one(server, Who::Tidegate, &asker, request).await
}

/// Measures the seed: fills its log with entries that are already older than the long window.
async fn seed(server: &mut Server) -> Fallible<Stall> {
    server.clear().await?;
    let door = Door { port: server.port, db: 0 };
    let mut request = apart(Who::Seed, &secret()?)?;
    let day = NUMBERS.long();
    fill(&mut door.connect().await?, &request, EXPIRED, day / 2, day + 1).await?;
    let asker = Asker::seed(SCRIPT, NUMBERS.script_args(), door).await?;
    request.passes = Some(true);
    one(server, Who::Seed, &asker, request).await
}

async fn one(server: &mut Server, who: Who, asker: &Asker, request: Request) -> Fallible<Stall> {
    let memory = pattern::memory(&request, Door { port: server.port, db: 0 }).await?;
    let before = server.stand().await?;
    let request: Arc<[Request]> = Arc::new([request]);
    load::run(std::slice::from_ref(asker), &request, Load::Each).await?;
    let after = server.stand().await?.since(&before);
    let (_, micros) = after.commands.get("evalsha").ok_or("nobody called a script")?;
    Ok(Stall { who, memory, micros: *micros })
}
