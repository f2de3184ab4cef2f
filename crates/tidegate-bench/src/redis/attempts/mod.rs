//! Abuse logs beside the script they come from, written as seed 002 describes it.
//!
//! That script keeps every attempt of the long window in a sorted set. Its time per call does not
//! grow much with the history, but its memory does, and one call may have to throw a million
//! attempts away. Ours keeps as many as the larger threshold. Both are asked about keys of the same
//! history, in turns, by the same client; a script that does nothing shows the cost of the server
//! and the machine themselves.

mod history;
mod instructions;
mod pattern;
mod report;
mod stall;

use super::asker::{Asker, DatabaseAddress};
use super::contender::{CALLERS, StoreFigures};
use super::load::{self, CallLoad};
use super::runtime;
use super::server::{RedisProcess, Slow};
use crate::Fallible;
use crate::args::Rounds;
use crate::callgrind;
use crate::measure::progress;
use history::{History, NUMBERS, apart};
use pattern::Pattern;

/// A contender in the benchmark of abuse logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogLimiter {
    Tidegate,
    Seed,
    /// A script that does nothing, called with the keys and arguments of the seed's.
    Nothing,
}

/// A contender measured on keys of one history, and its figures.
pub(crate) struct LogContender {
    who: LogLimiter,
    history: History,
    figures: StoreFigures,
    slow: Slow,
    /// Bytes that one key takes before it is asked about.
    memory: u64,
}

const SCRIPT: &str = include_str!("../baseline/attempts_seed002.lua");

/// Calls in a turn.
pub(crate) const CALLS: u64 = 16_384;

/// Starts a server, lets every contender take turns, counts instructions, and prints the report.
pub(crate) fn run(Rounds { rounds }: Rounds) -> Fallible<()> {
    runtime()?.block_on(async {
        let mut server = RedisProcess::start().await?;
        let contenders = take_turns(&mut server, rounds).await?;
        let stalls = stall::show(&mut server).await?;
        let version = server.version().await?;
        let instructions = match callgrind::is_installed() {
            true => instructions::count(&server).await?,
            false => Vec::new(),
        };
        let measured = report::Measured { contenders, stalls, instructions };
        println!("{}", measured.report(&version, rounds));
        Ok(())
    })
}

async fn take_turns(server: &mut RedisProcess, rounds: u32) -> Fallible<Vec<LogContender>> {
    let mut contenders = Vec::new();
    for history in History::ALL {
        for who in LogLimiter::ALL {
            let (figures, slow) = (StoreFigures::new()?, Slow::default());
            contenders.push(LogContender { who, history, figures, slow, memory: 0 });
        }
    }
    progress("attempts", 0, rounds);
    for round in 1..=rounds {
        progress("attempts", round, rounds);
        for contender in &mut contenders {
            contender.turn(server).await?;
        }
    }
    Ok(contenders)
}

/// `count` callers on one connection.
async fn callers(who: LogLimiter, door: DatabaseAddress, count: usize) -> Fallible<Vec<Asker>> {
    let args = NUMBERS.script_args();
    let asker = match who {
        LogLimiter::Tidegate => Asker::tidegate(NUMBERS.policy()?, door).await?,
        LogLimiter::Seed => Asker::script(SCRIPT, args, door).await?,
        LogLimiter::Nothing => Asker::script("return {1}", args, door).await?,
    };
    Ok(vec![asker; count])
}

/// The callers of a turn. One call is made beforehand, so that the server knows the script;
/// otherwise every caller would send it.
async fn acquainted(who: LogLimiter, door: DatabaseAddress) -> Fallible<Vec<Asker>> {
    let callers = callers(who, door, CALLERS).await?;
    load::run(&callers[..1], &apart(who, None)?, CallLoad::Each).await?;
    Ok(callers)
}

// === impl LogLimiter ===

impl LogLimiter {
    const ALL: [Self; 3] = [Self::Tidegate, Self::Seed, Self::Nothing];

    const fn name(self) -> &'static str {
        match self {
            Self::Tidegate => "tidegate",
            Self::Seed => "seed 002",
            Self::Nothing => "a script that does nothing",
        }
    }
}

// === impl LogContender ===

impl LogContender {
    /// Lays out fresh keys with their history, and asks about them.
    async fn turn(&mut self, server: &mut RedisProcess) -> Fallible<()> {
        let door = server.door();
        server.clear().await?;
        let pattern = Pattern::make(self.who, self.history, server.port).await?;
        let requests = self.history.requests(self.who, CALLS)?;
        pattern.lay(&requests[..self.history.distinct(requests.len())], door).await?;
        self.memory = pattern::memory(&requests[0], door).await?;
        let callers = acquainted(self.who, door).await?;
        server.watch().await?;

        let before = server.stand().await?;
        let done = load::run(&callers, &requests, CallLoad::Each).await?;
        self.figures.add(&done, server.stand().await?.since(&before));
        self.slow = self.slow.with(server.slow().await?);
        Ok(())
    }
}
