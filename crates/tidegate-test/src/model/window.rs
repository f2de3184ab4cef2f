//! A window computed from the time for which each charge counts.
//!
//! Up to 64 units, of admitted requests only, a charge counts for exactly the length of the window.
//! Otherwise time is cut into sixtieths of the window, and a charge counts until the sixty-first
//! sixtieth after its own begins: at least the length, at most 61/60 of it.

use tidegate_core::Window;

use super::MAX_OVER;

/// The largest count that is kept exactly.
const EXACT: u64 = 64;

/// All charges, and the end of the block of the last backoff.
#[derive(Clone, Debug, Default)]
pub(super) struct WindowLog {
    charges: Vec<(u64, u64)>,
    until: u64,
}

// === impl WindowLog ===

impl WindowLog {
    /// The time of the newest charge.
    pub(super) fn seen(&self, _: &Window) -> u64 {
        self.charges.last().map_or(0, |(at, _)| *at)
    }

    /// Records a charge. Attempts are counted as long as they are at most 2³¹ beyond the limit.
    pub(super) fn push(&mut self, window: &Window, at: u64, cost: u64) {
        let space = MAX_OVER + self.left(window, at);
        let units = u64::try_from(space.max(0)).map_or(cost, |space| cost.min(space));
        self.charges.push((at, units));
    }

    pub(super) fn block(&mut self, until: u64) {
        self.until = self.until.max(until);
    }

    pub(super) fn fits(&self, window: &Window, cost: u64, at: u64) -> bool {
        at >= self.until && self.left(window, at) >= i128::from(cost)
    }

    pub(super) fn left(&self, window: &Window, at: u64) -> i128 {
        let counted = self.charges.iter().filter(|(time, _)| counts(window, *time, at));
        i128::from(window.count()) - counted.map(|(_, units)| i128::from(*units)).sum::<i128>()
    }

    pub(super) fn is_fresh(&self, window: &Window, at: u64) -> bool {
        at >= self.until && !self.charges.iter().any(|(time, _)| counts(window, *time, at))
    }

    /// The log as it continues under other numbers. Charges that still counted at the last write
    /// count under the new numbers too. Where only the sixtieth of a charge is known, and the new
    /// numbers have other sixtieths, the charge is taken to be as late in it as it can be. A block
    /// stays if the new numbers can have one.
    pub(super) fn rewritten(&self, old: &Window, new: &Window) -> Self {
        let written = self.seen(old);
        let same_sixtieths = !is_exact(new) && old.per() == new.per();
        let counted = self.charges.iter().filter(|(time, _)| counts(old, *time, written));
        let charges = counted.map(|(time, units)| match is_exact(old) || same_sixtieths {
            true => (*time, *units),
            false => (last_of_sixtieth(old, *time).min(written), *units),
        });
        let keeps_block = !is_exact(old) && !is_exact(new);
        Self { charges: charges.collect(), until: if keeps_block { self.until } else { 0 } }
    }
}

fn is_exact(window: &Window) -> bool {
    window.count() <= EXACT && !window.counts().attempts()
}

/// Whether a charge made at `time` still counts at `at`.
fn counts(window: &Window, time: u64, at: u64) -> bool {
    if is_exact(window) {
        return time + window.per().as_micros() > at;
    }
    sixtieth(window, at) <= sixtieth(window, time) + 60
}

/// The number of the sixtieth of the window that contains `at`, counted from the epoch.
fn sixtieth(window: &Window, at: u64) -> u128 {
    60 * u128::from(at) / u128::from(window.per().as_micros())
}

/// The last microsecond of the sixtieth that contains `time`.
fn last_of_sixtieth(window: &Window, time: u64) -> u64 {
    let next = (sixtieth(window, time) + 1) * u128::from(window.per().as_micros());
    u64::try_from(next.div_ceil(60) - 1).expect("instants are below 2⁵³")
}
