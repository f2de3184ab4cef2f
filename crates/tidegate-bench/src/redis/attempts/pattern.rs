//! The stored state of a key with a history: made once, then copied to many keys.
//!
//! Our attempts are made one by one, because that takes seconds at most. The log of the seed is
//! filled with the entries that its calls would have left; then its script is called once, so that
//! it sets the block and the times to live itself. The result is copied as it is stored.

use std::sync::Arc;

use redis::aio::MultiplexedConnection;

use super::super::asker::{Asker, DatabaseAddress};
use super::super::load::{self, CallLoad};
use super::super::workload::BenchSubject;
use super::history::{History, apart};
use super::{LogLimiter, callers};
use crate::Fallible;

/// For each name of a request, the stored value and its time to live in milliseconds, or `None` if
/// nothing is stored.
pub(crate) struct Pattern(Vec<Option<(Vec<u8>, i64)>>);

/// The database in which patterns are made; no contender uses it.
const ASIDE: usize = 1;

/// Members added to the sorted set at a time.
const CHUNK: u32 = 1_000;

/// The seconds over which attempts are spread; all of them are within the short window.
const SPREAD: u64 = 30;

/// Commands sent to the server at a time.
const AT_ONCE: usize = 256;

// === impl Pattern ===

impl Pattern {
    /// Makes the pattern on the server at this port.
    pub(crate) async fn make(who: LogLimiter, history: History, port: u16) -> Fallible<Self> {
        let door = DatabaseAddress { port, db: ASIDE };
        let mut connection = door.connect().await?;
        let request = apart(who, None)?;
        let asker = callers(who, door, 1).await?;
        redis::cmd("DEL").arg(&request[0].names).query_async::<()>(&mut connection).await?;
        match (who, history.attempts) {
            (LogLimiter::Nothing, _) | (_, 0) => {}
            (LogLimiter::Tidegate, attempts) => {
                make_attempts(&asker[0], &request, attempts).await?;
            }
            (LogLimiter::Seed, attempts) => {
                fill(&mut connection, &request[0], attempts - 1, SPREAD, 0).await?;
                load::run(&asker, &request, CallLoad::Each).await?;
            }
        }
        let mut kept = Vec::new();
        for name in &request[0].names {
            let mut both = redis::pipe();
            both.cmd("DUMP").arg(name).cmd("PTTL").arg(name);
            let (dump, left): (Option<Vec<u8>>, i64) = both.query_async(&mut connection).await?;
            kept.push(dump.map(|dump| (dump, left.max(0))));
        }
        Ok(Self(kept))
    }

    /// Copies the pattern to the names of each of these requests.
    pub(crate) async fn lay(
        &self,
        requests: &[BenchSubject],
        door: DatabaseAddress,
    ) -> Fallible<()> {
        if self.0.iter().all(Option::is_none) {
            return Ok(());
        }
        let mut connection = door.connect().await?;
        for some in requests.chunks(AT_ONCE) {
            let mut commands = redis::pipe();
            for (name, kept) in some.iter().flat_map(|request| request.names.iter().zip(&self.0)) {
                if let Some((dump, left)) = kept {
                    commands.cmd("RESTORE").arg(name).arg(*left).arg(dump.as_slice()).ignore();
                }
            }
            commands.query_async::<()>(&mut connection).await?;
        }
        Ok(())
    }
}

/// Makes this many attempts on one key, by up to 50 callers at a time.
pub(crate) async fn make_attempts(
    asker: &Asker,
    request: &Arc<[BenchSubject]>,
    attempts: u32,
) -> Fallible<()> {
    let callers = (1..=50).rev().find(|callers| attempts.is_multiple_of(*callers)).unwrap_or(1);
    let askers = vec![asker.clone(); callers as usize];
    load::run(&askers, request, CallLoad::Count(u64::from(attempts / callers))).await?;
    Ok(())
}

/// Fills the log of the seed as its script would have: this many attempts, over the `spread`
/// seconds that ended `ago` seconds ago. The score is the second, and the member joins it with a
/// sequence number.
pub(crate) async fn fill(
    connection: &mut MultiplexedConnection,
    request: &BenchSubject,
    attempts: u32,
    spread: u64,
    ago: u64,
) -> Fallible<()> {
    let [log, _, seq] = request.names.as_slice() else { return Err("no names of a log".into()) };
    let (now, _): (u64, u64) = redis::cmd("TIME").query_async(connection).await?;
    let first = now - ago - spread;
    for from in (0..attempts).step_by(CHUNK as usize) {
        let mut add = redis::cmd("ZADD");
        add.arg(log);
        for place in from..attempts.min(from + CHUNK) {
            let second = first + u64::from(place) * spread / u64::from(attempts);
            add.arg(second).arg(format!("{second}:{}", place + 1));
        }
        add.query_async::<()>(connection).await?;
    }
    Ok(redis::cmd("SET").arg(seq).arg(attempts).query_async(connection).await?)
}

/// Bytes that the server needs for all values stored under the names of this request.
pub(crate) async fn memory(request: &BenchSubject, door: DatabaseAddress) -> Fallible<u64> {
    let mut connection = door.connect().await?;
    let mut bytes = 0;
    for name in &request.names {
        let mut usage = redis::cmd("MEMORY");
        usage.arg("USAGE").arg(name).arg("SAMPLES").arg(0);
        bytes += usage.query_async::<Option<u64>>(&mut connection).await?.unwrap_or_default();
    }
    Ok(bytes)
}
