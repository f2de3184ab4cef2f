//! Limits that count by what came of a request.

use tidegate_core::Outcomes;

use super::Check;
use crate::file::written::limit as written;
use crate::file::wrong::Wrong;

impl Check {
    /// The outcomes that a limit counts by: `Some(None)` if it gives none, `None` if they are
    /// wrong.
    pub(super) fn outcomes(&mut self, limit: &written::Limit) -> Option<Option<Outcomes>> {
        let Some(written) = &limit.outcome else { return Some(None) };
        let before = self.problems.len();
        for (field, flag) in [("settles", &limit.settles), ("forgiving", &limit.forgiving)] {
            if let Some(flag) = flag.as_ref().filter(|flag| flag.value) {
                let other = (written.place, "what counts");
                self.say_of_two(flag.place, other, Wrong::OutcomeSettled { field });
            }
        }
        let mut codes = Vec::new();
        for at in &written.value {
            let Some(number) = self.number(at, "outcome") else { continue };
            // A number beyond the type is beyond the range too, which the core reports.
            let code = u16::try_from(number).unwrap_or(u16::MAX);
            match Outcomes::try_new([code]) {
                Ok(_) => codes.push(code),
                Err(error) => self.say(at.place, error),
            }
        }
        let outcomes = Outcomes::try_new(codes);
        if self.problems.len() > before {
            return None;
        }
        outcomes.map(Some).map_err(|error| self.say(written.place, error)).ok()
    }
}
