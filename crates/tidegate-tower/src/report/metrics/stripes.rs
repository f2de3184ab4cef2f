//! Counters that every request adds to, in a few copies.
//!
//! One counter for all threads would be one cache line that all of them pull at. So each thread uses one
//! of a few copies, and a scrape adds them up.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use tidegate_core::{Decision, Verdict};

use super::add_one;
use crate::report::{Ruled, Stage};

/// The copies of the counters.
#[derive(Default)]
pub(super) struct Stripes([Stripe; STRIPES]);

/// One copy of the counters, alone on its cache lines.
#[derive(Default)]
#[repr(align(128))]
struct Stripe {
    /// How many decisions took at most as long as each of [`BOUNDS`], and longer than the one before.
    durations: [AtomicU64; BOUNDS.len() + 1],
    /// The time that all decisions took together, in microseconds.
    duration_sum: AtomicU64,
    rulings: [[AtomicU64; VERDICTS.len()]; Stage::ALL.len()],
}

const STRIPES: usize = 16;

/// The upper bounds of the histogram of durations, in microseconds.
pub(super) const BOUNDS: [u64; 14] =
    [10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 100_000, 500_000, 2_500_000];

/// The results that are counted: a verdict, or `refuse` for a refusal that no limit was asked about.
pub(super) const VERDICTS: [&str; 5] = {
    let [admit, queue, degrade, deny] = Verdict::NAMES;
    [admit, queue, degrade, deny, "refuse"]
};

/// The number of threads that have a copy so far.
static NEXT: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// The index of this thread's copy.
    static MINE: usize = NEXT.fetch_add(1, Relaxed) % STRIPES;
}

// === impl Stripes ===

impl Stripes {
    #[inline]
    pub(super) fn ruled(&self, ruled: &Ruled<'_>) {
        // A thread that is ending has no index any more.
        let stripe = &self.0[MINE.try_with(|mine| *mine).unwrap_or(0)];
        let verdict = ruled.decision.as_ref().map_or(VERDICTS.len() - 1, place);
        add_one(&stripe.rulings[ruled.stage as usize][verdict]);
        if ruled.decision.is_some() {
            let micros = ruled.took.as_micros();
            let bucket = BOUNDS.iter().position(|bound| micros <= *bound).unwrap_or(BOUNDS.len());
            add_one(&stripe.durations[bucket]);
            stripe.duration_sum.fetch_add(micros, Relaxed);
        }
    }

    /// The rulings of this stage with the verdict at this place in [`VERDICTS`].
    pub(super) fn rulings(&self, stage: Stage, verdict: usize) -> u64 {
        self.sum(|stripe| &stripe.rulings[stage as usize][verdict])
    }

    pub(super) fn durations(&self) -> [u64; BOUNDS.len() + 1] {
        core::array::from_fn(|bucket| self.sum(|stripe| &stripe.durations[bucket]))
    }

    pub(super) fn duration_sum(&self) -> u64 {
        self.sum(|stripe| &stripe.duration_sum)
    }

    fn sum(&self, counter: impl Fn(&Stripe) -> &AtomicU64) -> u64 {
        self.0.iter().map(|stripe| counter(stripe).load(Relaxed)).fold(0, u64::wrapping_add)
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
