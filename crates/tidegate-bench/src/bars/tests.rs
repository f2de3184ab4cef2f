//! Bars are met up to their bounds, and only looked at where they apply.

use super::*;
use crate::measure::Row;

fn outcome(ours: f64) -> Outcome {
    let row = |name, figure| Row { name, figures: vec![figure], admitted: 1.0 };
    let found = Found::Nanos(vec![row("governor", 100.0), row("tidegate", ours)]);
    Outcome { scenario: Scenario::Hot, found }
}

#[test]
fn a_bar_is_met_up_to_its_bound() {
    for (ours, met) in [(75.0, true), (75.1, false)] {
        let verdicts = verdicts(&[outcome(ours)]);
        assert_eq!(verdicts.len(), 1, "only the scenarios that were run have bars");
        assert_eq!(verdicts[0].met, met, "{ours}");
    }
}
