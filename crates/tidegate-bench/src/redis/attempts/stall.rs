//! One call that finds a whole history expired: how long everybody else waits for it.

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

/// What that call was like.
pub(crate) struct Stall {
    pub(crate) who: Who,
    /// Bytes for the key before it.
    pub(crate) memory: u64,
    /// Microseconds, as the server tells them.
    pub(crate) micros: u64,
}

/// Attempts that have left the windows: as many as fit a small machine twice.
pub(crate) const EXPIRED: u32 = 300_000;

/// Lets both make that call.
pub(crate) async fn show(server: &mut Server) -> Fallible<[Stall; 2]> {
    eprintln!("{EXPIRED} expired attempts");
    Ok([tidegate(server).await?, seed(server).await?])
}

/// The attempts are made, and their windows waited for, which are brief.
async fn tidegate(server: &mut Server) -> Fallible<Stall> {
    server.clear().await?;
    let door = Door { port: server.port, db: 0 };
    let mut request = apart(Who::Tidegate, &secret()?)?;
    let asker = Asker::tidegate(BRIEF.policy()?, door).await?;
    let attempts: Arc<[Request]> = Arc::new([apart(Who::Tidegate, &secret()?)?]);
    make_attempts(&asker, &attempts, EXPIRED).await?;
    // The block that the last of them may have begun is over by then as well.
    tokio::time::sleep(Duration::from_secs(BRIEF.long() + 1)).await;
    // It passes, so there was nothing left that counts.
    request.passes = Some(true);
    one(server, Who::Tidegate, &asker, request).await
}

/// The log is filled with what calls of the day before would have left.
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
