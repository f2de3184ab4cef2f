//! A quota by adding up what was used in the period.

use tidegate_core::{Period, Quota, Timestamp};

use super::MAX_OVER;

/// All charges, and what an earlier set of numbers has left behind.
#[derive(Clone, Debug, Default)]
pub(super) struct QuotaLog {
    /// The start of a period and what was used in it, carried over by a reload.
    carried: Option<(u64, i128)>,
    charges: Vec<(u64, u64)>,
}

// === impl QuotaLog ===

impl QuotaLog {
    /// The start of the period of the last charge.
    pub(super) fn seen(&self, quota: &Quota) -> u64 {
        self.last_period(quota).map_or(0, |(start, _, _)| start)
    }

    pub(super) fn push(&mut self, _: &Quota, at: u64, cost: u64) {
        self.charges.push((at, cost));
    }

    pub(super) fn fits(&self, quota: &Quota, cost: u64, at: u64) -> bool {
        self.left(quota, at) >= i128::from(cost)
    }

    pub(super) fn left(&self, quota: &Quota, at: u64) -> i128 {
        let used = match self.last_period(quota) {
            Some((_, end, used)) if at < end => used,
            _ => 0,
        };
        i128::from(quota.count()) - used.min(i128::from(quota.count()) + MAX_OVER)
    }

    pub(super) fn is_fresh(&self, quota: &Quota, at: u64) -> bool {
        self.last_period(quota).is_none_or(|(_, end, _)| at >= end)
    }

    /// What was used is a fact: it counts in the period of the new numbers that its own began in. A
    /// store in memory does not know of a beginning before its own.
    pub(super) fn rewritten(&self, old: &Quota, born: u64) -> Self {
        let carried = self.last_period(old).map(|(start, _, used)| (start.max(born), used));
        Self { carried, charges: Vec::new() }
    }

    /// Start, end and use of the last period that anything was recorded in.
    fn last_period(&self, quota: &Quota) -> Option<(u64, u64, i128)> {
        let units = |(at, cost): &(u64, u64)| (*at, i128::from(*cost));
        let records = self.carried.into_iter().chain(self.charges.iter().map(units));
        records.fold(None, |period, (at, used)| match period {
            Some((start, end, before)) if at < end => Some((start, end, before + used)),
            _ => {
                let (start, end) = self.period_from(quota, at);
                Some((start, end, used))
            }
        })
    }

    /// The period that a first record at `at` opens.
    fn period_from(&self, quota: &Quota, at: u64) -> (u64, u64) {
        match quota.period() {
            Period::FirstUse(length) => (at, at + length.as_micros()),
            Period::Fixed(_) | Period::Calendar(_) => {
                let (start, end) = aligned(quota, at);
                // A period that was carried over may begin within the one the clock shows.
                let carried = self.carried.map_or(0, |(start, _)| start);
                (start.max(carried), end)
            }
        }
    }
}

/// The end of the period at `at` of a quota nobody has used: one from first use has none.
pub(super) fn idle_end(quota: &Quota, at: u64) -> u64 {
    match quota.period() {
        Period::FirstUse(_) => at,
        Period::Fixed(_) | Period::Calendar(_) => aligned(quota, at).1,
    }
}

/// The period of the clock or the calendar that contains `at`.
fn aligned(quota: &Quota, at: u64) -> (u64, u64) {
    match quota.period() {
        Period::Fixed(length) => {
            let start = at / length.as_micros() * length.as_micros();
            (start, start + length.as_micros())
        }
        Period::Calendar(calendar) => {
            let [_, start, end, _] = calendar.around(Timestamp::from_micros(at)).bounds();
            (start.as_micros(), end.as_micros())
        }
        Period::FirstUse(_) => panic!("a period from first use follows no clock"),
    }
}
