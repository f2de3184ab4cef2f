//! Units per sixtieth of the window: a sliding count of constant size.
//!
//! Time is cut into slots of `per / 60`, a fraction that need not be whole: slot `k` begins at the
//! first tick at or after `k · per / 60`. Sixty slots and the current one are counted, so a charge
//! leaves when the slot sixty-one after its own begins: at least `per` after it was made, and at
//! most `per · 61/60`.

use super::super::MAX_OVER;
use super::{Reading, Room, Window};
use crate::cost::Cost;
use crate::time::{Span, Timestamp};

/// Slots in the length of a window.
const SLOTS: u64 = 60;

/// Sub-counts kept: those of the sixty slots of a window, and that of the current slot.
pub const SUB_COUNTS: usize = 61;

/// Units per slot, for the 61 slots up to that of `last`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid {
    /// The time of the newest charge. The window never takes the time to be earlier than this.
    pub last: Timestamp,
    /// The end of the wait that a backoff has imposed.
    pub until: Timestamp,
    /// The units of each slot: slot `k` is at index `k mod 61`. Their sum is at most 2³² − 1.
    pub counts: [u32; SUB_COUNTS],
}

// === impl Grid ===

impl Default for Grid {
    fn default() -> Self {
        Self { last: Timestamp::ZERO, until: Timestamp::ZERO, counts: [0; SUB_COUNTS] }
    }
}

