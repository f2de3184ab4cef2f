//! All charges of one decision, together or not at all.
//!
//! Charging optimistically and undoing on refusal is quicker to write and wrong: a hammerer who is
//! refused elsewhere makes others miss the last token, and an undo that comes late admits too many.
//! Here every counter of the decision is locked, all are looked at, and only then are any written.

use core::cmp::Reverse;

use arrayvec::ArrayVec;
use tidegate_core::{
    Batch, Charge, Clock, MAX_LIMITS, Periods, Reading, Readings, Room, Shape, ShapeKind, Stale,
    StoreError, Timestamp, WritePlan, plan,
};

use super::in_place::InPlace;
use super::locks::Locks;
use super::logs::Need;
use super::shares::NetworkDigest;
use super::shelf::{Place, Spot};
use super::sketch::Cell;
use super::step::{Here, On, ShapeStep as _, Shelves, on_shelf, on_step};
use super::table::Slot;

/// Where a charge's key was seen without a lock.
pub(crate) type Glimpse = Option<Slot>;

/// The error if an entry that was seen without a lock belongs to another key once it is locked.
struct Vanished;

pub(crate) type Spots = ArrayVec<Spot, MAX_LIMITS>;

/// Charges to find spots for, and what decides where those are.
#[derive(Clone, Copy)]
pub(crate) struct SpotSearch<'a> {
    pub(crate) charges: &'a [Charge<'a>],
    pub(crate) glimpses: &'a [Glimpse],
    pub(crate) need: Need,
    /// The network that the request comes from; found out only if a key needs a place.
    pub(crate) network: &'a dyn Fn() -> NetworkDigest,
    pub(crate) now: Timestamp,
}

// === impl Shelves ===

impl Shelves {
    /// Decides a batch, and writes what is planned to be written.
    ///
    /// The clock is read after the keys have been looked for, so that it need not wait for their
    /// memory.
    #[inline]
    pub(crate) fn commit(
        &self,
        batch: &Batch<'_>,
        clock: &impl Clock,
        readings: &mut Readings,
        need: Need,
        planned: impl Fn(WritePlan) -> WritePlan,
    ) -> Result<(), StoreError> {
        match self.commit_in_place(batch.charges(), clock, readings, &planned) {
            InPlace::Decided => return Ok(()),
            InPlace::Not => readings.begin(self.epoch.clamp(clock.now())),
            InPlace::NoLonger => {}
        }
        self.commit_all(batch, readings, need, planned)
    }

    #[inline(never)]
    fn commit_all(
        &self,
        batch: &Batch<'_>,
        readings: &mut Readings,
        need: Need,
        planned: impl Fn(WritePlan) -> WritePlan,
    ) -> Result<(), StoreError> {
        let charges = batch.charges();
        let mut glimpses: ArrayVec<Glimpse, MAX_LIMITS> = ArrayVec::new();
        for charge in charges {
            glimpses.push(self.glimpse(charge));
        }
        let network = || self.networks.of(batch.network());
        let (now, network): (_, &dyn Fn() -> NetworkDigest) = (readings.decided_at(), &network);
        let asked = SpotSearch { charges, glimpses: &glimpses, need, network, now };
        let mut locks = Locks::new(self);
        let mut spots = Spots::new();
        self.lock_spots(asked, &mut locks, &mut spots);
        self.decide(charges, &spots, readings, planned)
    }

    /// Finds the spots in which the charges are counted, and locks them.
    #[inline]
    pub(crate) fn lock_spots(
        &self,
        asked: SpotSearch<'_>,
        locks: &mut Locks<'_>,
        spots: &mut Spots,
    ) {
        locks.take_groups(asked.charges, asked.glimpses, false);
        if self.find_spots(asked, false, spots).is_err() {
            // With all groups of every key locked, nothing can vanish.
            locks.give_back();
            locks.take_groups(asked.charges, asked.glimpses, true);
            spots.clear();
            let _ = self.find_spots(asked, true, spots);
        }
        if locks.take_cells(asked.charges, spots) {
            self.prepare_cells(asked, spots);
        }
    }

    /// Keeps quotas from first use and abuse logs in their cells while the cells count: the period
    /// or the block that a new entry would begin with is not the key's own; see `sketch.rs`. A log
    /// that has outgrown its entry and found no other goes on in its cell.
    #[cold]
    fn prepare_cells(&self, asked: SpotSearch<'_>, spots: &mut Spots) {
        for (charge, spot) in asked.charges.iter().zip(spots) {
            let place = spot.place;
            let here = Here { charge, periods: None, place, epoch: self.epoch, now: asked.now };
            if let Place::Newcomer(_, Some(cell), _) = place {
                if on_step!(self, charge.shape(), |step| step.stays_in(cell, here)) {
                    spot.place = Place::Cell(cell);
                } else {
                    spot.beside = None;
                }
            }
            if let (Some(from), Shape::Attempts(numbers)) = (spot.outgrown, charge.shape()) {
                On { shelf: &self.logs, numbers }.pour(here, from);
            }
        }
    }

