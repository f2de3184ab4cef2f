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

use std::sync::Arc;

use super::asker::{Asker, Door, secret};
use super::contender::{CALLERS, Figures};
use super::load::{self, Load};
use super::server::{Server, Slow};
use super::workload::Request;
use super::{instructions::can_be_counted, runtime};
use crate::args::Options;
use crate::measure::on_processor;
use crate::{Fallible, progress};
use history::{History, NUMBERS, apart};
use pattern::Pattern;

/// A contender in the benchmark of abuse logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    Tidegate,
    Seed,
    /// A script that does nothing, called with the keys and arguments of the seed's.
    Nothing,
}

/// A contender measured on keys of one history, and its figures.
pub(crate) struct Contender {
    who: Who,
    history: History,
    figures: Figures,
    slow: Slow,
    /// Bytes that one key takes before it is asked about.
    memory: u64,
}

const SCRIPT: &str = include_str!("../baseline/attempts_seed002.lua");

/// Calls in a turn.
pub(crate) const CALLS: u64 = 16_384;

/// Starts a server, lets every contender take turns, counts instructions, and prints the report.
pub(crate) fn run(options: &Options) -> Fallible<()> {
    runtime()?.block_on(async {
        let mut server = Server::start().await?;
        let contenders = take_turns(&mut server, options.rounds).await?;
        let stalls = stall::show(&mut server).await?;
        let version = server.version().await?;
        let instructions = match can_be_counted() {
            true => instructions::count(&server).await?,
            false => Vec::new(),
        };
        let measured = report::Measured { contenders, stalls, instructions };
        println!("{}", report::whole(&measured, &version, options));
        Ok(())
    })
}

async fn take_turns(server: &mut Server, rounds: usize) -> Fallible<Vec<Contender>> {
    let mut contenders = Vec::new();
    for history in History::ALL {
        for who in Who::ALL {
            contenders.push(Contender::new(who, history)?);
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
async fn callers(who: Who, door: Door, count: usize) -> Fallible<Vec<Asker>> {
    let args = NUMBERS.script_args();
    let asker = match who {
        Who::Tidegate => Asker::tidegate(NUMBERS.policy()?, door).await?,
        Who::Seed => Asker::seed(SCRIPT, args, door).await?,
        Who::Nothing => Asker::script("return {1}", args, door).await?,
    };
    Ok(vec![asker; count])
}

/// The callers of a turn. One call is made beforehand, so that the server knows the script;
/// otherwise every caller would send it.
async fn acquainted(who: Who, door: Door) -> Fallible<Vec<Asker>> {
    let callers = callers(who, door, CALLERS).await?;
    let request: Arc<[Request]> = Arc::new([apart(who, &secret()?)?]);
    load::run(&callers[..1], &request, Load::Each).await?;
    Ok(callers)
}

// === impl Who ===

impl Who {
    const ALL: [Self; 3] = [Self::Tidegate, Self::Seed, Self::Nothing];

    const fn name(self) -> &'static str {
        match self {
            Self::Tidegate => "tidegate",
            Self::Seed => "seed 002",
            Self::Nothing => "a script that does nothing",
        }
    }
}

// === impl Contender ===

impl Contender {
    fn new(who: Who, history: History) -> Fallible<Self> {
        let (figures, slow) = (Figures::new()?, Slow::default());
        Ok(Self { who, history, figures, slow, memory: 0 })
    }

    /// Lays out fresh keys with their history, and asks about them.
    async fn turn(&mut self, server: &mut Server) -> Fallible<()> {
        let door = Door { port: server.port, db: 0 };
        server.clear().await?;
        let pattern = Pattern::make(self.who, self.history, server.port).await?;
        let requests = self.history.requests(self.who, CALLS, &secret()?)?;
        pattern.lay(&requests[..self.history.distinct(requests.len())], door).await?;
        self.memory = pattern::memory(&requests[0], door).await?;
        let callers = acquainted(self.who, door).await?;
        server.watch().await?;

        let (before, mine) = (server.stand().await?, on_processor());
        let done = load::run(&callers, &requests, Load::Each).await?;
        let (mine, after) = (on_processor().zip(mine), server.stand().await?.since(&before));
        self.figures.add(&done, after, mine.map(|(after, before)| after.saturating_sub(before)));
        self.slow = self.slow.with(server.slow().await?);
        Ok(())
    }
}
