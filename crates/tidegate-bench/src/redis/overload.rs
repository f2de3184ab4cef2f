//! A node under more requests than its store can answer: how many it still decides (contract A39).
//!
//! All callers begin at once. A caller that gets a decision asks again immediately; one that is
//! shed comes back after the second that it is told to wait. So ninety thousand callers make a
//! burst of that many requests, and then that many in every second. There is no peer to compare
//! with: the test is that goodput does not fall as the load grows, and that the store stays
//! trusted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use tidegate::latencies::Latencies;
use tidegate_core::{
    Case, Dimension, FailureMode, Mode, Name, PolicySet, PolicySpec, Protects, Span, Subject,
};
use tidegate_engine::{DecideError, Engine};
use tidegate_stores::redis::{RedisStore, Target};
use tokio::runtime::Builder;
use tokio::task::JoinSet;

use super::asker::secret;
use super::server::RedisProcess;
use crate::Fallible;
use crate::args::Rounds;
use crate::bars::Bound;
use crate::measure::{median, progress};
use crate::policy::{bucket, limit};
use crate::report::BenchReport;

/// Numbers of concurrent callers, from too few to overload the store to far too many.
const CALLERS: [usize; 8] = [1, 8, 64, 256, 1_024, 4_096, 9_000, 90_000];

const TURN: Duration = Duration::from_secs(2);

/// The bar for goodput under overload, as a share of its peak.
const BAR: Bound = Bound::AtLeast(0.8);

/// The result of one turn with some number of callers.
struct Turn {
    decided: u64,
    shed: u64,
    /// From request to decision.
    latencies: Latencies,
    took: Duration,
}

/// The results of all turns with the same number of callers.
struct Row {
    callers: usize,
    turns: Vec<Turn>,
}

/// Starts a Redis, floods it through an engine, and prints the report.
pub(crate) fn run(Rounds { rounds }: Rounds) -> Fallible<()> {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let server = RedisProcess::start().await?;
        let engine = engine(server.port)?;
        let mut rows: Vec<Row> =
            CALLERS.into_iter().map(|callers| Row { callers, turns: Vec::new() }).collect();
        for round in 0..=rounds {
            progress("overload", round, rounds);
            for row in &mut rows {
                let turn = turn(&engine, row.callers).await?;
                // Round 0 warms up and is not counted.
                if round > 0 {
                    row.turns.push(turn);
                }
            }
        }
        println!("{}", report(&engine, &rows, rounds)?);
        Ok(())
    })
}

fn engine(port: u16) -> Fallible<Arc<Engine<RedisStore>>> {
    let bucket = bucket(1_000_000, Span::SECOND, 1_000_000)?;
    let limit = limit("all", &[Dimension::Org], bucket)?;
    let api = PolicySpec::new(Name::try_new("api")?, FailureMode::FailOpen);
    let api = api.protecting(Protects::ApiHeavy).limit(limit);
    let policies = PolicySet::builder().policy(api).build(None)?;
    let store = RedisStore::new(Target::parse(&format!("redis://127.0.0.1:{port}"))?, &secret()?)?;
    Ok(Arc::new(Engine::new(store, policies).sharing(&secret()?)))
}

async fn turn(engine: &Arc<Engine<RedisStore>>, callers: usize) -> Fallible<Turn> {
    let stop = Arc::new(AtomicBool::new(false));
    let mut running = JoinSet::new();
    let began = Instant::now();
    for number in 0..callers {
        running.spawn(call(Arc::clone(engine), number, Arc::clone(&stop)));
    }
    tokio::time::sleep(TURN).await;
    stop.store(true, Relaxed);
    let latencies = Latencies::try_new()?;
    let mut turn = Turn { decided: 0, shed: 0, latencies, took: began.elapsed() };
    while let Some(called) = running.join_next().await {
        let (latencies, shed) = called?;
        turn.shed += shed;
        turn.decided += latencies.len() as u64;
        latencies.into_iter().for_each(|latency| turn.latencies.record(latency));
    }
    Ok(turn)
}

/// Asks until `stop` is set; returns how long each decision took, and the number of requests shed.
async fn call(
    engine: Arc<Engine<RedisStore>>,
    number: usize,
    stop: Arc<AtomicBool>,
) -> (Vec<Duration>, u64) {
    let (mut latencies, mut shed) = (Vec::new(), 0);
    let org = format!("org{}", number % 1_000);
    while !stop.load(Relaxed) {
        let began = Instant::now();
        let policies = Arc::clone(&engine.policies());
        let subject = Subject::new().org(&org);
        let mut case = Case::new(&policies.policies()[0], &subject);
        match engine.decide(&mut case).await {
            Ok(decision) if decision.mode() == Mode::Normal => {
                latencies.push(began.elapsed());
            }
            // Decided without the store, which is not goodput. Yield, because such a decision never
            // waits.
            Ok(_) => tokio::task::yield_now().await,
            Err(_) => {
                shed += 1;
                tokio::time::sleep(DecideError::RETRY_AFTER.into()).await;
            }
        }
    }
    (latencies, shed)
}

fn report(engine: &Engine<RedisStore>, rows: &[Row], rounds: u32) -> Fallible<BenchReport> {
    let mut report = BenchReport::new(&format!("overload --rounds {rounds}"));
    let peak = rows.iter().map(Row::goodput).fold(0.0, f64::max);
    let row = |row: &Row| {
        let (callers, goodput, shed) = (row.callers, row.goodput(), row.shed());
        let (share, half, most) = (goodput / peak, row.quantile(0.5), row.quantile(0.99));
        format!("{callers} | {goodput:.0} | {share:.2} | {shed:.0} | {half:.1} ms | {most:.1} ms")
    };
    let titles = "callers at once: | decided/s: | to the peak: | shed/s: | p50: | p99:";
    report.table(titles, rows.iter().map(row));
    let standing = engine.standing("api").ok_or("no such policy")?;
    let failures: u64 = engine.record("api").ok_or("no such policy")?.failures.iter().sum();
    let mode = standing.mode.name();
    report.say(&format!(
        "In the end the policy is in the mode `{mode}`; the store has failed {failures} requests."
    ));
    // The rows from the peak on: those with more callers than it takes to reach the peak.
    let over = rows.iter().skip_while(|row| row.goodput() < peak);
    let least = over.map(|row| row.goodput() / peak).fold(1.0, f64::min);
    // A policy that has left the normal mode misses the bar, whatever was decided before.
    let measured = if standing.mode == Mode::Normal { least } else { 0.0 };
    let bar =
        BAR.verdict("callers past the peak", "goodput in mode normal, to the peak", Some(measured));
    report.bars("", [bar]);
    Ok(report)
}

// === impl Row ===

impl Row {
    /// Decisions of the store per second, over all turns.
    fn goodput(&self) -> f64 {
        self.per_second(|turn| turn.decided)
    }

    fn shed(&self) -> f64 {
        self.per_second(|turn| turn.shed)
    }

    fn per_second(&self, count: impl Fn(&Turn) -> u64) -> f64 {
        let took: Duration = self.turns.iter().map(|turn| turn.took).sum();
        self.turns.iter().map(count).sum::<u64>() as f64 / took.as_secs_f64()
    }

    /// Milliseconds that this share of the decisions took at most, in the median turn.
    fn quantile(&self, share: f64) -> f64 {
        let of =
            |turn: &Turn| turn.latencies.within(share).map_or(0.0, |it| it.as_secs_f64() * 1e3);
        median(&self.turns.iter().map(of).collect::<Vec<_>>())
    }
}
