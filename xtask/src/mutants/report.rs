//! The report at the end of a run: how many mutants were killed, and which were not.

use std::time::Duration;

use super::list::Mutant;
use super::trial::MutantOutcome;
use crate::summary::seconds;

/// Why the mutant is not killed, unless it is.
pub(crate) fn wrong(mutant: &Mutant, outcome: &MutantOutcome) -> Option<String> {
    match outcome {
        MutantOutcome::Killed(_) => None,
        MutantOutcome::Survived => {
            let property = mutant.breaks.join(", ");
            Some(format!("survived: no test fails when {property} is broken"))
        }
        // The compiler's message was shown when the mutant was tried.
        MutantOutcome::Broken(why) => Some(why.lines().next().unwrap_or_default().to_owned()),
    }
}

/// The report on a run over `total` mutants; `others` are those that were not killed, and why.
pub(crate) fn report(total: usize, took: Duration, others: &[(&str, String)]) -> String {
    let killed = total - others.len();
    let others: String = others.iter().map(|(name, why)| format!("\n  {name}: {why}")).collect();
    format!("killed {killed} of {total} mutants in {}{others}", seconds(took))
}

#[cfg(test)]
mod self_test {
    use super::*;

    #[test]
    fn whoever_lives_is_named() {
        let mutant = Mutant { breaks: vec!["P24".into()], ..Mutant::default() };
        let outcomes = [
            ("a", MutantOutcome::Killed("p24_x".into())),
            ("b", MutantOutcome::Survived),
            ("c", MutantOutcome::Broken("does not compile\nerror[E0308]".into())),
        ];
        let why = |(name, outcome)| Some((name, wrong(&mutant, &outcome)?));
        let others: Vec<(&str, String)> = outcomes.into_iter().filter_map(why).collect();
        let expected = "\
killed 1 of 3 mutants in 3.0 s
  b: survived: no test fails when P24 is broken
  c: does not compile";
        assert_eq!(report(3, Duration::from_secs(3), &others), expected);
    }
}
