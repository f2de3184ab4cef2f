//! Instructions of the server per call, as [for the other scripts](super::super::instructions).
//!
//! The server runs under callgrind twice for each contender: once the keys are only laid out, once
//! they are laid out and asked about. The difference is the cost of the calls alone. The keys are
//! made on another server, which is not counted: a hundred thousand attempts under callgrind would
//! take minutes.

use super::super::asker::{Door, secret};
use super::super::load::{self, Load};
use super::super::server::Server;
use super::history::History;
use super::pattern::Pattern;
use super::{Who, acquainted};
use crate::Fallible;

/// Instructions of the server per call, for one contender and one history.
pub(crate) struct Instructions {
    pub(crate) who: Who,
    pub(crate) history: History,
    pub(crate) each: f64,
}

/// Calls over which instructions are counted.
const COUNTED: u64 = 2_048;

/// Counts for every contender and history; keys are made on `server`.
pub(crate) async fn count(server: &Server) -> Fallible<Vec<Instructions>> {
    let mut counts = Vec::new();
    for history in History::ALL {
        for who in Who::ALL {
            eprintln!("instructions: {} attempts, {}", history.attempts, who.name());
            let pattern = Pattern::make(who, history, server.port).await?;
            let laid = total(who, history, &pattern, false).await?;
            let asked = total(who, history, &pattern, true).await?;
            let each = asked.saturating_sub(laid) as f64 / COUNTED as f64;
            counts.push(Instructions { who, history, each });
        }
    }
    Ok(counts)
}

/// All instructions of a server from its start to its end.
async fn total(who: Who, history: History, pattern: &Pattern, asks: bool) -> Fallible<u64> {
    let server = Server::start_counted().await?;
    let door = Door { port: server.port, db: 0 };
    let requests = history.requests(who, COUNTED, &secret()?)?;
    pattern.lay(&requests[..history.distinct(requests.len())], door).await?;
    let callers = acquainted(who, door).await?;
    if asks {
        load::run(&callers, &requests, Load::Each).await?;
    }
    server.instructions().await
}
