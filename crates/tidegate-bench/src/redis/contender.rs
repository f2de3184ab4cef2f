//! The contenders on a shared store, and the figures of their turns.

use std::sync::Arc;
use std::time::Duration;

use tidegate::latencies::Latencies;

use super::asker::{Asker, DatabaseAddress};
use super::load::{self, CallLoad, CallsDone};
use super::other_client;
use super::server::{Commands, RedisProcess, ServerWork};
use super::workload::{BenchSubject, Workload};
use crate::Fallible;

/// A contender in the benchmark of the shared store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoreClient {
    Tidegate,
    /// Tidegate with two connections, which means two stores, each asked by half of the callers.
    TwoConnections,
    Script,
    /// `INCR` over fifty connections with one caller each.
    IncrUnpipelined,
    /// `INCR` over fifty connections by redis-benchmark, a client in C.
    IncrOtherClient,
    /// `INCR` over one connection for all callers.
    IncrMultiplexed,
}

/// A contender with its connections, its requests and its figures.
pub(crate) struct StoreContender {
    pub(crate) who: StoreClient,
    pub(crate) workload: Workload,
    door: DatabaseAddress,
    callers: Vec<Asker>,
    requests: Arc<[BenchSubject]>,
    pub(crate) figures: StoreFigures,
}

/// The figures of a contender's turns.
pub(crate) struct StoreFigures {
    pub(crate) per_second: Vec<f64>,
    /// Microseconds of the server's processor per request.
    pub(crate) server: Vec<f64>,
    /// Microseconds of this process's processor time per request; empty if another process is the
    /// client.
    pub(crate) client: Vec<f64>,
    /// From request to answer, over all turns.
    pub(crate) latencies: Latencies,
    pub(crate) asked: u64,
    /// Commands that the server ran, over all turns.
    pub(crate) commands: Commands,
}

/// Number of callers on a shared connection.
pub(crate) const CALLERS: usize = 64;
/// Number of callers with a connection each.
const UNPIPELINED: usize = 50;

const TURN: Duration = Duration::from_millis(500);

// === impl StoreClient ===

impl StoreClient {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Tidegate => "tidegate",
            Self::TwoConnections => "tidegate, two connections",
            Self::Script => "script",
            Self::IncrUnpipelined => "INCR, 50 connections",
            Self::IncrOtherClient => "INCR, 50 connections, redis-benchmark",
            Self::IncrMultiplexed => "INCR, multiplexed",
        }
    }

    /// The contenders for this workload: those that do its work, and those they are compared with.
    pub(crate) const fn of(workload: Workload) -> &'static [Self] {
        match workload {
            Workload::Bucket => &[
                Self::Tidegate,
                Self::Script,
                Self::TwoConnections,
                Self::IncrUnpipelined,
                Self::IncrOtherClient,
                Self::IncrMultiplexed,
            ],
            // `INCR` increments one key whatever the workload, so it is measured only with
            // `Bucket`.
            Workload::ThreeAndQuota => &[Self::Tidegate, Self::Script, Self::TwoConnections],
        }
    }

    pub(crate) async fn callers(
        self,
        workload: Workload,
        door: DatabaseAddress,
    ) -> Fallible<Vec<Asker>> {
        let shared = |asker| vec![asker; CALLERS];
        Ok(match self {
            Self::Tidegate => shared(Asker::tidegate(workload.policies()?, door).await?),
            Self::TwoConnections => {
                let half = Asker::tidegate(workload.policies()?, door).await?;
                let other = Asker::tidegate(workload.policies()?, door).await?;
                [vec![half; CALLERS / 2], vec![other; CALLERS / 2]].concat()
            }
            Self::Script => {
                let (text, args) = (workload.script(), workload.script_args());
                shared(Asker::script(text, args, door).await?)
            }
            Self::IncrMultiplexed => shared(Asker::incr(door).await?),
            Self::IncrOtherClient => Vec::new(),
            Self::IncrUnpipelined => {
                let mut callers = Vec::new();
                for _ in 0..UNPIPELINED {
                    callers.push(Asker::incr(door).await?);
                }
                callers
            }
        })
    }
}

// === impl StoreContender ===

impl StoreContender {
    pub(crate) async fn new(
        who: StoreClient,
        workload: Workload,
        door: DatabaseAddress,
    ) -> Fallible<Self> {
        let callers = who.callers(workload, door).await?;
        let requests = workload.requests()?;
        let figures = StoreFigures::new()?;
        Ok(Self { who, workload, door, callers, requests, figures })
    }

    /// Asks about every key once and takes a turn, neither of which is measured.
    pub(crate) async fn warm_up(&self) -> Fallible<()> {
        load::run(&self.callers, &self.requests, CallLoad::Each).await?;
        self.one_turn().await?;
        Ok(())
    }

    async fn one_turn(&self) -> Fallible<CallsDone> {
        match self.who {
            StoreClient::IncrOtherClient => other_client::run(self.door, self.requests.len()),
            _ => load::run(&self.callers, &self.requests, CallLoad::For(TURN)).await,
        }
    }

    pub(crate) async fn turn(&mut self, server: &mut RedisProcess) -> Fallible<()> {
        let before = server.stand().await?;
        let done = self.one_turn().await?;
        self.figures.add(&done, server.stand().await?.since(&before));
        Ok(())
    }
}

// === impl StoreFigures ===

impl StoreFigures {
    pub(crate) fn new() -> Fallible<Self> {
        Ok(Self {
            per_second: Vec::new(),
            server: Vec::new(),
            client: Vec::new(),
            latencies: Latencies::try_new()?,
            asked: 0,
            commands: Commands::new(),
        })
    }

    /// Adds a turn: its requests, and the work for them.
    pub(crate) fn add(&mut self, done: &CallsDone, work: ServerWork) {
        let asked = done.asked as f64;
        let micros = |time: Duration| time.as_secs_f64() * 1e6 / asked;
        self.per_second.push(asked / done.wall.as_secs_f64());
        self.server.push(micros(work.processor));
        // Without latencies, another process was the client.
        self.client.extend(work.client.filter(|_| !done.latencies.is_empty()).map(micros));
        done.latencies.iter().for_each(|latency| self.latencies.record(*latency));
        self.asked += done.asked;
        for (name, (calls, micros)) in work.commands {
            let sum = self.commands.entry(name).or_default();
            *sum = (sum.0 + calls, sum.1 + micros);
        }
    }

    /// Microseconds within which this share of the requests was answered.
    pub(crate) fn within(&self, share: f64) -> Option<f64> {
        Some(self.latencies.within(share)?.as_secs_f64() * 1e6)
    }

    /// Script calls that the clients sent, per request: by hash, or by text if the server did not
    /// know the hash.
    pub(crate) fn round_trips(&self) -> f64 {
        let sent = ["evalsha", "eval", "script|load"]
            .iter()
            .filter_map(|name| self.commands.get(*name).map(|(calls, _)| *calls));
        sent.sum::<u64>() as f64 / self.asked as f64
    }

    /// Microseconds per request that the server says it spent in this command.
    pub(crate) fn inside(&self, command: &str) -> Option<f64> {
        let (_, micros) = self.commands.get(command)?;
        Some(*micros as f64 / self.asked as f64)
    }
}
