//! The scenarios: what is measured, and which contenders take part.

use crate::Fallible;
use crate::args::Options;
use crate::contenders::{
    Contender, Floor, Governor, Governors, Numbers, Shapes, SharedThrottlecrab, Throttlecrab,
    Tidegate,
};
use crate::footprint::{self, Footprint};
use crate::measure::{Row, alternate, alternate_threads};
use crate::workload::{Stream, uniform, zipf};

/// A scenario to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scenario {
    Hot,
    HotDenied,
    Uniform,
    UniformIdle,
    Zipf,
    ZipfMixed,
    Threads,
    FiveHot,
    FiveUniform,
    Shapes,
    Bytes,
}

/// A scenario and the figures it produced.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) scenario: Scenario,
    pub(crate) found: Found,
}

/// The figures of a scenario.
#[derive(Clone, Debug)]
pub(crate) enum Found {
    /// Nanoseconds of processor time per decision.
    Nanos(Vec<Row>),
    /// Million decisions per second.
    Throughput {
        /// Decisions per second by wall clock.
        wall: Vec<Row>,
        /// Decisions per second in which both threads had a processor.
        processor: Vec<Row>,
    },
    /// Resident memory per key.
    Bytes(Vec<Footprint>),
}

/// Number of requests in a stream before it begins anew.
const REQUESTS: usize = 1 << 22;
/// Keys that the limiters have room for in scenarios that use only one.
const FEW: u32 = 1_000;
/// Keys in the scenarios that use many, unless the command line says otherwise.
pub(crate) const MANY: u32 = 1_000_000;

// === impl Scenario ===

impl Scenario {
    pub(crate) const ALL: [Self; 11] = [
        Self::Hot,
        Self::HotDenied,
        Self::Uniform,
        Self::UniformIdle,
        Self::Zipf,
        Self::ZipfMixed,
        Self::Threads,
        Self::FiveHot,
        Self::FiveUniform,
        Self::Shapes,
        Self::Bytes,
    ];

    /// The name on the command line and in tables.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Hot => "hot",
            Self::HotDenied => "hot-denied",
            Self::Uniform => "uniform",
            Self::UniformIdle => "uniform-idle",
            Self::Zipf => "zipf",
            Self::ZipfMixed => "zipf-mixed",
            Self::Threads => "threads",
            Self::FiveHot => "five-hot",
            Self::FiveUniform => "five-uniform",
            Self::Shapes => "shapes",
            Self::Bytes => "bytes",
        }
    }

    /// What this scenario measures, in a line.
    pub(crate) const fn about(self) -> &'static str {
        match self {
            Self::Hot => "one key, everything admitted",
            Self::HotDenied => "one key, 10/s with a burst of 20, so nearly everything denied",
            Self::Uniform => "many keys evenly, all in use, everything admitted",
            Self::UniformIdle => "many keys evenly, 10/s: most are as good as new when met again",
            Self::Zipf => "many keys, the k-th most popular with frequency 1/k, all admitted",
            Self::ZipfMixed => "the same with 10/s and a burst of 20: popular keys are denied",
            Self::Threads => "many keys evenly on two threads, everything admitted",
            Self::FiveHot => "five limits in one decision, one key each",
            Self::FiveUniform => "five limits in one decision, four of them on many keys",
            Self::Shapes => "one key under each shape of limit; Tidegate only",
            Self::Bytes => "resident memory per key, each contender in a process of its own",
        }
    }

    /// Measures this scenario.
    pub(crate) fn run(self, options: &Options) -> Fallible<Outcome> {
        let (keys, rounds) = (options.keys, options.rounds);
        let found = match self {
            Self::Bytes => Found::Bytes(footprint::all(keys)?),
            _ => {
                let (all, stream) = self.streams(keys, REQUESTS);
                let contenders = self.contenders(if self.is_hot() { FEW } else { keys })?;
                let (label, streams) = (self.name(), (&all, &stream));
                if self == Self::Threads {
                    let [wall, processor] = alternate_threads(label, contenders, streams, rounds)?;
                    Found::Throughput { wall, processor }
                } else {
                    Found::Nanos(alternate(label, contenders, streams, rounds)?)
                }
            }
        };
        Ok(Outcome { scenario: self, found })
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
            Self::HotDenied | Self::UniformIdle | Self::ZipfMixed => Numbers::TIGHT,
            _ => Numbers::ROOMY,
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
        all.push(Box::new(Governor::new(numbers)));
        match self {
            Self::Threads => all.push(Box::new(SharedThrottlecrab::new(numbers, keys))),
            Self::FiveHot | Self::FiveUniform => all.push(Box::new(Governors::new(numbers))),
            _ => all.push(Box::new(Throttlecrab::new(numbers, keys))),
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
