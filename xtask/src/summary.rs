//! The table at the end of a run: every stage, its time, its result.

use std::time::Duration;

/// A table of stages: the name, the time and the result of each, and the time of all.
pub(crate) fn summary(stages: &[(&str, Duration, &str)]) -> String {
    let line = |name: &str, took| format!("{name:<8} {:>9}", seconds(took));
    let row = |(name, took, result): &(&str, Duration, &str)| {
        format!("{}  {result}\n", line(name, *took))
    };
    let rows: String = stages.iter().map(row).collect();
    let total = stages.iter().map(|(_, took, _)| *took).sum();
    format!("{:<8} {:>9}  result\n{rows}{}", "stage", "time", line("total", total))
}

/// A time for people to read, cut to tenths of a second.
pub(crate) fn seconds(time: Duration) -> String {
    format!("{}.{} s", time.as_secs(), time.subsec_millis() / 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stage_has_its_time_and_outcome() {
        let stages = [
            ("format", Duration::from_millis(1_250), "ok"),
            ("test", Duration::from_secs(61), "FAILED"),
            ("docs", Duration::ZERO, "not run"),
        ];
        let expected = "\
stage         time  result
format       1.2 s  ok
test        61.0 s  FAILED
docs         0.0 s  not run
total       62.2 s";
        assert_eq!(summary(&stages), expected);
    }
}
