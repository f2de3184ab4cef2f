//! Measures contenders in turns, over several rounds, and compares their medians.
//!
//! One thread is timed by the processor time it got, because a decision takes no longer when
//! somebody else is given the processor in between. Two threads are timed by wall clock, because
//! waiting for each other is part of what is measured there; and by processor time too, which
//! leaves out the time that other processes took from them, but also the time they slept waiting
//! for a lock.

use std::fs;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use crate::Fallible;
use crate::contenders::{Contender, Tally};
use crate::workload::Stream;

/// Length of a contender's turn, before the next contender is measured.
const TURN: Duration = Duration::from_millis(150);
/// Requests between two checks of the elapsed time.
const CHUNK: usize = 4096;

/// The figures of one contender, one for each round.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    /// Nanoseconds of processor time per decision, or million decisions per second.
    pub(crate) figures: Vec<f64>,
    /// The share of requests that were admitted, over all rounds.
    pub(crate) admitted: f64,
}

/// The result of one contender's turn on one thread.
struct Turn {
    tally: Tally,
    wall: Duration,
    /// Time on a processor, or `None` where the system does not report it.
    processor: Option<Duration>,
}

/// A contender's position in the stream of requests.
#[derive(Clone, Copy)]
struct Cursor(usize);

/// Measures nanoseconds of processor time per decision of each contender; they take turns.
///
/// Before the first round every contender meets every key once, so that growing a table is not
/// measured.
pub(crate) fn alternate(
    label: &str,
    mut contenders: Vec<Box<dyn Contender>>,
    (all, stream): (&Stream, &Stream),
    rounds: usize,
) -> Fallible<Vec<Row>> {
    let mut rows = introduce(label, &mut contenders, all, rounds)?;
    let mut cursors = vec![Cursor(0); contenders.len()];
    for round in 1..=rounds {
        progress(label, round, rounds);
        for ((contender, row), cursor) in contenders.iter_mut().zip(&mut rows).zip(&mut cursors) {
            let turn = turn(contender.as_mut(), stream, cursor)?;
            row.figures.push(turn.nanos());
            row.admitted += turn.tally.share() / rounds as f64;
        }
    }
    Ok(rows)
}

/// Measures each contender on two threads, in turns: million decisions per second, first by wall
/// clock, then per second in which both threads had a processor.
pub(crate) fn alternate_threads(
    label: &str,
    mut contenders: Vec<Box<dyn Contender>>,
    (all, stream): (&Stream, &Stream),
    rounds: usize,
) -> Fallible<[Vec<Row>; 2]> {
    let mut rows = introduce(label, &mut contenders, all, rounds)?;
    let mut by_processor = rows.clone();
    // Each thread has its own half of the stream, so the two do not ask for the same key in step.
    let mut cursors = vec![[Cursor(0), Cursor(stream.len() / 2)]; contenders.len()];
    for round in 1..=rounds {
        progress(label, round, rounds);
        let rows = rows.iter_mut().zip(&mut by_processor);
        for ((contender, (wall, processor)), cursors) in
            contenders.iter().zip(rows).zip(&mut cursors)
        {
            let turns = together(contender.as_ref(), stream, cursors)?;
            wall.figures.push(turns.iter().map(Turn::millions_per_second).sum());
            processor.figures.push(turns.iter().map(|turn| 1e3 / turn.nanos()).sum());
            let shares: f64 = turns.iter().map(|turn| turn.tally.share()).sum();
            for row in [wall, processor] {
                row.admitted += shares / (turns.len() * rounds) as f64;
            }
        }
    }
    Ok([rows, by_processor])
}

fn introduce(
    label: &str,
    contenders: &mut [Box<dyn Contender>],
    all: &Stream,
    rounds: usize,
) -> Fallible<Vec<Row>> {
    progress(label, 0, rounds);
    let mut rows = Vec::new();
    for contender in contenders {
        contender.run(all, 0, all.len()).checked(contender.name())?;
        rows.push(Row { name: contender.name(), figures: Vec::new(), admitted: 0.0 });
    }
    Ok(rows)
}

