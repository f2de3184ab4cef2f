//! How long one call stalls the server when it finds a whole history expired.

use std::sync::Arc;
use std::time::Duration;

use super::super::asker::Asker;
use super::super::load::{self, CallLoad};
use super::super::server::RedisProcess;
use super::super::workload::BenchSubject;
use super::history::{BRIEF, NUMBERS, apart};
use super::pattern::{self, fill, make_attempts};
use super::{LogLimiter, SCRIPT};
use crate::Fallible;

/// The call that finds all attempts expired, by one contender.
pub(crate) struct Stall {
    pub(crate) who: LogLimiter,
    /// Bytes that the key takes before the call.
    pub(crate) memory: u64,
    /// Microseconds that the call took, as the server reports them.
    pub(crate) micros: u64,
}

/// Attempts that have left the windows: as many as fit a small machine twice.
pub(crate) const EXPIRED: u32 = 300_000;

/// Measures that call for Tidegate and for the seed.
pub(crate) async fn show(server: &mut RedisProcess) -> Fallible<[Stall; 2]> {
    eprintln!("{EXPIRED} expired attempts");
    Ok([tidegate(server).await?, seed(server).await?])
}

/// Measures Tidegate: makes the attempts and waits until their windows, which are brief, are over.
async fn tidegate(server: &mut RedisProcess) -> Fallible<Stall> {
    server.clear().await?;
    let who = LogLimiter::Tidegate;
    let asker = Asker::tidegate(BRIEF.policy()?, server.door()).await?;
    make_attempts(&asker, &apart(who, None)?, EXPIRED).await?;
    // A block that the last attempts may have begun is over by then as well.
    tokio::time::sleep(Duration::from_secs(BRIEF.long() + 1)).await;
    // The request has to pass, which shows that no attempt counts any more.
    one(server, who, asker, &apart(who, Some(true))?).await
}

/// Measures the seed: fills its log with entries that are already older than the long window.
async fn seed(server: &mut RedisProcess) -> Fallible<Stall> {
    server.clear().await?;
    let who = LogLimiter::Seed;
    let (door, request) = (server.door(), apart(who, Some(true))?);
    let day = NUMBERS.long();
    fill(&mut door.connect().await?, &request[0], EXPIRED, day / 2, day + 1).await?;
    let asker = Asker::script(SCRIPT, NUMBERS.script_args(), door).await?;
    one(server, who, asker, &request).await
}

async fn one(
    server: &mut RedisProcess,
    who: LogLimiter,
    asker: Asker,
    request: &Arc<[BenchSubject]>,
) -> Fallible<Stall> {
    let memory = pattern::memory(&request[0], server.door()).await?;
    let before = server.stand().await?;
    load::run(&[asker], request, CallLoad::Each).await?;
    let after = server.stand().await?.since(&before);
    let (_, micros) = after.commands.get("evalsha").ok_or("nobody called a script")?;
    Ok(Stall { who, memory, micros: *micros })
}
