//! Bars are met up to their bounds, and only looked at where they apply.

use super::*;
use crate::contenders::BenchTally;
use crate::measure::Row;

fn outcome(ours: f64) -> ScenarioOutcome {
    let row = |name, figure| Row { name, figures: vec![figure], tally: BenchTally::default() };
    let rows = vec![row("governor", 100.0), row("tidegate", ours)];
    let found = ScenarioFigures::Timed(vec![("ns per decision", rows)]);
    ScenarioOutcome { scenario: Scenario::Hot, found }
}

#[test]
fn a_bar_is_met_up_to_its_bound() {
    for (ours, word) in [(75.0, "| met"), (75.1, "| **MISSED**")] {
        let verdicts: Vec<String> = verdicts(&[outcome(ours)]).collect();
        assert_eq!(verdicts.len(), 1, "only the scenarios that were run have bars");
        assert!(verdicts[0].ends_with(word), "{ours}: {verdicts:?}");
    }
}

#[test]
fn a_bar_that_was_not_measured_is_neither_met_nor_missed() {
    let row = AtMost(1.0).verdict("hot", "time", None);
    assert_eq!(row, "hot | time ≤ 1 | – | not measured");
}
