//! Limits that are rows: decisions while rows change, and what a million of them cost.
//!
//! Two threads decide by bundles of two rows, a route's and its upstream's, looked up anew for each
//! request among a hundred thousand. In every other turn one row a second is replaced. Some rows are used
//! up before, are changed as well, and must stay used up.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use tidegate_core::{
    Bucket, Case, Dimension, FailureMode, Limit, Name, PolicySet, PolicySpec, Protects, Rate,
    RowId, Scope, Shape, Span, Subject,
};
use tidegate_engine::memory::{Budget, MemoryStore};
use tidegate_engine::{Engine, Rows, SystemClock};

use crate::Fallible;
use crate::args::Rounds;
use crate::bars::Bound;
use crate::footprint::resident;
use crate::report::BenchReport;

/// Rows in use while decisions are measured.
const IN_USE: u32 = 100_000;
/// Rows whose building and memory are measured.
const MANY: u32 = 1_000_000;
/// Rows that are used up before, and must stay so.
const SPENT: u32 = 100;
/// The length of one turn: two changes of a row.
const TURN: Duration = Duration::from_secs(2);
/// Every so many routes share an upstream.
const ROUTES: u32 = 10;
/// The most that the 99th percentile may be of the one without changes.
const BAR: Bound = Bound::AtMost(1.25);

type Host = Engine<MemoryStore<SystemClock>>;

/// Measures decisions beside changes, and the cost of a million rows.
pub(crate) fn run(options: Rounds) -> Fallible<()> {
    let mut report = BenchReport::new("rows");
    let (seconds, bytes) = million()?;
    let facts =
        [format!("built from records, s | {seconds:.2}"), format!("bytes of each | {bytes:.0}")];
    report.table(&format!("{MANY} rows | "), facts);
    decisions(options, &mut report)?;
    println!("{report}");
    Ok(())
}

/// Seconds to build a million rows from records, and the resident bytes of each.
fn million() -> Fallible<(f64, f64)> {
    let before = resident()?;
    let start = Instant::now();
    let rows = Rows::of((0..MANY).map(|number| row(number, 600)).collect::<Fallible<Vec<_>>>()?);
    let took = start.elapsed();
    let grown = resident()?.saturating_sub(before);
    if rows.len() != MANY as usize {
        return Err(format!("{} rows instead of {MANY}", rows.len()).into());
    }
    Ok((took.as_secs_f64(), grown as f64 / f64::from(MANY)))
}

fn decisions(options: Rounds, report: &mut BenchReport) -> Fallible<()> {
    let rows = (0..IN_USE).map(|number| row(number, 1_000_000)).collect::<Fallible<Vec<_>>>()?;
    let (rows, engine) = (Rows::of(rows), host()?);
    for number in IN_USE..IN_USE + SPENT {
        rows.put(row(number, 5)?, engine.now())?;
        while admits(&engine, &rows, &[id(number)])? {}
    }
    // Every row is met once, so that no table grows while it is measured.
    (0..IN_USE).try_for_each(|number| admits(&engine, &rows, &[id(number)]).map(drop))?;
    let mut figures = [Vec::new(), Vec::new()];
    for round in 1..=options.rounds {
        eprintln!("rows: round {round} of {}", options.rounds);
        for (changing, figures) in [false, true].into_iter().zip(&mut figures) {
            figures.push(turn(&engine, &rows, changing)?);
        }
    }
    let [still, changing] = figures.map(|mut figures| {
        figures.sort_by(|one, other| one.0.total_cmp(&other.0));
        figures.swap_remove(figures.len() / 2)
    });
    let ratio = changing.0 / still.0;
    let shown = |name: &str, (p99, rate): (f64, f64)| format!("{name} | {p99:.0} | {rate:.0}");
    let table = [shown("no changes", still), shown("one change a second", changing)];
    report.table(&format!("{IN_USE} rows in use | p99, ns | decisions/s"), table);
    let verdict = BAR.verdict("rows", "p99 with changes, to that without", Some(ratio));
    report.bars("rows", [verdict]);
    for number in IN_USE..IN_USE + SPENT {
        rows.put(row(number, 7)?, engine.now())?;
        if admits(&engine, &rows, &[id(number)])? {
            return Err(format!("row {number} was refilled by a change").into());
        }
    }
    report.say(&format!("{SPENT} rows that were used up and changed: none was refilled."));
    Ok(())
}

