//! What is counted of every ruling.

use tidegate_core::{Decision, Verdict};

use crate::metrics::{Counter, Histogram};
use crate::report::{Ruled, RulingStage};

/// The counters that every ruling adds to.
#[derive(Default)]
pub(super) struct Rulings {
    /// The time that decisions took.
    pub(super) durations: Histogram,
    /// Rulings by stage, and by place in [`VERDICTS`].
    pub(super) counts: [[Counter; VERDICTS.len()]; RulingStage::ALL.len()],
}

/// The results that are counted: a verdict, or `refuse` for a refusal that no limit was asked about.
pub(super) const VERDICTS: [&str; 5] = {
    let [admit, queue, degrade, deny] = Verdict::NAMES;
    [admit, queue, degrade, deny, "refuse"]
};

// === impl Rulings ===

impl Rulings {
    #[inline]
    pub(super) fn add(&self, ruled: &Ruled<'_>) {
        let verdict = ruled.decision.as_ref().map_or(VERDICTS.len() - 1, place);
        self.counts[ruled.stage as usize][verdict].add_one();
        if ruled.decision.is_some() {
            self.durations.record(ruled.took);
        }
    }
}

#[inline]
fn place(decision: &Decision<'_>) -> usize {
    match decision.verdict() {
        Verdict::Admit => 0,
        Verdict::Queue(_) => 1,
        Verdict::Degrade => 2,
        Verdict::Deny(_) => 3,
    }
}
