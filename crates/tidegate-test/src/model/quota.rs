//! A quota by adding up what was used in the period.

use tidegate_core::{Period, Quota, Timestamp};

use super::MAX_OVER;

/// All charges, and what an earlier set of numbers has left behind.
#[derive(Clone, Debug, Default)]
pub(super) struct QuotaLog {
    /// The period that other numbers have left behind.
    carried: Option<Carried>,
    charges: Vec<(u64, u64)>,
}

/// A period of other numbers: when it began, when it ends, and what was used in it.
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

    /// What was used is a fact: it counts to the end of its own period, in whole milliseconds, and to the
    /// end of the period of the new numbers that its own began in. A store in memory does not know of a
    /// beginning before its own.
    pub(super) fn rewritten(&self, old: &Quota, born: u64) -> Self {
        let carried = self.last_period(old).map(|(start, end, used)| Carried {
            start: start.max(born),
            end: end / 1_000 * 1_000,
            used,
        });
        Self { carried, charges: Vec::new() }
    }

    /// Start, end and use of the last period that anything was recorded in.
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
                // A period of other numbers that lasts longer stays what it is.
                Some((began, ends, used)) if ends > end => (began, ends, used + cost),
                Some((began, _, used)) => (began.max(start), end, used + cost),
            })
        })
    }
}

/// The period that a record at `at` falls in, after one that began at `begun`.
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
