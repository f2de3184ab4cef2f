//! Limits that count by what came of a request.

use tidegate_core::Outcomes;

use super::Check;
use crate::file::written::limit as written;
use crate::file::wrong::Wrong;

impl Check {
    /// The outcomes that a limit counts by: `Some(None)` if it gives none, `None` if they are
    /// wrong.
    pub(super) fn outcomes(&mut self, limit: &written::WrittenLimit) -> Option<Option<Outcomes>> {
        let Some(written) = &limit.outcome else { return Some(None) };
        let before = self.problems.len();
        for (field, flag) in [("settles", &limit.settles), ("forgiving", &limit.forgiving)] {
            if let Some(flag) = flag.as_ref().filter(|flag| flag.value) {
                let other = (written.place, "what counts");
                self.say_of_two(flag.place, other, Wrong::outcome_settled(field));
            }
        }
        let mut codes = Vec::new();
        for at in &written.value {
            let Some(number) = self.number(at, "outcome") else { continue };
            // A number beyond the type is beyond the range too, which the core reports.
            let code = u16::try_from(number).unwrap_or(u16::MAX);
            codes.extend(self.right(at.place, Outcomes::try_new([code])).map(|_| code));
        }
        let outcomes = Outcomes::try_new(codes);
        if self.problems.len() > before {
            return None;
        }
        self.right(written.place, outcomes).map(Some)
    }
}
