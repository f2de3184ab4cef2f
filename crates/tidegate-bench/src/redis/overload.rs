//! A node under more requests than its store can answer: how many it still decides (contract A39).
//!
//! All callers begin at once. A caller that gets a decision asks again immediately; one that is
//! shed comes back after the second that it is told to wait. So ninety thousand callers make a
//! burst of that many requests, and then that many in every second. There is no peer to compare
//! with: the test is that goodput does not fall as the load grows, and that the store stays
//! trusted.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use tidegate_core::{
    Bucket, Case, Dimension, FailureMode, Limit, Mode, Name, PolicySet, PolicySpec, Protects, Rate,
    Scope, Shape, Subject,
};
use tidegate_engine::{DecideError, Engine};
use tidegate_stores::redis::{RedisStore, Target};
use tokio::runtime::Builder;
use tokio::task::JoinSet;

use super::asker::secret;
use super::server::Server;
use crate::args::Options;
use crate::{Fallible, machine, progress};

/// Numbers of concurrent callers, from too few to overload the store to far too many.
const CALLERS: [usize; 8] = [1, 8, 64, 256, 1_024, 4_096, 9_000, 90_000];

const TURN: Duration = Duration::from_secs(2);

/// The bar for goodput under overload, as a share of its peak.
const BAR: f64 = 0.8;

/// The longest latency that the histogram can hold, in microseconds: a minute.
const LONGEST: u64 = 60_000_000;

/// The result of one turn with some number of callers.
struct Turn {
    decided: u64,
    shed: u64,
    /// Microseconds from request to decision.
    latencies: Histogram<u64>,
    took: Duration,
}

/// The results of all turns with the same number of callers.
struct Row {
    callers: usize,
    turns: Vec<Turn>,
}

/// Starts a Redis, floods it through an engine, and prints the report.
pub(crate) fn run(options: &Options) -> Fallible<()> {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let server = Server::start().await?;
        let engine = engine(server.port)?;
        let mut rows: Vec<Row> =
            CALLERS.into_iter().map(|callers| Row { callers, turns: Vec::new() }).collect();
        for round in 0..=options.rounds {
            progress("overload", round, options.rounds);
            for row in &mut rows {
                let turn = turn(&engine, row.callers).await?;
                // Round 0 warms up and is not counted.
                if round > 0 {
                    row.turns.push(turn);
                }
            }
        }
        println!("{}", report(&engine, &rows, options)?);
        Ok(())
    })
}

fn engine(port: u16) -> Fallible<Arc<Engine<RedisStore>>> {
    let bucket = Bucket::try_new(Rate::per_second(1_000_000)?, 1_000_000)?;
    let scope = Scope::of([Dimension::Org]);
    let limit = Limit::new(Name::try_new("all")?, scope, Shape::Bucket(bucket));
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
    let latencies = Histogram::new_with_bounds(1, LONGEST, 3)?;
    let mut turn = Turn { decided: 0, shed: 0, latencies, took: began.elapsed() };
    while let Some(called) = running.join_next().await {
        let (latencies, shed) = called?;
        turn.shed += shed;
        turn.decided += latencies.len() as u64;
        latencies.into_iter().for_each(|micros| turn.latencies.saturating_record(micros));
    }
    Ok(turn)
}

/// Asks until `stop` is set; returns the microseconds that each decision took, and the number of
/// requests shed.
async fn call(
    engine: Arc<Engine<RedisStore>>,
    number: usize,
    stop: Arc<AtomicBool>,
) -> (Vec<u64>, u64) {
    let (mut latencies, mut shed) = (Vec::new(), 0);
    let org = format!("org{}", number % 1_000);
    while !stop.load(Relaxed) {
        let began = Instant::now();
        let policies = Arc::clone(&engine.policies());
        let subject = Subject::new().org(&org);
        let mut case = Case::new(&policies.policies()[0], &subject);
        match engine.decide(&mut case).await {
            Ok(decision) if decision.mode() == Mode::Normal => {
                latencies.push(u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX));
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

fn report(engine: &Engine<RedisStore>, rows: &[Row], options: &Options) -> Fallible<String> {
    let mut text = String::new();
    for (fact, value) in machine::facts() {
        writeln!(text, "- {fact}: {value}")?;
    }
    writeln!(text, "- command: `cargo xtask bench overload --rounds {}`", options.rounds)?;
    let peak = rows.iter().map(Row::goodput).fold(0.0, f64::max);
    writeln!(text, "\n| callers at once | decided/s | to the peak | shed/s | p50 | p99 |")?;
    writeln!(text, "|---:|---:|---:|---:|---:|---:|")?;
    for row in rows {
        let (callers, goodput, shed) = (row.callers, row.goodput(), row.shed());
        let (half, most) = (row.quantile(0.5), row.quantile(0.99));
        writeln!(
            text,
            "| {callers} | {goodput:.0} | {:.2} | {shed:.0} | {half:.1} ms | {most:.1} ms |",
            goodput / peak,
        )?;
    }
    let standing = engine.standing("api").ok_or("no such policy")?;
    let failures: u64 = engine.record("api").ok_or("no such policy")?.failures.iter().sum();
    let mode = standing.mode.name();
    writeln!(
        text,
        "\nIn the end the policy is in the mode `{mode}`; the store has failed {failures} requests."
    )?;
    // The rows from the peak on: those with more callers than it takes to reach the peak.
    let over = rows.iter().skip_while(|row| row.goodput() < peak);
    let least = over.map(|row| row.goodput() / peak).fold(1.0, f64::min);
    let met = if least >= BAR && standing.mode == Mode::Normal { "met" } else { "**MISSED**" };
    writeln!(
        text,
        "Bar: goodput past the peak ≥ {BAR} of it, and normal; measured {least:.2}: {met}"
    )?;
    Ok(text)
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
        let of = |turn: &Turn| turn.latencies.value_at_quantile(share) as f64 / 1e3;
        crate::measure::median(&self.turns.iter().map(of).collect::<Vec<_>>())
    }
}
