//! The version of the format, and the budget of the in-memory store.

use super::Check;
use crate::file::place::{Place, Placed};
use crate::file::written::scalar::Number;
use crate::file::written::{Memory, Ours};
use crate::file::wrong::Wrong;
use crate::memory::Budget;

impl Check {
    pub(super) fn version(&mut self, ours: &Ours) {
        match &ours.version {
            Some(Placed { value: Number::Whole(1), .. }) => {}
            Some(version) => self.say(version.place, Wrong::UnknownVersion),
            None if self.is_misspelt("version") => {}
            None => {
                let (owner, field) = ("the file".into(), "version");
                let example = "version: 1";
                self.say(Place::default(), Wrong::MissingField { owner, field, example });
            }
        }
    }

    pub(super) fn budget(&mut self, memory: Option<&Placed<Memory>>) -> Option<Budget> {
        let usual = Budget::default();
        let Some(Placed { value: Memory { buckets, quotas, windows, attempts }, place }) = memory
        else {
            return Some(usual);
        };
        let buckets = self.keys(buckets.as_ref(), "buckets", usual.buckets);
        let quotas = self.keys(quotas.as_ref(), "quotas", usual.quotas);
        let windows = self.keys(windows.as_ref(), "windows", usual.windows);
        let attempts = self.keys(attempts.as_ref(), "attempts", usual.attempts);
        let budget =
            Budget { buckets: buckets?, quotas: quotas?, windows: windows?, attempts: attempts? };
        match budget.check() {
            Ok(()) => Some(budget),
            Err(error) => {
                self.say(*place, error);
                None
            }
        }
    }

    fn keys(
        &mut self,
        keys: Option<&Placed<Number>>,
        field: &'static str,
        usual: usize,
    ) -> Option<usize> {
        let Some(keys) = keys else { return Some(usual) };
        match self.number(keys, field).map(usize::try_from)? {
            Ok(0) => {
                self.say(keys.place, Wrong::NotANumber { field });
                None
            }
            Ok(keys) => Some(keys),
            Err(_) => {
                self.say(keys.place, Wrong::NumberTooLarge);
                None
            }
        }
    }
}
