//! A sliding window: never more than a given count in any span of a given length.
//!
//! Counting per aligned minute lets twice the limit through around the full minute. A window has no
//! edge to double at: it slides. There are two ways to keep one, and the numbers choose:
//!
//! * up to 64 counted units, the time of each ([`Ring`]): exact to the microsecond, and smaller;
//! * beyond that, and wherever attempts are counted, 61 sub-counts ([`Grid`]): a charge counts for
//!   at least the length of the window and at most 61/60 of it, never less.
//!
//! ```
//! use tidegate_core::{Cost, Counts, Room, Span, Timestamp, Window};
//!
//! let window = Window::try_new(2, Span::MINUTE, Counts::Admitted)?;
//! let at = |secs| Timestamp::ZERO.after(Span::from_secs(secs));
//!
//! let (state, _) = window.take(None, Cost::ONE, at(58));
//! let (state, _) = window.take(Some(&state), Cost::ONE, at(59));
//! let reading = window.look(Some(&state), Cost::ONE, at(61));
//! assert_eq!(reading.room, Room::After(Span::from_secs(57)), "the new minute is not a new start");
//! # Ok::<(), tidegate_core::ShapeError>(())
//! ```

mod grid;
mod ring;

pub use grid::{Grid, SUB_COUNTS};
pub use ring::{EXACT_WINDOW, Ring};

use super::{Counts, Reading, Room, ShapeError, checked_count, checked_length, left};
use crate::cost::Cost;
use crate::time::{Span, Timestamp};

/// A limit on the units counted in any span of a given length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    count: u64,
    per: Span,
    counts: Counts,
}

/// The state kept for one key of a window in use.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "it is copied to and from a flat table, never boxed")]
pub enum WindowState {
    /// The time of each unit, for an exact window.
    Ring(Ring),
    /// The units of each sixtieth of the window.
    Grid(Grid),
}

// === impl Window ===

impl Window {
    /// The largest count: with all the refused attempts that are counted, the sub-counts still hold it.
    pub const MAX_COUNT: u64 = (1 << 31) - 1;
    /// The longest window, a little over four years: sixty times its length is still exact.
    pub const MAX_LENGTH: Span = Span::from_micros((1 << 47) - 1);

    /// At most `count` units in any span of length `per`.
    ///
    /// # Errors
    ///
    /// If either is zero, or beyond [`Window::MAX_COUNT`] or [`Window::MAX_LENGTH`].
    pub fn try_new(count: u64, per: Span, counts: Counts) -> Result<Self, ShapeError> {
        checked_count(count, Self::MAX_COUNT)?;
        checked_length(per, Self::MAX_LENGTH.as_micros())?;
        Ok(Self { count, per, counts })
    }

    /// Units per window.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The length of the window.
    #[must_use]
    pub const fn per(&self) -> Span {
        self.per
    }

    /// Which requests the window counts.
    #[must_use]
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Whether the time of each unit is kept, so that the window is exact.
    #[must_use]
    pub const fn is_exact(&self) -> bool {
        self.count <= EXACT_WINDOW as u64 && !self.counts.attempts()
    }

    /// Whether there is room for a request of `cost` at `now`.
    #[must_use]
    pub fn room(&self, state: Option<&WindowState>, cost: Cost, now: Timestamp) -> Room {
        match self.begun(state) {
            WindowState::Ring(ring) => ring.look(self, cost, now).room,
            // Without a reading, which would have to search for the newest charge.
            WindowState::Grid(grid) => grid.room(self, cost, now),
        }
    }

    /// The reading that a request of `cost` would get at `now`.
    pub fn look(&self, state: Option<&WindowState>, cost: Cost, now: Timestamp) -> Reading {
        match self.begun(state) {
            WindowState::Ring(ring) => ring.look(self, cost, now),
            WindowState::Grid(grid) => grid.look(self, cost, now),
        }
    }

