//! What is measured, against whom, and the bar it is held to.

use crate::Fallible;
use crate::args::Options;
use crate::contenders::{
    Contender, Floor, Governor, Governors, Numbers, Shapes, SharedThrottlecrab, Throttlecrab,
    Tidegate,
};
use crate::footprint::{self, Footprint};
use crate::measure::{Row, alternate, alternate_threads};
use crate::workload::{Stream, uniform, zipf};

/// One thing to measure.
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

/// What a scenario showed.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) scenario: Scenario,
    pub(crate) found: Found,
}

/// The figures of a scenario.
#[derive(Clone, Debug)]
pub(crate) enum Found {
    /// Nanoseconds per decision.
    Nanos(Vec<Row>),
    /// Million decisions per second.
    Throughput(Vec<Row>),
    /// Memory.
    Bytes(Vec<Footprint>),
}

/// Requests in a stream before it begins anew.
const REQUESTS: usize = 1 << 22;
/// Keys where only one is used.
const FEW: u32 = 1_000;

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

    /// What it measures, in a line.
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

    /// Measures it.
    pub(crate) fn run(self, options: &Options) -> Fallible<Outcome> {
        let (keys, rounds) = (options.keys, options.rounds);
        let label = self.name();
        let one = || Stream::of(core::iter::repeat_n(7, REQUESTS / 256));
        let found = match self {
            Self::Hot | Self::HotDenied | Self::FiveHot | Self::Shapes => {
                let hot = one();
                Found::Nanos(alternate(label, self.contenders(FEW)?, (&hot, &hot), rounds)?)
            }
            Self::Uniform | Self::UniformIdle | Self::FiveUniform => {
                let streams = (Stream::each(keys), uniform(keys, REQUESTS));
                let streams = (&streams.0, &streams.1);
                Found::Nanos(alternate(label, self.contenders(keys)?, streams, rounds)?)
            }
            Self::Zipf | Self::ZipfMixed => {
                let streams = (Stream::each(keys), zipf(keys, REQUESTS));
                let streams = (&streams.0, &streams.1);
                Found::Nanos(alternate(label, self.contenders(keys)?, streams, rounds)?)
            }
            Self::Threads => {
                let streams = (Stream::each(keys), uniform(keys, REQUESTS));
                let streams = (&streams.0, &streams.1);
                let contenders = self.contenders(keys)?;
                Found::Throughput(alternate_threads(label, contenders, streams, rounds)?)
            }
            Self::Bytes => Found::Bytes(footprint::all(keys)?),
        };
        Ok(Outcome { scenario: self, found })
    }

    /// Who takes part, on `keys` keys. The first is what ratios are taken to.
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
        all.push(Box::new(tidegate(Shapes::Bucket)?));
        match self {
            Self::Hot | Self::HotDenied => all.push(Box::new(Floor::new(numbers))),
            Self::FiveHot | Self::FiveUniform => all.push(Box::new(tidegate(Shapes::FiveBuckets)?)),
            _ => {}
        }
        Ok(all)
    }
}
