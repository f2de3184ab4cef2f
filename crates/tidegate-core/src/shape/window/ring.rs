//! An exact window, which keeps the time of each counted unit.

use super::{Reading, Room, Window};
use crate::cost::Cost;
use crate::time::{Span, Timestamp};

/// The largest count for which every unit's time is kept.
pub const EXACT_WINDOW: usize = 64;

/// The times of the newest counted units, oldest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ring {
    len: usize,
    times: [Timestamp; EXACT_WINDOW],
}

// === impl Ring ===

impl Default for Ring {
    fn default() -> Self {
        Self { len: 0, times: [Timestamp::ZERO; EXACT_WINDOW] }
    }
}

impl FromIterator<Timestamp> for Ring {
    /// Keeps the newest of `times`, which come oldest first.
    fn from_iter<I: IntoIterator<Item = Timestamp>>(times: I) -> Self {
        Self::from_charges(times.into_iter().map(|time| (time, 1)))
    }
}

impl Ring {
    /// The times of the units kept, oldest first.
    #[must_use]
    pub fn times(&self) -> impl ExactSizeIterator<Item = Timestamp> + '_ {
        self.times[..self.len].iter().copied()
    }

    /// The time of the newest unit.
    #[must_use]
    pub fn last(&self) -> Option<Timestamp> {
        self.times[..self.len].last().copied()
    }

    pub(super) fn from_charges(charges: impl Iterator<Item = (Timestamp, u32)>) -> Self {
        let mut ring = Self::default();
        for (time, units) in charges {
            ring.push(time, usize::try_from(units).unwrap_or(usize::MAX));
        }
        ring
    }

    pub(super) fn look(&self, window: &Window, cost: Cost, now: Timestamp) -> Reading {
        let seen = self.last().map_or(now, |last| now.max(last));
        let live = self.live(window.per(), seen);
        window.reading(
            live.len() as u64,
            room(live, window, cost, now),
            self.fresh_at(window.per()).since(now),
        )
    }

    /// Counts a cost that there is room for.
    pub(super) fn take(&mut self, window: &Window, cost: Cost, now: Timestamp) -> Reading {
        let seen = self.last().map_or(now, |last| now.max(last));
        let live = self.live(window.per(), seen);
        let (left, room) = (self.len - live.len(), room(live, window, cost, now));
        self.times.copy_within(left..self.len, 0);
        self.len -= left;
        self.push(seen, usize::try_from(cost.get()).unwrap_or(usize::MAX));
        let reset = window.per().as_micros() + seen.since(now).as_micros();
        window.reading(self.len as u64, room, Span::from_micros(reset))
    }

    /// Removes up to `cost` units, the first ones from `taken_at` on. Returns how many were removed.
    pub(super) fn give_back(&mut self, cost: Cost, taken_at: Timestamp) -> u64 {
        let times = &self.times[..self.len];
        let from = times.partition_point(|time| *time < taken_at);
        let there = self.len - from;
        let units = usize::try_from(cost.get()).unwrap_or(usize::MAX).min(there);
        self.times.copy_within(from + units..self.len, from);
        self.len -= units;
        units as u64
    }

    pub(super) fn fresh_at(&self, per: Span) -> Timestamp {
        self.last().map_or(Timestamp::ZERO, |last| last.after(per))
    }

    /// The units that still count: those within `(now − per, now]`.
    fn live(&self, per: Span, now: Timestamp) -> &[Timestamp] {
        let times = &self.times[..self.len];
        let left = times.partition_point(|time| now.since(*time) >= per);
        &times[left..]
    }

    /// Adds `units` at `time`, dropping the oldest where they do not fit.
    fn push(&mut self, time: Timestamp, units: usize) {
        let units = units.min(EXACT_WINDOW);
        let excess = (self.len + units).saturating_sub(EXACT_WINDOW);
        self.times.copy_within(excess..self.len, 0);
        self.len -= excess;
        self.times[self.len..self.len + units].fill(time);
        self.len += units;
    }
}

/// The room beside the units that count, restated for a clock that shows `now`, which may be before the
/// newest unit.
fn room(live: &[Timestamp], window: &Window, cost: Cost, now: Timestamp) -> Room {
    if cost.get() > window.count() {
        return Room::Never;
    }
    // At most 64 live units and a cost within the count: the sum cannot overflow.
    let leaving = (live.len() as u64 + cost.get()).saturating_sub(window.count());
    let leaver = usize::try_from(leaving).ok().and_then(|leaving| leaving.checked_sub(1));
    match leaver.and_then(|leaver| live.get(leaver)) {
        Some(time) => Room::not_before(time.after(window.per()), now),
        None => Room::Now,
    }
}
