//! A limit that is a row of a table: its counters are named by the row's id, and its numbers may be
//! replaced at any time, one row at a time.
//!
//! Limits of a policy file are few, and are all checked and replaced together. Those of a gateway are a
//! hundred thousand rows of a database, of which one changes every second. So a row is checked by itself,
//! and everything that is needed to read its counters after a change is kept with the row:
//!
//! * The name of a counter says nothing of numbers: `rl:{tag}:org:acme:row:01890a5d-…`. Another rate,
//!   burst or period is the same counter. The hash tag is given with the row, so that all rows which are
//!   charged together can have the same.
//! * A store in this process keeps a [`Stamp`] beside each state. The stamps of a row are sequence numbers:
//!   those of the numbers that some state may still be written under are remembered, from the *base* on.
//!   Equal numbers have one stamp. What was in force so long ago that every counter is fresh again is
//!   forgotten. If numbers change so often that too many would have to be remembered, the oldest are
//!   forgotten too, but for the slowest of them (the *floor*): state from below the base is taken to have
//!   been used up, and to recover no sooner than under any of them. So no change refills anything.
//! * A row that was deleted and is created again has to [succeed](Limit::replacing) its former self, as
//!   long as that is not [forgettable](Limit::forgettable_at).

use core::fmt;
use std::sync::Arc;

use siphasher::sip::SipHasher13;

use super::{Limit, LimitError, Stamp};
use crate::fleet::is_fleet_name;
use crate::row::RowId;
use crate::shape::{Shape, ShapeKind};
use crate::time::Timestamp;

/// The most numbers of one row whose counters can be read exactly. Beyond that, the oldest are forgotten.
pub const MAX_ROW_NUMBERS: usize = 32;

/// Half of the stamps there are. They are given out in turn, and a half is entered only when no counter
/// can be left that was written under its stamps the last time.
const HALF: u16 = 1 << 13;

/// What makes a limit a row.
#[derive(Clone, Debug)]
pub(crate) struct RowIdentity {
    id: RowId,
    /// The hash tag of the row's keys.
    tag: Arc<str>,
    /// What is left of earlier numbers; `None` for a row that was never changed.
    history: Option<Box<History>>,
}

/// What has to be remembered of the earlier numbers of a row.
#[derive(Clone, Debug)]
struct History {
    /// When no counter is left that was written under each of the limit's shapes, in their order;
    /// [`Timestamp::MAX`] for the one in force.
    ends: Vec<Timestamp>,
    /// The slowest of the numbers that were forgotten early, and when no counter is left of them.
    floor: Option<(Shape, Timestamp)>,
    /// The slowest of the floor and of all numbers that are remembered.
    slowest: Shape,
    /// When no counter is left that was written under a stamp of each half.
    half_ends: [Timestamp; 2],
}

// === impl Limit ===

impl Limit {
    /// Makes the limit a row with this id. The names of its counters get the hash tag `tag`, the facts
    /// that the limit counts by and the id, and say nothing of the numbers. A row is charged by
    /// [`Case::over`](crate::Case::over).
    ///
    /// # Errors
    ///
    /// If the limit is an abuse log, has overrides, or counts by outcome, or if the tag is not 1 to
    /// [`MAX_FLEET_NAME`](crate::MAX_FLEET_NAME) printable ASCII characters without spaces and braces.
    pub fn as_row(mut self, id: RowId, tag: &Arc<str>) -> Result<Self, LimitError> {
        if !is_fleet_name(tag) {
            return Err(LimitError::RowTag(self.name));
        }
        let is_plain = self.shape().kind() != ShapeKind::Attempts
            && self.shapes.len() == 1
            && self.outcomes.is_none();
        if !is_plain {
            return Err(LimitError::NoRow(self.name));
        }
        self.check_special()?;
        let identity = format!("row\0{id}\0{}", self.shape().kind().name());
        self.id = SipHasher13::new().hash(identity.as_bytes()) | 1;
        self.row = Some(Box::new(RowIdentity { id, tag: Arc::clone(tag), history: None }));
        Ok(self)
    }

    /// This row as the successor of `earlier`, which has the same id and was in force until `at`, or was
    /// deleted before. Counters go on where they are, and nothing is granted by the change.
    ///
    /// # Errors
    ///
    /// If `earlier` is not a row with the same id, tag and kind of shape: counters of another kind could
    /// not be carried over. Or if the numbers have changed so often, while counters of all of them still
    /// count, that no stamp is left: [`LimitError::TooManyChanges`] says when the change can be made.
    pub fn replacing(mut self, earlier: &Self, at: Timestamp) -> Result<Self, LimitError> {
        let (Some(row), Some(before)) = (&mut self.row, &earlier.row) else {
            return Err(LimitError::NoRow(self.name));
        };
        if (row.id, &row.tag) != (before.id, &before.tag) {
            return Err(LimitError::OtherRow(self.name));
        }
        let (expected, found) = (earlier.shape().kind(), self.shapes[0].kind());
        if expected != found {
            let (expected, found) = (expected.name(), found.name());
            return Err(LimitError::OtherKind { limit: self.name, expected, found });
        }
        let mut history = match &before.history {
            Some(history) => history.clone(),
            None => Box::new(History::of(earlier.shape())),
        };
        let shape = core::mem::replace(&mut self.shapes, earlier.shapes.clone()).remove(0);
        (self.base, self.current) = (earlier.base, earlier.current);
        self.place = earlier.place;
        history.retire(usize::from(self.place), self.current, at.after(earlier.longest()));
        self.forget(&mut history, at);
        self.put_in_force(&mut history, shape, at)?;
        history.slowest = self.slowest_of(&history);
        if let Some(row) = &mut self.row {
            row.history = Some(history);
        }
        Ok(self)
    }

