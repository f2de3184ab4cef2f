//! Which requests are counted, and the backoff that goes with counting attempts.

use tidegate_core::{Backoff, Counts, Span};

use super::Check;
use crate::file::place::{FilePlace, Placed};
use crate::file::written::limit as written;
use crate::file::written::word::{Counted, Word};
use crate::file::wrong::Wrong;

impl Check {
    /// Which requests are counted, with the backoff if there is one; `None` if the two do not go
    /// together.
    pub(super) fn counts(
        &mut self,
        counts: Option<&Placed<Word<Counted>>>,
        backoff: Option<&Placed<written::WrittenBackoff>>,
    ) -> Option<Counts> {
        let counted = self.word_or(counts, Counted::Admitted);
        let checked = backoff.map(|backoff| self.backoff(&backoff.value, backoff.place));
        match (counted?, checked) {
            (Counted::Admitted, None) => Some(Counts::Admitted),
            (Counted::Attempts, None) => Some(Counts::Attempts(None)),
            (Counted::Attempts, Some(checked)) => Some(Counts::Attempts(Some(checked?))),
            (Counted::Admitted, Some(_)) => {
                self.refuse(backoff?.place, Wrong::backoff_without_attempts())
            }
        }
    }

    fn backoff(&mut self, backoff: &written::WrittenBackoff, place: FilePlace) -> Option<Backoff> {
        let owner = ("a backoff", place);
        let at_base = self.required(backoff.base.as_ref(), owner, "base", "base: 1s");
        let at_cap = self.required(backoff.cap.as_ref(), owner, "cap", "cap: 5min");
        let base = at_base.and_then(|base| self.duration(base));
        let cap = at_cap.and_then(|cap| self.duration(cap));
        let factor = match &backoff.factor {
            Some(factor) => self.number(factor, "factor")?,
            None => 2,
        };
        let (base, cap): (Span, Span) = (base?, cap?);
        let (place, why) = if base.is_zero() {
            (at_base?.place, "of 0 asks for no delay")
        } else if cap < base {
            (at_cap?.place, "cannot be capped below its base")
        } else if factor == 0 {
            (backoff.factor.as_ref()?.place, "with a factor of 0 asks for no delay")
        } else {
            let factor = u32::try_from(factor).unwrap_or(u32::MAX);
            return Some(Backoff::exponential(base, factor, cap));
        };
        self.refuse(place, Wrong::bad_backoff(why))
    }
}
