//! Instructions of the server per call, as [for the other scripts](super::super::instructions).
//!
//! The server runs under callgrind twice for each contender: once the keys are only laid out, once
//! they are laid out and asked about. The difference is the cost of the calls alone. The keys are
//! made on another server, which is not counted: a hundred thousand attempts under callgrind would
//! take minutes.

use super::super::load::{self, CallLoad};
use super::super::server::RedisProcess;
use super::history::History;
use super::pattern::Pattern;
use super::{LogLimiter, acquainted};
use crate::Fallible;

/// Instructions of the server per call, for one contender and one history.
pub(crate) struct LogInstructions {
    pub(crate) who: LogLimiter,
    pub(crate) history: History,
    pub(crate) each: f64,
}

/// Calls over which instructions are counted.
const COUNTED: u64 = 2_048;

/// Counts for every contender and history; keys are made on `server`.
pub(crate) async fn count(server: &RedisProcess) -> Fallible<Vec<LogInstructions>> {
    let mut counts = Vec::new();
    for history in History::ALL {
        for who in LogLimiter::ALL {
            eprintln!("instructions: {} attempts, {}", history.attempts, who.name());
            let pattern = Pattern::make(who, history, server.port).await?;
            let laid = total(who, history, &pattern, false).await?;
            let asked = total(who, history, &pattern, true).await?;
            let each = asked.saturating_sub(laid) as f64 / COUNTED as f64;
            counts.push(LogInstructions { who, history, each });
        }
    }
    Ok(counts)
}

/// All instructions of a server from its start to its end.
async fn total(who: LogLimiter, history: History, pattern: &Pattern, asks: bool) -> Fallible<u64> {
    let server = RedisProcess::start_counted().await?;
    let requests = history.requests(who, COUNTED)?;
    pattern.lay(&requests[..history.distinct(requests.len())], server.door()).await?;
    let callers = acquainted(who, server.door()).await?;
    if asks {
        load::run(&callers, &requests, CallLoad::Each).await?;
    }
    server.instructions().await
}