    /// The id of the row, if the limit is one.
    #[must_use]
    pub fn row_id(&self) -> Option<RowId> {
        self.row.as_ref().map(|row| row.id)
    }

    /// When a row that was deleted at `at` need not be remembered any more: no counter of it counts then,
    /// and one with the same id may begin anew.
    #[must_use]
    pub fn forgettable_at(&self, at: Timestamp) -> Timestamp {
        let own = at.after(self.longest());
        let history = self.row.as_ref().and_then(|row| row.history.as_deref());
        history.map_or(own, |history| history.latest_end().max(own))
    }

    /// The numbers under which state is to be read whose own numbers are not known. Only a row that has
    /// been changed has them.
    pub(crate) fn slowest(&self) -> Option<&Shape> {
        let history = self.row.as_ref()?.history.as_ref()?;
        Some(&history.slowest)
    }

    /// Forgets the oldest numbers: those whose counters are fresh by now, and as many as are too many.
    fn forget(&mut self, history: &mut History, at: Timestamp) {
        history.floor.take_if(|(_, end)| *end <= at);
        let History { ends, floor, .. } = history;
        while ends.len() > 1 && (ends[0] <= at || ends.len() >= MAX_ROW_NUMBERS) {
            let (shape, end) = (self.shapes.remove(0), ends.remove(0));
            self.base = self.base.next();
            if end > at {
                *floor = Some(match floor.take() {
                    Some((other, until)) => (other.slower(&shape), until.max(end)),
                    None => (shape, end),
                });
            }
        }
    }

    /// Puts `shape` in force: under the stamp that equal numbers have, or under a new one.
    fn put_in_force(
        &mut self,
        history: &mut History,
        shape: Shape,
        at: Timestamp,
    ) -> Result<(), LimitError> {
        let known = self.shapes.iter().position(|known| known.counts_like(&shape));
        let place = known.unwrap_or(self.shapes.len());
        self.current = self.base.plus(place);
        self.place = self.current.since(self.base);
        if known.is_some() {
            self.shapes[place] = shape;
            history.ends[place] = Timestamp::MAX;
            return Ok(());
        }
        if let Err(until) = history.enter(self.current, at) {
            return Err(LimitError::TooManyChanges { limit: self.name.clone(), until });
        }
        self.shapes.push(shape);
        history.ends.push(Timestamp::MAX);
        Ok(())
    }

    fn slowest_of(&self, history: &History) -> Shape {
        let floor = history.floor.iter().map(|(shape, _)| shape);
        let others = self.shapes.iter().chain(floor);
        others.fold(self.shape().clone(), |slowest, shape| slowest.slower(shape))
    }
}

// === impl RowIdentity ===

impl RowIdentity {
    pub(crate) fn tag(&self) -> &str {
        &self.tag
    }

    /// Writes the part of a key that follows the subject.
    pub(crate) fn write_suffix(&self, out: &mut impl fmt::Write) -> fmt::Result {
        write!(out, ":row:{}", self.id)
    }
}

// === impl History ===

impl History {
    fn of(shape: &Shape) -> Self {
        Self {
            ends: vec![Timestamp::MAX],
            floor: None,
            slowest: shape.clone(),
            half_ends: [Timestamp::ZERO; 2],
        }
    }

    /// Notes that the numbers with this stamp are no longer in force, and when their last counter ends.
    fn retire(&mut self, place: usize, stamp: Stamp, end: Timestamp) {
        self.ends[place] = end;
        let half = &mut self.half_ends[stamp.half()];
        *half = (*half).max(end);
    }

    /// Gives out a new stamp, unless counters may be left that were written under its half before; the
    /// error is when there are none.
    fn enter(&mut self, stamp: Stamp, at: Timestamp) -> Result<(), Timestamp> {
        if stamp.get().is_multiple_of(HALF) {
            let ends = &mut self.half_ends[stamp.half()];
            if at < *ends {
                return Err(*ends);
            }
            *ends = Timestamp::ZERO;
        }
        Ok(())
    }

    fn latest_end(&self) -> Timestamp {
        let ends = self.ends.iter().copied().filter(|end| *end != Timestamp::MAX);
        let floor = self.floor.iter().map(|(_, end)| *end);
        ends.chain(floor).fold(Timestamp::ZERO, Timestamp::max)
    }
}

// === impl Stamp ===

impl Stamp {
    /// How many stamps were given out after `base` up to this one.
    #[inline]
    pub(super) const fn since(self, base: Self) -> u16 {
        self.0.wrapping_sub(base.0) & Self::MAX
    }

    const fn next(self) -> Self {
        Self(self.0.wrapping_add(1) & Self::MAX)
    }

    fn plus(self, places: usize) -> Self {
        (0..places).fold(self, |stamp, _| stamp.next())
    }

    fn half(self) -> usize {
        usize::from(self.0 / HALF)
    }
}

const _: () =
    assert!(Stamp::MAX & (Stamp::MAX + 1) == 0, "stamps are counted modulo a power of two");
const _: () = assert!(2 * HALF - 1 == Stamp::MAX && MAX_ROW_NUMBERS < HALF as usize);

#[cfg(test)]
mod tests;