impl Grid {
    /// The non-empty slots, oldest first, each with the latest time its charges can have.
    pub(super) fn charges(&self, per: Span) -> impl Iterator<Item = (Timestamp, u32)> + '_ {
        self.slots(per).filter(|(_, units)| *units > 0).map(move |(slot, units)| {
            let end = begins(slot + 1, per).as_micros().saturating_sub(1);
            (self.last.min(Timestamp::from_micros(end)), units)
        })
    }

    pub(super) fn from_charges(
        per: Span,
        last: Timestamp,
        until: Timestamp,
        charges: impl Iterator<Item = (Timestamp, u32)>,
    ) -> Self {
        let mut grid = Self { last, until, counts: [0; SUB_COUNTS] };
        let oldest = slot_of(last, per).saturating_sub(SLOTS);
        for (time, units) in charges {
            let slot = slot_of(time, per);
            if slot >= oldest {
                let count = &mut grid.counts[index(slot)];
                *count = count.saturating_add(units);
            }
        }
        grid
    }

    pub(super) fn room(mut self, window: &Window, cost: Cost, now: Timestamp) -> Room {
        self.advance(window.per(), now);
        self.room_in(window, cost, now)
    }

    pub(super) fn look(mut self, window: &Window, cost: Cost, now: Timestamp) -> Reading {
        self.advance(window.per(), now);
        self.reading(window, self.room_in(window, cost, now), now)
    }

    pub(super) fn take(&mut self, window: &Window, cost: Cost, now: Timestamp) -> Reading {
        self.advance(window.per(), now);
        let room = self.room_in(window, cost, now);
        self.add(window, cost);
        if !window.counts().attempts() {
            return self.reading(window, room, now);
        }
        let over = self.live().saturating_sub(window.count());
        let fresh_after = self.fresh_at(window.per()).since(self.last);
        let backoff = window.counts().delay(over, fresh_after);
        if !backoff.is_zero() {
            let wait = self.room_in(window, cost, self.last).wait().max(backoff);
            self.until = self.until.max(self.last.after(wait));
        }
        let wait = self.room_in(window, cost, now).wait();
        Reading { wait, backoff, ..self.reading(window, room, now) }
    }

    /// Takes `cost` units out of the slots, beginning with the slot of `taken_at`. Returns how many it
    /// found.
    pub(super) fn give_back(&mut self, per: Span, cost: Cost, taken_at: Timestamp) -> u64 {
        let (from, current) = (slot_of(taken_at, per), slot_of(self.last, per));
        let oldest = current.saturating_sub(SLOTS);
        let mut left = u32::try_from(cost.get()).unwrap_or(u32::MAX);
        let asked = left;
        for slot in from.max(oldest)..=current {
            let count = &mut self.counts[index(slot)];
            let units = left.min(*count);
            *count -= units;
            left -= units;
        }
        u64::from(asked - left)
    }

    pub(super) fn fresh_at(&self, per: Span) -> Timestamp {
        // Nearly always the current slot has just been counted in, and no search is needed.
        let current = slot_of(self.last, per);
        let newest = match self.counts[index(current)] {
            0 => self.slots(per).filter(|(_, units)| *units > 0).last(),
            units => Some((current, units)),
        };
        let left = newest.map_or(Timestamp::ZERO, |(slot, _)| leaves(slot, per));
        self.until.max(left)
    }

    /// When the current slot has left the window and no backoff holds any more. That is no earlier than
    /// [`fresh_at`](Self::fresh_at), which searches for the newest charge.
    pub(crate) fn left_at(&self, per: Span) -> Timestamp {
        leaves(slot_of(self.last, per), per).max(self.until)
    }

    /// Moves the grid on to `now`, and empties the slots that have left the window.
    fn advance(&mut self, per: Span, now: Timestamp) {
        let now = now.max(self.last);
        let (from, to) = (slot_of(self.last, per), slot_of(now, per));
        for slot in from + 1..=to.min(from + SUB_COUNTS as u64) {
            self.counts[index(slot)] = 0;
        }
        self.last = now;
    }

    fn add(&mut self, window: &Window, cost: Cost) {
        let space = (window.count() + MAX_OVER).saturating_sub(self.live());
        let units = u32::try_from(cost.get().min(space)).unwrap_or(u32::MAX);
        let count = &mut self.counts[index(slot_of(self.last, window.per()))];
        *count = count.saturating_add(units);
    }

    /// The room at `last`, restated for a clock that shows `now`, which is earlier if it was set back.
    fn room_in(&self, window: &Window, cost: Cost, now: Timestamp) -> Room {
        if cost.get() > window.count() {
            return Room::Never;
        }
        let mut leaving = (self.live() + cost.get()).saturating_sub(window.count());
        if leaving == 0 && self.until <= self.last {
            return Room::Now;
        }
        let mut then = self.until;
        for (slot, units) in self.slots(window.per()) {
            if leaving == 0 {
                break;
            }
            then = then.max(leaves(slot, window.per()));
            leaving = leaving.saturating_sub(u64::from(units));
        }
        Room::not_before(then, now)
    }

    fn reading(&self, window: &Window, room: Room, now: Timestamp) -> Reading {
        let fresh_at = self.fresh_at(window.per());
        let reset = if fresh_at > self.last { fresh_at.since(now) } else { Span::ZERO };
        window.reading(self.live(), room, reset)
    }

    fn live(&self) -> u64 {
        self.counts.iter().map(|&units| u64::from(units)).sum()
    }

    /// The slots that count at `last`, oldest first.
    fn slots(&self, per: Span) -> impl Iterator<Item = (u64, u32)> + '_ {
        let current = slot_of(self.last, per);
        let oldest = current.saturating_sub(SLOTS);
        // The counts in the order of their slots: from the place of the oldest slot to the end, then
        // from the start.
        let (wrapped, first) = self.counts.split_at(index(oldest));
        (oldest..=current).zip(first.iter().chain(wrapped).copied())
    }
}

/// The number of the slot that contains `time`: `60 · time / per`, computed without leaving 53 bits.
fn slot_of(time: Timestamp, per: Span) -> u64 {
    let (windows, rest) = (time.as_micros() / per.as_micros(), time.as_micros() % per.as_micros());
    SLOTS * windows + SLOTS * rest / per.as_micros()
}

/// The first tick of a slot.
fn begins(slot: u64, per: Span) -> Timestamp {
    let whole = (slot / SLOTS).saturating_mul(per.as_micros());
    let part = (slot % SLOTS * per.as_micros()).div_ceil(SLOTS);
    Timestamp::from_micros(whole.saturating_add(part))
}

/// The first tick at which the charges of a slot no longer count.
fn leaves(slot: u64, per: Span) -> Timestamp {
    begins(slot + SUB_COUNTS as u64, per)
}

fn index(slot: u64) -> usize {
    usize::try_from(slot % SUB_COUNTS as u64).unwrap_or_default()
}
