//! The scenarios: what is measured, and which contenders take part.

use std::sync::{Arc, Mutex};

use clap::ValueEnum;

use crate::Fallible;
use crate::args::{Options, name};
use crate::bars;
use crate::contenders::{BenchNumbers, Contender, Floor, Governor, Shapes, Throttlecrab, Tidegate};
use crate::footprint::{self, Footprint};
use crate::measure::{Row, alone, alternate, median, together};
use crate::report::{BenchReport, compared};
use crate::workload::{Stream, uniform, zipf};

/// A scenario to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scenario {
    /// One key, everything admitted.
    Hot,
    /// One key, 10/s with a burst of 20, so nearly everything denied.
    HotDenied,
    /// Many keys evenly, all in use, everything admitted.
    Uniform,
    /// Many keys evenly, 10/s: most are as good as new when met again.
    UniformIdle,
    /// Many keys, the k-th most popular with frequency 1/k, all admitted.
    Zipf,
    /// The same with 10/s and a burst of 20: popular keys are denied.
    ZipfMixed,
    /// Many keys evenly on two threads, everything admitted.
    Threads,
    /// Five limits in one decision, one key each.
    FiveHot,
    /// Five limits in one decision, four of them on many keys.
    FiveUniform,
    /// One key under each shape of limit; Tidegate only.
    Shapes,
    /// Resident memory per key, each contender in a process of its own.
    Bytes,
}

/// A scenario and the figures it produced.
#[derive(Clone, Debug)]
pub(crate) struct ScenarioOutcome {
    pub(crate) scenario: Scenario,
    pub(crate) found: ScenarioFigures,
}

