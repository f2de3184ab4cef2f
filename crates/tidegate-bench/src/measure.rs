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
use crate::contenders::{BenchTally, Contender};
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
    /// How the requests of all rounds were decided.
    pub(crate) tally: BenchTally,
}

/// The result of one contender's turn on one thread.
struct Turn {
    tally: BenchTally,
    wall: Duration,
    /// Time on a processor, or `None` where the system does not report it.
    processor: Option<Duration>,
}

/// A contender's position in the stream of requests.
#[derive(Clone, Copy)]
pub(crate) struct StreamCursor(usize);

/// A contender's position in the stream, for each of two threads. Each has its own half of the
/// stream, so the two do not ask for the same key in step.
type Cursors = [StreamCursor; 2];

/// Takes one turn of a contender, and returns its figures in one or more units.
type Turns<const UNITS: usize> =
    fn(&mut dyn Contender, &Stream, &mut Cursors) -> Fallible<(BenchTally, [f64; UNITS])>;

/// Lets the contenders take turns, over several rounds, and returns their rows in each unit of `turns`.
///
/// Before the first round every contender meets every key once, so that growing a table is not
/// measured.
pub(crate) fn alternate<const UNITS: usize>(
    label: &str,
    mut contenders: Vec<Box<dyn Contender>>,
    (all, stream): (&Stream, &Stream),
    rounds: u32,
    turns: Turns<UNITS>,
) -> Fallible<[Vec<Row>; UNITS]> {
    progress(label, 0, rounds);
    let mut rows = [const { Vec::new() }; UNITS];
    for contender in &mut contenders {
        contender.run(all, 0, all.len()).checked(contender.name())?;
        let row = Row { name: contender.name(), figures: Vec::new(), tally: BenchTally::default() };
        rows.iter_mut().for_each(|rows| rows.push(row.clone()));
    }
    let mut cursors = vec![[StreamCursor(0), StreamCursor(stream.len() / 2)]; contenders.len()];
    for round in 1..=rounds {
        progress(label, round, rounds);
        for (place, contender) in contenders.iter_mut().enumerate() {
            let (tally, figures) = turns(contender.as_mut(), stream, &mut cursors[place])?;
            for (rows, figure) in rows.iter_mut().zip(figures) {
                rows[place].figures.push(figure);
                rows[place].tally += tally;
            }
        }
    }
    Ok(rows)
}

/// A turn on this thread: nanoseconds of processor time per decision.
pub(crate) fn alone(
    contender: &mut dyn Contender,
    stream: &Stream,
    [cursor, _]: &mut Cursors,
) -> Fallible<(BenchTally, [f64; 1])> {
    let turn = turn(contender, stream, cursor)?;
    Ok((turn.tally, [turn.nanos()]))
}

fn turn(
    contender: &mut dyn Contender,
    stream: &Stream,
    cursor: &mut StreamCursor,
) -> Fallible<Turn> {
    let mut tally = BenchTally::default();
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

/// A turn on two threads: million decisions per second, first by wall clock, then per second in
/// which both threads had a processor.
pub(crate) fn together(
    contender: &mut dyn Contender,
    stream: &Stream,
    cursors: &mut Cursors,
) -> Fallible<(BenchTally, [f64; 2])> {
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
    let (mut tally, mut wall, mut processor) = (BenchTally::default(), 0.0, 0.0);
    for turn in turns {
        let turn = turn?;
        tally += turn.tally;
        wall += turn.millions_per_second();
        processor += 1e3 / turn.nanos();
    }
    Ok((tally, [wall, processor]))
}

/// Processor time of this thread so far. The kernel updates it at every tick, so it may lag by a
/// few milliseconds.
pub(crate) fn on_processor() -> Option<Duration> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(Duration::from_nanos(text.split_whitespace().next()?.parse().ok()?))
}

pub(crate) fn progress(label: &str, round: u32, rounds: u32) {
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

/// The ratio of the medians of two contenders' figures.
pub(crate) fn ratio(figures: &[f64], base: &[f64]) -> f64 {
    median(figures) / median(base)
}

/// The smallest and the largest ratio of two contenders' figures within one round.
pub(crate) fn spread(figures: &[f64], base: &[f64]) -> (f64, f64) {
    let ratios = figures.iter().zip(base).map(|(mine, theirs)| mine / theirs);
    ratios.fold((f64::INFINITY, 0.0), |(low, high), ratio| (ratio.min(low), ratio.max(high)))
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

// === impl StreamCursor ===

impl StreamCursor {
    /// Moves on by one chunk and returns its start; begins anew at the end of the stream.
    const fn advance(&mut self, stream: &Stream) -> usize {
        let start = if self.0 + CHUNK > stream.len() { 0 } else { self.0 };
        self.0 = start + CHUNK;
        start
    }
}

#[cfg(test)]
mod tests;