/// The 99th percentile of one decision in nanoseconds, and decisions per second, over two threads.
fn turn(engine: &Host, rows: &Rows, changing: bool) -> Fallible<(f64, f64)> {
    let (over, start) = (AtomicBool::new(false), Barrier::new(3));
    thread::scope(|scope| {
        let ask = |seed: u32| {
            let (over, start) = (&over, &start);
            scope.spawn(move || {
                start.wait();
                deciding(engine, rows, seed, over).map_err(|error| error.to_string())
            })
        };
        let askers = [ask(1), ask(2)];
        start.wait();
        let began = Instant::now();
        let mut number = 0_u32;
        while began.elapsed() < TURN {
            thread::sleep(Duration::from_millis(500));
            // Half a second into each second, one row gets other numbers.
            if changing && number % 2 == 0 {
                let which = number.wrapping_mul(7_919) % IN_USE;
                rows.put(row(which, 1_000_000 + u64::from(number))?, engine.now())?;
                let spent = IN_USE + number % SPENT;
                rows.put(row(spent, 5 + u64::from(number % 3))?, engine.now())?;
            }
            number += 1;
        }
        over.store(true, Ordering::Relaxed);
        let mut all = Vec::new();
        for asker in askers {
            all.extend(asker.join().map_err(|_| "a thread panicked")??);
        }
        all.sort_unstable();
        let p99 = all.get(all.len() * 99 / 100).copied().ok_or("nothing was decided")?;
        Ok((f64::from(p99), all.len() as f64 / began.elapsed().as_secs_f64()))
    })
}

/// The nanoseconds of each decision until it is over.
fn deciding(engine: &Host, rows: &Rows, seed: u32, over: &AtomicBool) -> Fallible<Vec<u32>> {
    let (mut times, mut random) = (Vec::with_capacity(4_000_000), seed);
    while !over.load(Ordering::Relaxed) {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let route = (random >> 8) % IN_USE;
        let ids = [id(route), id(route / ROUTES * ROUTES)];
        let ids = if ids[0] == ids[1] { &ids[..1] } else { &ids };
        let start = Instant::now();
        let admitted = admits(engine, rows, ids)?;
        times.push(u32::try_from(start.elapsed().as_nanos()).unwrap_or(u32::MAX));
        if !admitted {
            return Err("a roomy row did not admit".into());
        }
    }
    Ok(times)
}

fn admits(engine: &Host, rows: &Rows, ids: &[RowId]) -> Fallible<bool> {
    let bundle = rows.bundle(ids)?;
    let (policies, subject) = (engine.policies(), Subject::new().org("acme"));
    let policy = policies.get("calls").ok_or("the stance is there")?;
    let mut case = Case::over(policy, &bundle, &subject);
    Ok(engine.decide_now(&mut case)?.is_admitted())
}

fn host() -> Fallible<Host> {
    let stance = PolicySpec::stance(Name::try_new("calls")?, FailureMode::Degraded);
    let stance = stance.protecting(Protects::Outbound);
    let policies = PolicySet::builder().policy(stance).build(None)?;
    Ok(Engine::new(MemoryStore::new(Budget::default(), SystemClock::new()), policies))
}

/// A row with so many a day, all at once.
fn row(number: u32, burst: u64) -> Fallible<Limit> {
    let shape = Shape::Bucket(Bucket::try_new(Rate::try_new(burst, Span::DAY)?, burst)?);
    let limit = Limit::new(Name::try_new("row")?, Scope::of([Dimension::Org]), shape);
    Ok(limit.settling().as_row(id(number), &Arc::from("top"))?)
}

fn id(number: u32) -> RowId {
    // Spread as the ids of a database are.
    RowId::from_u128(u128::from(number) << 64 | u128::from(number.wrapping_mul(0x9E37_79B9)))
}