/// The figures of a scenario.
#[derive(Clone, Debug)]
pub(crate) enum ScenarioFigures {
    /// The figures of all contenders, in one or more units.
    Timed(Vec<(&'static str, Vec<Row>)>),
    /// Resident memory per key.
    Bytes(Vec<Footprint>),
}

/// Nanoseconds of processor time per decision.
const NANOS: &str = "ns per decision";
/// Million decisions per second by wall clock.
const WALL: &str = "M/s";
/// Million decisions per second in which both threads had a processor.
const PROCESSOR: &str = "M per s of both processors";

/// Number of requests in a stream before it begins anew.
const REQUESTS: usize = 1 << 22;
/// Keys that the limiters have room for in scenarios that use only one.
const FEW: u32 = 1_000;
/// Keys in the scenarios that use many, unless the command line says otherwise.
pub(crate) const MANY: u32 = 1_000_000;

/// Prints the names of the scenarios and what they measure.
pub(crate) fn list() {
    for value in Scenario::value_variants().iter().filter_map(ValueEnum::to_possible_value) {
        let about = value.get_help().map(ToString::to_string).unwrap_or_default();
        println!("{:<16}{about}", value.get_name());
    }
}

/// Runs the scenarios and prints the report. A bar that is missed is reported and is no failure:
/// this is a measurement, on a machine that may have been busy.
pub(crate) fn run(options: &Options) -> Fallible<()> {
    let mut outcomes = Vec::new();
    for scenario in options.scenarios() {
        outcomes.push(scenario.run(options)?);
    }
    println!("{}", report(&outcomes, options));
    Ok(())
}

fn report(outcomes: &[ScenarioOutcome], options: &Options) -> BenchReport {
    let only: String = options.only.iter().map(|it| format!(" --only {}", name(it))).collect();
    let rounds = options.rounds.rounds;
    let mut report = BenchReport::new(&format!("--rounds {rounds} --keys {}{only}", options.keys));
    report.bars("scenario", bars::verdicts(outcomes));
    for unit in [NANOS, WALL, PROCESSOR] {
        let titles = format!("scenario | contender | {unit}: | ratio: | in rounds: | admitted:");
        report.table(&titles, outcomes.iter().flat_map(|outcome| outcome.rows(unit)));
    }
    for outcome in outcomes {
        if let ScenarioFigures::Bytes(footprints) = &outcome.found {
            let titles = "contender | bytes per key: | keys without a counter of their own:";
            report.table(titles, footprints.iter().map(|it| it.row(options.keys)));
        }
    }
    report
}

// === impl ScenarioOutcome ===

impl ScenarioOutcome {
    /// The rows of the table of figures in this unit; ratios are to the first of them.
    fn rows(&self, unit: &str) -> Vec<String> {
        let ScenarioFigures::Timed(tables) = &self.found else { return Vec::new() };
        let Some((_, rows)) = tables.iter().find(|table| table.0 == unit) else {
            return Vec::new();
        };
        let base = rows.first().map(|first| first.figures.as_slice());
        let row = |row: &Row| {
            let (scenario, middle) = (name(&self.scenario), median(&row.figures));
            let (compared, share) = (compared(&row.figures, base), 100.0 * row.tally.share());
            format!("{scenario} | {} | {middle:.1} | {compared} | {share:.0} %", row.name)
        };
        rows.iter().map(row).collect()
    }
}

// === impl Scenario ===

impl Scenario {
    /// Measures this scenario.
    fn run(self, options: &Options) -> Fallible<ScenarioOutcome> {
        let (keys, rounds) = (options.keys, options.rounds.rounds);
        if self == Self::Bytes {
            let found = ScenarioFigures::Bytes(footprint::all(keys)?);
            return Ok(ScenarioOutcome { scenario: self, found });
        }
        let (all, stream) = self.streams(keys, REQUESTS);
        let contenders = self.contenders(if self.is_hot() { FEW } else { keys })?;
        let (label, streams) = (name(&self), (&all, &stream));
        let tables = if self == Self::Threads {
            let [wall, processor] = alternate(&label, contenders, streams, rounds, together)?;
            vec![(WALL, wall), (PROCESSOR, processor)]
        } else {
            let [nanos] = alternate(&label, contenders, streams, rounds, alone)?;
            vec![(NANOS, nanos)]
        };
        Ok(ScenarioOutcome { scenario: self, found: ScenarioFigures::Timed(tables) })
    }

    /// Lets Tidegate alone make about `decisions` decisions, with little else around them.
    pub(crate) fn profile(self, decisions: u32) -> Fallible<()> {
        let keys = if self.is_hot() { FEW } else { MANY };
        let (all, stream) = self.streams(keys, REQUESTS.min(decisions as usize));
        // Tidegate is always the last of the contenders.
        let mut ours = self.contenders(keys)?.pop().ok_or("nobody takes part in this")?;
        ours.run(&all, 0, all.len()).checked(ours.name())?;
        for _ in 0..(decisions as usize).div_ceil(stream.len()) {
            ours.run(&stream, 0, stream.len()).checked(ours.name())?;
        }
        Ok(())
    }

    /// Whether there is only one key.
    const fn is_hot(self) -> bool {
        matches!(self, Self::Hot | Self::HotDenied | Self::FiveHot | Self::Shapes)
    }

    /// Returns two streams: every key once, and the keys in the order they are asked for.
    fn streams(self, keys: u32, requests: usize) -> (Stream, Stream) {
        match self {
            Self::Zipf | Self::ZipfMixed => (Stream::each(keys), zipf(keys, requests)),
            _ if self.is_hot() => {
                let hot = Stream::of(core::iter::repeat_n(7, requests.min(REQUESTS / 256)));
                (hot.clone(), hot)
            }
            _ => (Stream::each(keys), uniform(keys, requests)),
        }
    }

    /// The contenders of this scenario, with room for `keys` keys. Ratios are taken to the first.
    fn contenders(self, keys: u32) -> Fallible<Vec<Box<dyn Contender>>> {
        let numbers = match self {
            Self::HotDenied | Self::UniformIdle | Self::ZipfMixed => BenchNumbers::TIGHT,
            _ => BenchNumbers::ROOMY,
        };
        let tidegate = |shapes| Tidegate::new(shapes, numbers, keys);
        let mut all: Vec<Box<dyn Contender>> = Vec::new();
        if self == Self::Shapes {
            let shapes = [
                Shapes::Bucket,
                Shapes::FixedQuota,
                Shapes::CalendarQuota,
                Shapes::BucketAndQuota,
                Shapes::CountedWindow,
                Shapes::ExactWindow,
            ];
            for shapes in shapes {
                all.push(Box::new(tidegate(shapes)?));
            }
            return Ok(all);
        }
        all.push(Box::new(Governor::<1>::new(numbers)));
        let throttlecrab = Throttlecrab::new(numbers, keys);
        match self {
            Self::Threads => all.push(Box::new(Arc::new(Mutex::new(throttlecrab)))),
            Self::FiveHot | Self::FiveUniform => all.push(Box::new(Governor::<3>::new(numbers))),
            _ => all.push(Box::new(throttlecrab)),
        }
        if matches!(self, Self::Hot | Self::HotDenied) {
            all.push(Box::new(Floor::new(numbers)));
        }
        let ours = tidegate(Shapes::Bucket)?;
        if matches!(self, Self::Hot | Self::Uniform | Self::Threads) {
            all.push(Box::new(ours.with_reader()));
        }
        all.push(Box::new(ours));
        if matches!(self, Self::FiveHot | Self::FiveUniform) {
            all.push(Box::new(tidegate(Shapes::FiveBuckets)?));
        }
        Ok(all)
    }
}
