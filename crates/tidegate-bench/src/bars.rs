//! The performance bars that Tidegate is held to, and whether it met them.

use std::fmt::Display;

use Bound::{AtLeast, AtMost};

use crate::args::name;
use crate::measure::ratio;
use crate::report::shown;
use crate::scenarios::{Scenario, ScenarioFigures, ScenarioOutcome};

/// The bound that a bar sets on a figure.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bound {
    AtMost(f64),
    AtLeast(f64),
    Below(f64),
    Exactly(f64),
}

const OURS: &str = "tidegate";
const FIVE: &str = "tidegate, five limits (atomic)";

/// The verdicts on the bars of the scenarios that were run, as rows of a table.
pub(crate) fn verdicts(outcomes: &[ScenarioOutcome]) -> impl Iterator<Item = String> {
    outcomes.iter().filter_map(verdict)
}

/// The verdict on the bar of one scenario, if it has a bar: on the ratio of the medians of two
/// contenders, or on bytes per key.
fn verdict(outcome: &ScenarioOutcome) -> Option<String> {
    let to_governor = [OURS, "governor"];
    let (what, [of, to], bound) = match outcome.scenario {
        Scenario::Hot => ("time per decision, to governor (aim 0.4)", to_governor, AtMost(0.75)),
        Scenario::Uniform => {
            ("time per decision, to governor (aim 0.22)", to_governor, AtMost(0.35))
        }
        Scenario::Threads => {
            ("decisions per second, to governor (aim 4.5)", to_governor, AtLeast(3.3))
        }
        Scenario::FiveHot | Scenario::FiveUniform => {
            ("time of five limits, to one", [FIVE, OURS], AtMost(4.0))
        }
        Scenario::Bytes => ("bytes per key (aim 32)", [OURS, ""], AtMost(48.0)),
        _ => return None,
    };
    let measured = match &outcome.found {
        ScenarioFigures::Timed(tables) => {
            let (_, rows) = tables.first()?;
            let figures = |name| rows.iter().find(|row| row.name == name).map(|row| &row.figures);
            ratio(figures(of)?, figures(to)?)
        }
        ScenarioFigures::Bytes(footprints) => {
            footprints.iter().find(|footprint| footprint.name == of)?.bytes_per_key
        }
    };
    Some(bound.verdict(name(&outcome.scenario), what, Some(measured)))
}

// === impl Bound ===

impl Bound {
    /// A row of the table of bars: what was measured, the bar, the figure, and whether it met the
    /// bar.
    pub(crate) fn verdict(self, about: impl Display, what: &str, measured: Option<f64>) -> String {
        let figure = measured.unwrap_or(f64::NAN);
        let (sign, bound, met) = match self {
            Self::AtMost(bound) => ("≤", bound, figure <= bound),
            Self::AtLeast(bound) => ("≥", bound, figure >= bound),
            Self::Below(bound) => ("<", bound, figure < bound),
            Self::Exactly(bound) => ("=", bound, (figure - bound).abs() < f64::EPSILON),
        };
        let word = match measured {
            None => "not measured",
            Some(_) if met => "met",
            Some(_) => "**MISSED**",
        };
        format!("{about} | {what} {sign} {bound} | {} | {word}", shown(measured, 3))
    }
}

#[cfg(test)]
mod tests;
