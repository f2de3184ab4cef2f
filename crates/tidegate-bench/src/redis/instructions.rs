//! Instructions of the server per call, which no neighbour on the machine disturbs.
//!
//! The server runs under callgrind, and is asked one request at a time: nothing, then every request
//! once, then those and some again. The differences are the calls alone. What a call costs beyond
//! its script, reading the request and writing the answer, is in all of them.

use std::process::Command;

use super::asker::{Asker, Door, secret};
use super::contender::Who;
use super::load::{self, Load};
use super::server::Server;
use super::workload::Workload;
use crate::Fallible;

/// Instructions per call.
pub(crate) struct Instructions {
    pub(crate) who: Who,
    pub(crate) workload: Workload,
    /// For a key that the server has not met.
    pub(crate) new: f64,
    /// For a key that it has.
    pub(crate) known: f64,
}

/// Calls with keys that are known.
const AGAIN: u64 = 4096;

/// Whether callgrind is there.
pub(crate) fn can_be_counted() -> bool {
    Command::new("valgrind").arg("--version").output().is_ok()
}

/// Counts for everybody who can be compared by it.
pub(crate) async fn count() -> Fallible<Vec<Instructions>> {
    let mut counts = Vec::new();
    for workload in Workload::ALL {
        for who in [Who::Tidegate, Who::Script, Who::IncrMultiplexed] {
            if Who::of(workload).contains(&who) {
                eprintln!("instructions: {}, {}", workload.name(), who.name());
                counts.push(of(who, workload).await?);
            }
        }
    }
    Ok(counts)
}

async fn of(who: Who, workload: Workload) -> Fallible<Instructions> {
    let each = workload.requests(&secret()?)?.len() as f64;
    let none = total(who, workload, &[]).await?;
    let new = total(who, workload, &[Load::Each]).await?;
    let known = total(who, workload, &[Load::Each, Load::Count(AGAIN)]).await?;
    Ok(Instructions {
        who,
        workload,
        new: new.saturating_sub(none) as f64 / each,
        known: known.saturating_sub(new) as f64 / AGAIN as f64,
    })
}

/// All instructions of a server that was asked so, from its start to its end.
async fn total(who: Who, workload: Workload, loads: &[Load]) -> Fallible<u64> {
    let server = Server::start_counted().await?;
    let door = Door { port: server.port, db: 0 };
    let caller = match who {
        Who::Script => Asker::script(workload, door).await?,
        Who::IncrUnpipelined | Who::IncrOtherClient | Who::IncrMultiplexed => {
            Asker::incr(door).await?
        }
        Who::Tidegate | Who::TwoConnections => Asker::tidegate(workload, door).await?,
    };
    let requests = workload.requests(&secret()?)?;
    for load in loads {
        load::run(std::slice::from_ref(&caller), &requests, *load).await?;
    }
    server.instructions().await
}
