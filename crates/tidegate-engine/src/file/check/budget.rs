//! The version of the format, and the budget of the in-memory store.

use super::Check;
use crate::file::place::{FilePlace, Placed};
use crate::file::written::scalar::WrittenNumber;
use crate::file::written::{Ours, WrittenMemory};
use crate::file::wrong::Wrong;
use crate::memory::Budget;

impl Check {
    pub(super) fn version(&mut self, ours: &Ours) {
        match &ours.version {
            Some(Placed { value: WrittenNumber::Whole(1), .. }) => {}
            Some(version) => self.say(version.place, Wrong::unknown_version()),
            None if self.is_misspelt("version") => {}
            None => {
                let wrong = Wrong::missing_field("the file", "version", "version: 1");
                self.say(FilePlace::default(), wrong);
            }
        }
    }

    pub(super) fn budget(&mut self, memory: Option<&Placed<WrittenMemory>>) -> Option<Budget> {
        let usual = Budget::default();
        let Some(Placed { value: WrittenMemory { buckets, quotas, windows, attempts }, place }) =
            memory
        else {
            return Some(usual);
        };
        let buckets = self.keys(buckets.as_ref(), "buckets", usual.buckets);
        let quotas = self.keys(quotas.as_ref(), "quotas", usual.quotas);
        let windows = self.keys(windows.as_ref(), "windows", usual.windows);
        let attempts = self.keys(attempts.as_ref(), "attempts", usual.attempts);
        let budget =
            Budget { buckets: buckets?, quotas: quotas?, windows: windows?, attempts: attempts? };
        self.right(*place, budget.check()).map(|()| budget)
    }

    fn keys(
        &mut self,
        keys: Option<&Placed<WrittenNumber>>,
        field: &'static str,
        usual: usize,
    ) -> Option<usize> {
        let Some(keys) = keys else { return Some(usual) };
        match self.number(keys, field).map(usize::try_from)? {
            Ok(0) => self.refuse(keys.place, Wrong::not_a_number(field)),
            Ok(keys) => Some(keys),
            Err(_) => self.refuse(keys.place, Wrong::number_too_large()),
        }
    }
}