    /// Counts `cost`. If attempts are counted, this may go past the count, and the reading then says
    /// how long to stay away.
    pub fn take(
        &self,
        state: Option<&WindowState>,
        cost: Cost,
        now: Timestamp,
    ) -> (WindowState, Reading) {
        let mut state = self.begun(state);
        let reading = match &mut state {
            WindowState::Ring(ring) => ring.take(self, cost, now),
            WindowState::Grid(grid) => grid.take(self, cost, now),
        };
        (state, reading)
    }

    /// Gives back `cost`, which was taken at `taken_at`, as far as it still counts. Returns the state
    /// and the units given back. A wait that a backoff has imposed stays.
    ///
    /// The units are kept at `taken_at`, or later if the counter had already seen a later time. So
    /// until a window's length has passed they are certainly there. Then the first units from
    /// `taken_at` on are taken out, and those that remain leave no earlier than they would have.
    #[must_use]
    pub fn give_back(
        &self,
        state: &WindowState,
        cost: Cost,
        taken_at: Timestamp,
        now: Timestamp,
    ) -> (WindowState, u64) {
        let mut state = state.clone();
        let units = match &mut state {
            _ if now.since(taken_at) >= self.per => 0,
            WindowState::Ring(ring) => ring.give_back(cost, taken_at),
            WindowState::Grid(grid) => grid.give_back(self.per, cost, taken_at),
        };
        (state, units)
    }

    /// The instant at which `state` need not be kept any more: its last charge has left, and no backoff
    /// holds.
    #[must_use]
    pub fn fresh_at(&self, state: &WindowState) -> Timestamp {
        match state {
            WindowState::Ring(ring) => ring.fresh_at(self.per),
            WindowState::Grid(grid) => grid.fresh_at(self.per),
        }
    }

    /// Converts a state written under the numbers of `old` to these numbers.
    ///
    /// Charges are facts and count under the new numbers too. Charges known only by their sub-count are
    /// taken to be as late as they can be.
    #[must_use]
    pub fn inherit(&self, old: &Self, state: &WindowState) -> WindowState {
        let grid = |last, until, charges: &mut dyn Iterator<Item = (Timestamp, u32)>| {
            WindowState::Grid(Grid::from_charges(self.per, last, until, charges))
        };
        match (state, self.is_exact()) {
            (WindowState::Ring(_), true) => state.clone(),
            (WindowState::Grid(_), false) if self.per == old.per => state.clone(),
            (WindowState::Ring(ring), false) => {
                let last = ring.last().unwrap_or(Timestamp::ZERO);
                grid(last, Timestamp::ZERO, &mut ring.times().map(|time| (time, 1)))
            }
            (WindowState::Grid(old_grid), false) => {
                grid(old_grid.last, old_grid.until, &mut old_grid.charges(old.per))
            }
            (WindowState::Grid(old_grid), true) => {
                WindowState::Ring(Ring::from_charges(old_grid.charges(old.per)))
            }
        }
    }

    /// A full window: the state to assume when the stored one cannot be read.
    #[must_use]
    pub fn exhausted(&self, at: Timestamp) -> WindowState {
        let charges = core::iter::once((at, u32::try_from(self.count).unwrap_or(u32::MAX)));
        if self.is_exact() {
            WindowState::Ring(Ring::from_charges(charges))
        } else {
            WindowState::Grid(Grid::from_charges(self.per, at, Timestamp::ZERO, charges))
        }
    }

    /// A copy of the state, or the state of a window never used.
    fn begun(&self, state: Option<&WindowState>) -> WindowState {
        match state {
            Some(state) => state.clone(),
            None if self.is_exact() => WindowState::Ring(Ring::default()),
            None => WindowState::Grid(Grid::default()),
        }
    }

    fn reading(&self, live: u64, room: Room, reset_after: Span) -> Reading {
        Reading::of(room, left(self.count, live, &self.counts), reset_after)
    }
}
