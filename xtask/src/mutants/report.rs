//! The report at the end of a run: how many mutants were killed, and which were not.

use std::fmt;
use std::time::Duration;

use super::list::Mutant;
use super::trial::Outcome;
use crate::summary::seconds;

/// The results of the mutants tried so far.
#[derive(Debug, Default)]
pub(crate) struct Report {
    took: Duration,
    killed: usize,
    /// The name of each mutant that was not killed, and why.
    others: Vec<(String, String)>,
}

// === impl Report ===

impl Report {
    pub(crate) fn add(&mut self, mutant: &Mutant, took: Duration, outcome: Outcome) {
        self.took += took;
        let wrong = match outcome {
            Outcome::Killed(_) => {
                self.killed += 1;
                return;
            }
            Outcome::Survived => {
                let property = mutant.breaks.join(", ");
                format!("survived: no test fails when {property} is broken")
            }
            // The compiler's message was shown when the mutant was tried.
            Outcome::Broken(why) => why.lines().next().unwrap_or_default().to_owned(),
        };
        self.others.push((mutant.name.clone(), wrong));
    }

    /// Whether the tests noticed every mutant.
    pub(crate) fn all_killed(&self) -> bool {
        self.others.is_empty()
    }

    /// The names of the mutants that were not killed.
    pub(crate) fn to_repeat(&self) -> impl Iterator<Item = &str> {
        self.others.iter().map(|(name, _)| name.as_str())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.killed + self.others.len();
        write!(f, "killed {} of {total} mutants in {}", self.killed, seconds(self.took))?;
        self.others.iter().try_for_each(|(name, wrong)| write!(f, "\n  {name}: {wrong}"))
    }
}

#[cfg(test)]
mod self_test {
    use super::*;

    #[test]
    fn whoever_lives_is_named() {
        let mut report = Report::default();
        let mutant = |name: &str| Mutant {
            name: name.into(),
            breaks: vec!["P24".into()],
            ..Mutant::default()
        };
        let second = Duration::from_secs(1);
        report.add(&mutant("a"), second, Outcome::Killed("p24_x".into()));
        assert!(report.all_killed());
        report.add(&mutant("b"), second, Outcome::Survived);
        report.add(&mutant("c"), second, Outcome::Broken("does not compile\nerror[E0308]".into()));
        assert!(!report.all_killed());
        assert_eq!(report.to_repeat().collect::<Vec<_>>(), ["b", "c"]);
        let expected = "\
killed 1 of 3 mutants in 3.0 s
  b: survived: no test fails when P24 is broken
  c: does not compile";
        assert_eq!(report.to_string(), expected);
    }
}
