//! The table at the end of a run: every stage, its time, its result.

use std::fmt;
use std::time::Duration;

use crate::shell::Failure;

/// How a stage ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Passed,
    Failed,
    /// Not run, because an earlier stage failed.
    NotRun,
}

/// The stages run so far, with their times and results.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    rows: Vec<(&'static str, Duration, Outcome)>,
}

// === impl Outcome ===

impl From<&Result<(), Failure>> for Outcome {
    fn from(result: &Result<(), Failure>) -> Self {
        match result {
            Ok(()) => Self::Passed,
            Err(_) => Self::Failed,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passed => f.write_str("ok"),
            Self::Failed => f.write_str("FAILED"),
            Self::NotRun => f.write_str("not run"),
        }
    }
}

// === impl Summary ===

impl Summary {
    pub(crate) fn add(&mut self, stage: &'static str, took: Duration, outcome: Outcome) {
        self.rows.push((stage, took, outcome));
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<8} {:>9}  result", "stage", "time")?;
        for (stage, took, outcome) in &self.rows {
            writeln!(f, "{stage:<8} {:>9}  {outcome}", seconds(*took))?;
        }
        let total = self.rows.iter().map(|(_, took, _)| *took).sum();
        write!(f, "{:<8} {:>9}", "total", seconds(total))
    }
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
        let mut summary = Summary::default();
        summary.add("format", Duration::from_millis(1_250), Outcome::Passed);
        summary.add("test", Duration::from_secs(61), Outcome::Failed);
        summary.add("docs", Duration::ZERO, Outcome::NotRun);
        let expected = "\
stage         time  result
format       1.2 s  ok
test        61.0 s  FAILED
docs         0.0 s  not run
total       62.2 s";
        assert_eq!(summary.to_string(), expected);
    }
}
