//! A quota computed by adding up the units used in the period.

use tidegate_core::{Period, Quota, Timestamp};

use super::MAX_OVER;

/// All charges, and the period that earlier numbers have left behind.
#[derive(Clone, Debug, Default)]
pub(super) struct QuotaLog {
    /// The period that a reload carried over from earlier numbers.
    carried: Option<Carried>,
    charges: Vec<(u64, u64)>,
}

/// A period under earlier numbers: when it began, when it ends, and the units used in it.
#[derive(Clone, Copy, Debug)]
struct Carried {
    start: u64,
    end: u64,
    used: i128,
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

    /// The log as it continues under other numbers. The units used count until the end of their own
    /// period, in whole milliseconds, and until the end of the new period in which their own began.
    /// A store in memory knows of no beginning before its own.
    pub(super) fn rewritten(&self, old: &Quota, born: u64) -> Self {
        let carried = self.last_period(old).map(|(start, end, used)| Carried {
            start: start.max(born),
            end: end / 1_000 * 1_000,
            used,
        });
        Self { carried, charges: Vec::new() }
    }

    /// Start, end and units used of the last period in which anything was recorded.
    fn last_period(&self, quota: &Quota) -> Option<(u64, u64, i128)> {
        let carried = self.carried.map(|Carried { start, end, used }| {
            let (_, own_end) = period(quota, None, start);
            (start, end.max(own_end), used)
        });
        self.charges.iter().fold(carried, |last, (at, cost)| {
            let (at, cost) = (*at, i128::from(*cost));
            let running = last.filter(|(_, end, _)| at < *end);
            let (start, end) = period(quota, running.map(|(start, ..)| start), at);
            Some(match running {
                None => (start, end, cost),
                // A carried-over period that lasts longer keeps its bounds.
                Some((began, ends, used)) if ends > end => (began, ends, used + cost),
                Some((began, _, used)) => (began.max(start), end, used + cost),
            })
        })
    }
}

/// The period into which a record at `at` falls, after one that began at `begun`.
fn period(quota: &Quota, begun: Option<u64>, at: u64) -> (u64, u64) {
    match quota.period() {
        Period::FirstUse(length) => {
            let length = length.as_micros();
            let start = begun.filter(|begun| at < begun + length).unwrap_or(at);
            (start, start + length)
        }
        Period::Fixed(_) | Period::Calendar(_) => aligned(quota, at),
    }
}

/// The end of the period at `at` of a quota that nobody has used; a period from first use has none,
/// so `at`.
pub(super) fn idle_end(quota: &Quota, at: u64) -> u64 {
    match quota.period() {
        Period::FirstUse(_) => at,
        Period::Fixed(_) | Period::Calendar(_) => aligned(quota, at).1,
    }
}

/// The period by the clock or the calendar that contains `at`.
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