    /// Looks at all charges, whose spots are locked, plans, and writes.
    #[inline]
    fn decide(
        &self,
        charges: &[Charge<'_>],
        spots: &[Spot],
        readings: &mut Readings,
        planned: impl Fn(WritePlan) -> WritePlan,
    ) -> Result<(), StoreError> {
        let now = readings.decided_at();
        // Read once, so that the look and the charge speak of the same periods.
        let mut periods: ArrayVec<Option<Periods>, MAX_LIMITS> = ArrayVec::new();
        let mut rooms: ArrayVec<Room, MAX_LIMITS> = ArrayVec::new();
        for (charge, spot) in charges.iter().zip(spots) {
            periods.push(charge.periods());
            let periods = periods.last().and_then(Option::as_ref);
            let here = Here { charge, periods, place: spot.place, epoch: self.epoch, now };
            let room = both(here, spot.beside, |here| self.room(here), Room::max);
            rooms.push(room.map_err(|stale| stale.of_charge(rooms.len()))?);
        }
        let plan = planned(plan(charges.iter().zip(rooms.iter().copied())));
        for (index, (charge, spot)) in charges.iter().zip(spots).enumerate() {
            let periods = periods[index].as_ref();
            let here = Here { charge, periods, place: spot.place, epoch: self.epoch, now };
            let writes =
                plan.writes(index) && (spot.beside.is_none() || leaves(charge, rooms[index]));
            let read = |here| if writes { self.take(here) } else { self.look(here) };
            // Nothing is stale here: the periods were found to be current when the room was asked
            // for.
            let reading = both(here, spot.beside, read, tighter);
            readings.push(reading.map_err(|stale| stale.of_charge(index))?);
        }
        Ok(())
    }

    #[inline]
    pub(crate) fn glimpse(&self, charge: &Charge<'_>) -> Glimpse {
        on_shelf!(self, charge.shape().kind(), |shelf| shelf.glance(charge.digest()))
    }

    pub(crate) fn homes(&self, charge: &Charge<'_>) -> ArrayVec<u32, 6> {
        on_shelf!(self, charge.shape().kind(), |shelf| shelf.homes(charge.digest()))
    }

    /// Whether a key may have to leave this entry for another.
    #[inline]
    pub(crate) fn may_move(&self, kind: ShapeKind, slot: Slot) -> bool {
        kind == ShapeKind::Attempts && self.logs.may_move(slot)
    }

    /// Finds the spot of each charge, with the group that its key was seen in locked, or all its
    /// groups.
    #[inline]
    fn find_spots(
        &self,
        asked: SpotSearch<'_>,
        all: bool,
        spots: &mut Spots,
    ) -> Result<(), Vanished> {
        let mut places: ArrayVec<Glimpse, MAX_LIMITS> = ArrayVec::new();
        for (charge, glimpse) in asked.charges.iter().zip(asked.glimpses) {
            places.push(match glimpse {
                Some(slot) if !all && self.is_at(charge, *slot) => Some(*slot),
                Some(_) if !all => return Err(Vanished),
                _ => self.glimpse(charge),
            });
        }
        // Newcomers come last, when it is known which places the others of the decision have.
        for (index, charge) in asked.charges.iter().enumerate() {
            spots.push(match places[index] {
                Some(slot) if !self.may_move(charge.shape().kind(), slot) => {
                    Spot::at(Place::Entry(slot))
                }
                seen => {
                    let spot = self.spot_beside(charge, seen, asked, &places);
                    places[index] = spot.slot().or(seen);
                    spot
                }
            });
        }
        Ok(())
    }

    #[inline]
    fn is_at(&self, charge: &Charge<'_>, slot: Slot) -> bool {
        on_shelf!(self, charge.shape().kind(), |shelf| shelf.is_at(slot, charge.digest()))
    }

    /// The spot of a key that is in no table, or in an entry that it may outgrow. The places of the
    /// other charges of the decision are not given away, even if their entries no longer count.
    #[cold]
    fn spot_beside(
        &self,
        charge: &Charge<'_>,
        seen: Glimpse,
        asked: SpotSearch<'_>,
        places: &[Glimpse],
    ) -> Spot {
        let kind = charge.shape().kind();
        let mut taken: ArrayVec<Slot, MAX_LIMITS> = ArrayVec::new();
        for (other, place) in asked.charges.iter().zip(places) {
            if other.shape().kind() == kind {
                taken.extend(*place);
            }
        }
        self.new_spot(charge, seen, asked, &taken)
    }

    #[inline]
    pub(crate) fn room(&self, here: Here<'_>) -> Result<Room, Stale> {
        on_step!(self, here.charge.shape(), |step| step.room(here))
    }

    #[inline]
    pub(crate) fn look(&self, here: Here<'_>) -> Result<Reading, Stale> {
        on_step!(self, here.charge.shape(), |step| step.look(here))
    }

    #[inline]
    pub(crate) fn take(&self, here: Here<'_>) -> Result<Reading, Stale> {
        on_step!(self, here.charge.shape(), |step| step.take(here))
    }
}

/// Asks about a place, and about the cell of the network if there is one, and returns the worse
/// answer.
#[inline]
fn both<'c, T>(
    here: Here<'c>,
    beside: Option<Cell>,
    ask: impl Fn(Here<'c>) -> Result<T, Stale>,
    worse: impl FnOnce(T, T) -> T,
) -> Result<T, Stale> {
    let own = ask(here)?;
    match beside {
        None => Ok(own),
        Some(cell) => Ok(worse(own, ask(Here { place: Place::Cell(cell), ..here })?)),
    }
}

/// Whether a charge is written that is counted in two cells and meets this room. On a ladder a
/// refused attempt is not: it could only begin a block, which cells never do, and the cell that had
/// room would count what the other one has refused.
fn leaves(charge: &Charge<'_>, room: Room) -> bool {
    let climbs = matches!(charge.shape(), Shape::Attempts(log) if log.ladder().is_some());
    room.is_now() || !climbs
}

/// The reading that leaves less room.
fn tighter(one: Reading, other: Reading) -> Reading {
    let rank = |reading: &Reading| (reading.room, reading.wait, Reverse(reading.remaining));
    if rank(&one) >= rank(&other) { one } else { other }
}
