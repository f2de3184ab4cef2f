//! The performance bars that Tidegate is held to, and whether it met them.

use crate::scenarios::{Found, Outcome, Scenario};

/// A bar: the bound on one figure of a scenario, or on the ratio of two.
#[derive(Clone, Copy, Debug)]
struct Bar {
    scenario: Scenario,
    what: &'static str,
    measure: Measure,
    bound: Bound,
    /// A better value to aim for beyond the bound.
    aim: Option<f64>,
}

#[derive(Clone, Copy, Debug)]
enum Measure {
    /// The ratio of the medians of two contenders.
    Ratio(&'static str, &'static str),
    /// Bytes per key of a contender.
    Bytes(&'static str),
}

#[derive(Clone, Copy, Debug)]
enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

/// A bar, the figure that was measured, and whether it met the bar.
#[derive(Clone, Debug)]
pub(crate) struct Verdict {
    pub(crate) scenario: &'static str,
    /// The bar in words.
    pub(crate) bar: String,
    pub(crate) measured: f64,
    pub(crate) met: bool,
}

const FIVE: &str = "tidegate, five limits (atomic)";

/// The bars for decisions in process.
const BARS: [Bar; 6] = [
    Bar {
        scenario: Scenario::Hot,
        what: "time per decision, to governor",
        measure: Measure::Ratio("tidegate", "governor"),
        bound: Bound::AtMost(0.75),
        aim: Some(0.4),
    },
    Bar {
        scenario: Scenario::Uniform,
        what: "time per decision, to governor",
        measure: Measure::Ratio("tidegate", "governor"),
        bound: Bound::AtMost(0.35),
        aim: Some(0.22),
    },
    Bar {
        scenario: Scenario::Threads,
        what: "decisions per second, to governor",
        measure: Measure::Ratio("tidegate", "governor"),
        bound: Bound::AtLeast(3.3),
        aim: Some(4.5),
    },
    Bar {
        scenario: Scenario::FiveHot,
        what: "time of five limits, to one",
        measure: Measure::Ratio(FIVE, "tidegate"),
        bound: Bound::AtMost(4.0),
        aim: None,
    },
    Bar {
        scenario: Scenario::FiveUniform,
        what: "time of five limits, to one",
        measure: Measure::Ratio(FIVE, "tidegate"),
        bound: Bound::AtMost(4.0),
        aim: None,
    },
    Bar {
        scenario: Scenario::Bytes,
        what: "bytes per key",
        measure: Measure::Bytes("tidegate"),
        bound: Bound::AtMost(48.0),
        aim: Some(32.0),
    },
];

/// The verdicts on all bars that belong to the scenarios that were run.
pub(crate) fn verdicts(outcomes: &[Outcome]) -> Vec<Verdict> {
    let of_outcome = |outcome| BARS.iter().filter_map(move |bar| bar.verdict(outcome));
    outcomes.iter().flat_map(of_outcome).collect()
}

// === impl Bar ===

impl Bar {
    fn verdict(&self, outcome: &Outcome) -> Option<Verdict> {
        if outcome.scenario != self.scenario {
            return None;
        }
        let measured = self.measure.of(&outcome.found)?;
        let (sign, bound, met) = match self.bound {
            Bound::AtMost(bound) => ("≤", bound, measured <= bound),
            Bound::AtLeast(bound) => ("≥", bound, measured >= bound),
        };
        let aim = self.aim.map_or_else(String::new, |aim| format!(" (aim {aim})"));
        let bar = format!("{} {sign} {bound}{aim}", self.what);
        Some(Verdict { scenario: self.scenario.name(), bar, measured, met })
    }
}

// === impl Measure ===

impl Measure {
    fn of(self, found: &Found) -> Option<f64> {
        match (self, found) {
            (Self::Ratio(of, to), Found::Nanos(rows) | Found::Throughput { wall: rows, .. }) => {
                let row = |name| rows.iter().find(|row| row.name == name);
                Some(row(of)?.ratio_to(row(to)?))
            }
            (Self::Bytes(of), Found::Bytes(footprints)) => {
                Some(footprints.iter().find(|footprint| footprint.name == of)?.bytes_per_key)
            }
            (Self::Ratio(..), Found::Bytes(_)) | (Self::Bytes(_), _) => None,
        }
    }
}

#[cfg(test)]
mod tests;