fn turn(contender: &mut dyn Contender, stream: &Stream, cursor: &mut Cursor) -> Fallible<Turn> {
    let mut tally = Tally::default();
    let (start, before) = (Instant::now(), on_processor());
    let wall = loop {
        tally += contender.run(stream, cursor.advance(stream), CHUNK);
        let wall = start.elapsed();
        if wall >= TURN {
            break wall;
        }
    };
    let processor = on_processor().zip(before).map(|(after, before)| after.saturating_sub(before));
    Ok(Turn { tally: tally.checked(contender.name())?, wall, processor })
}

/// Runs one turn on as many threads as there are cursors.
fn together(
    contender: &dyn Contender,
    stream: &Stream,
    cursors: &mut [Cursor],
) -> Fallible<Vec<Turn>> {
    let handles: Option<Vec<_>> = cursors.iter().map(|_| contender.shared()).collect();
    let handles = handles.ok_or("this contender cannot be shared between threads")?;
    let barrier = Barrier::new(cursors.len());
    let turns: Vec<Result<Turn, String>> = std::thread::scope(|scope| {
        let pairs = handles.into_iter().zip(cursors);
        let threads = pairs.map(|(mut handle, cursor)| {
            let barrier = &barrier;
            scope.spawn(move || {
                barrier.wait();
                turn(handle.as_mut(), stream, cursor).map_err(|error| error.to_string())
            })
        });
        // Collected first, so that all threads are started before the first is joined.
        let threads: Vec<_> = threads.collect();
        let joined = threads.into_iter().map(std::thread::ScopedJoinHandle::join);
        joined.map(|turn| turn.unwrap_or_else(|_| Err("a thread panicked".into()))).collect()
    });
    Ok(turns.into_iter().collect::<Result<_, _>>()?)
}

/// Processor time of this thread so far. The kernel updates it at every tick, so it may lag by a
/// few milliseconds.
pub(crate) fn on_processor() -> Option<Duration> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(Duration::from_nanos(text.split_whitespace().next()?.parse().ok()?))
}

pub(crate) fn progress(label: &str, round: usize, rounds: usize) {
    match round {
        0 => eprint!("{label}: preparing"),
        _ => eprint!("\r\x1b[K{label}: round {round} of {rounds}"),
    }
    if round == rounds {
        eprintln!();
    }
}

/// The median of `figures`.
pub(crate) fn median(figures: &[f64]) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.as_slice() {
        [] => f64::NAN,
        all if all.len() % 2 == 1 => all[all.len() / 2],
        all => f64::midpoint(all[all.len() / 2 - 1], all[all.len() / 2]),
    }
}

// === impl Row ===

impl Row {
    /// The ratio of the medians of this row and `other`.
    pub(crate) fn ratio_to(&self, other: &Self) -> f64 {
        median(&self.figures) / median(&other.figures)
    }

    /// The smallest and the largest ratio to `other` within one round.
    pub(crate) fn spread_to(&self, other: &Self) -> (f64, f64) {
        let ratios = self.figures.iter().zip(&other.figures).map(|(mine, theirs)| mine / theirs);
        ratios.fold((f64::INFINITY, 0.0), |(low, high), ratio| (ratio.min(low), ratio.max(high)))
    }
}

// === impl Turn ===

impl Turn {
    /// Nanoseconds of processor time per decision.
    fn nanos(&self) -> f64 {
        let took = self.processor.unwrap_or(self.wall);
        took.as_nanos() as f64 / self.tally.asked as f64
    }

    /// Million decisions per second by wall clock.
    fn millions_per_second(&self) -> f64 {
        self.tally.asked as f64 / self.wall.as_secs_f64() / 1e6
    }
}

// === impl Cursor ===

impl Cursor {
    /// Moves on by one chunk and returns its start; begins anew at the end of the stream.
    const fn advance(&mut self, stream: &Stream) -> usize {
        let start = if self.0 + CHUNK > stream.len() { 0 } else { self.0 };
        self.0 = start + CHUNK;
        start
    }
}

#[cfg(test)]
mod tests;
