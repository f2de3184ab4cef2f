//! Instructions of the server per call, which other load on the machine does not change.
//!
//! The server runs under callgrind, and is asked by as many callers as when it is timed: first
//! nothing, then every request once, then every request once and some again. The differences are
//! the cost of the calls alone. Each includes the cost of a call beyond its script: reading the
//! request and writing the answer. A server that slow finds all callers waiting whenever it looks.
//! So the number of callers decides how many requests it reads at once, and the counts repeat
//! within two in a hundred.

use clap::ValueEnum as _;

use super::contender::StoreClient;
use super::load::{self, CallLoad};
use super::server::RedisProcess;
use super::workload::Workload;
use crate::Fallible;
use crate::args::name;

/// Instructions of the server per call, for one contender and one workload.
pub(crate) struct Instructions {
    pub(crate) who: StoreClient,
    pub(crate) workload: Workload,
    /// Instructions for a key that the server has not met before.
    pub(crate) new: f64,
    /// Instructions for a key that the server has met before.
    pub(crate) known: f64,
}

/// Calls of each caller with known keys.
const AGAIN: u64 = 64;

/// Counts for every contender that can be compared by instructions.
pub(crate) async fn count() -> Fallible<Vec<Instructions>> {
    let mut counts = Vec::new();
    for workload in Workload::value_variants().iter().copied() {
        for who in [StoreClient::Tidegate, StoreClient::Script, StoreClient::IncrMultiplexed] {
            if StoreClient::of(workload).contains(&who) {
                eprintln!("instructions: {}, {}", name(&workload), who.name());
                counts.push(of(who, workload).await?);
            }
        }
    }
    Ok(counts)
}

async fn of(who: StoreClient, workload: Workload) -> Fallible<Instructions> {
    let (none, _) = total(who, workload, &[]).await?;
    let (new, each) = total(who, workload, &[CallLoad::Each]).await?;
    let (known, all) = total(who, workload, &[CallLoad::Each, CallLoad::Count(AGAIN)]).await?;
    Ok(Instructions {
        who,
        workload,
        new: new.saturating_sub(none) as f64 / each as f64,
        known: known.saturating_sub(new) as f64 / (all - each) as f64,
    })
}

/// All instructions of a server from its start to its end, and the number of requests it was asked.
async fn total(who: StoreClient, workload: Workload, loads: &[CallLoad]) -> Fallible<(u64, u64)> {
    let server = RedisProcess::start_counted().await?;
    let callers = who.callers(workload, server.door()).await?;
    let requests = workload.requests()?;
    let mut asked = 0;
    for load in loads {
        asked += load::run(&callers, &requests, *load).await?.asked;
    }
    Ok((server.instructions().await?, asked))
}
