//! All charges of one decision, together or not at all.
//!
//! Charging optimistically and undoing on refusal is quicker to write and wrong: a hammerer who is
//! refused elsewhere makes others miss the last token, and an undo that comes late admits too many.
//! Here every counter of the decision is locked, all are looked at, and only then are any written.

use arrayvec::ArrayVec;
use tidegate_core::{
    Batch, Charge, Clock, Kind, MAX_LIMITS, Periods, Plan, Reading, Readings, Room, Stale,
    StoreError, Timestamp, plan,
};

use super::in_place::InPlace;
use super::locks::Locks;
use super::shelf::Spot;
use super::step::{Here, Shelves, Step as _, on_shelf, on_step};
use super::table::Slot;

/// Where a charge's key was seen without a lock.
pub(crate) type Glimpse = Option<Slot>;

/// An entry seen without a lock was somebody else's when the lock was had.
struct Vanished;

pub(crate) type Spots = ArrayVec<Spot, MAX_LIMITS>;

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
        planned: impl Fn(Plan) -> Plan,
    ) -> Result<(), StoreError> {
        let charges = batch.charges();
        match self.commit_in_place(charges, clock, readings, &planned) {
            InPlace::Decided => return Ok(()),
            InPlace::Not => readings.begin(self.epoch.clamp(clock.now())),
            InPlace::NoLonger => {}
        }
        let mut glimpses: ArrayVec<Glimpse, MAX_LIMITS> = ArrayVec::new();
        for charge in charges {
            glimpses.push(self.glimpse(charge));
        }
        self.commit_all(charges, &glimpses, readings, planned)
    }

    #[inline(never)]
    fn commit_all(
        &self,
        charges: &[Charge<'_>],
        glimpses: &[Glimpse],
        readings: &mut Readings,
        planned: impl Fn(Plan) -> Plan,
    ) -> Result<(), StoreError> {
        let now = readings.decided_at();
        let mut locks = Locks::new(self);
        let mut spots = Spots::new();
        self.lock_spots(charges, glimpses, now, &mut locks, &mut spots);
        self.decide(charges, &spots, readings, planned)
    }

    /// Locks what the charges are counted in, and says where that is.
    #[inline]
    pub(crate) fn lock_spots(
        &self,
        charges: &[Charge<'_>],
        glimpses: &[Glimpse],
        now: Timestamp,
        locks: &mut Locks<'_>,
        spots: &mut Spots,
    ) {
        locks.take_groups(charges, glimpses, false);
        if self.find_spots(charges, glimpses, false, now, spots).is_err() {
            // With both groups of every key locked, nothing can vanish.
            locks.give_back();
            locks.take_groups(charges, glimpses, true);
            spots.clear();
            let _ = self.find_spots(charges, glimpses, true, now, spots);
        }
        locks.take_cells(charges, spots);
        self.keep_in_cells(charges, spots, now);
    }

    /// Keeps quotas from first use and abuse logs in their cells while those count: the period or the
    /// block that they would begin with is not their own. See `sketch.rs`.
    fn keep_in_cells(&self, charges: &[Charge<'_>], spots: &mut Spots, now: Timestamp) {
        for (charge, spot) in charges.iter().zip(spots) {
            let Spot::Newcomer(_, Some(cell)) = *spot else { continue };
            let here = Here { charge, periods: None, spot: *spot, epoch: self.epoch, now };
            let stays = on_step!(self, charge.shape(), |step| step.stays_in(cell, here));
            if stays {
                *spot = Spot::Overflow(cell);
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
        planned: impl Fn(Plan) -> Plan,
    ) -> Result<(), StoreError> {
        let now = readings.decided_at();
        // Read once, so that the look and the charge speak of the same periods.
        let mut periods: ArrayVec<Option<Periods>, MAX_LIMITS> = ArrayVec::new();
        let mut rooms: ArrayVec<Room, MAX_LIMITS> = ArrayVec::new();
        for (charge, spot) in charges.iter().zip(spots) {
            periods.push(charge.periods());
            let periods = periods.last().and_then(Option::as_ref);
            let here = Here { charge, periods, spot: *spot, epoch: self.epoch, now };
            rooms.push(self.room(here).map_err(|stale| stale.of_charge(rooms.len()))?);
        }
        let plan = planned(plan(charges.iter().zip(rooms.iter().copied())));
        for (index, (charge, spot)) in charges.iter().zip(spots).enumerate() {
            let periods = periods[index].as_ref();
            let here = Here { charge, periods, spot: *spot, epoch: self.epoch, now };
            // What could be stale has been found to be current when the room was asked for.
            let reading = if plan.writes(index) { self.take(here) } else { self.look(here) };
            readings.push(reading.map_err(|stale| stale.of_charge(index))?);
        }
        Ok(())
    }

    #[inline]
    pub(crate) fn glimpse(&self, charge: &Charge<'_>) -> Glimpse {
        on_shelf!(self, kind_of(charge), |shelf| shelf.table().glance(charge.digest()))
    }

    pub(crate) fn homes(&self, charge: &Charge<'_>) -> [u32; 2] {
        on_shelf!(self, kind_of(charge), |shelf| shelf.table().homes(charge.digest()))
    }

    /// The spot of each charge whose groups are locked: the one its key was seen in, or both.
    #[inline]
    fn find_spots(
        &self,
        charges: &[Charge<'_>],
        glimpses: &[Glimpse],
        both: bool,
        now: Timestamp,
        spots: &mut Spots,
    ) -> Result<(), Vanished> {
        let mut places: ArrayVec<Glimpse, MAX_LIMITS> = ArrayVec::new();
        for (charge, glimpse) in charges.iter().zip(glimpses) {
            places.push(match glimpse {
                Some(slot) if !both && self.is_at(charge, *slot) => Some(*slot),
                Some(_) if !both => return Err(Vanished),
                _ => self.glimpse(charge),
            });
        }
        // Newcomers come last, when it is known which places the others of the decision have.
        for (index, charge) in charges.iter().enumerate() {
            spots.push(match places[index] {
                Some(slot) => Spot::Entry(slot),
                None => {
                    let spot = self.settle_on(charge, charges, &places, now);
                    places[index] = spot.slot();
                    spot
                }
            });
        }
        Ok(())
    }

    #[inline]
    fn is_at(&self, charge: &Charge<'_>, slot: Slot) -> bool {
        on_shelf!(self, kind_of(charge), |shelf| shelf.table().is_at(slot, charge.digest()))
    }

    /// The spot of a key that is not in the table. The places of the other charges of the decision
    /// are not given away, even those that are as good as none.
    #[cold]
    fn settle_on(
        &self,
        charge: &Charge<'_>,
        charges: &[Charge<'_>],
        places: &[Glimpse],
        now: Timestamp,
    ) -> Spot {
        let kind = kind_of(charge);
        let mut taken: ArrayVec<Slot, MAX_LIMITS> = ArrayVec::new();
        for (other, place) in charges.iter().zip(places) {
            if kind_of(other) == kind {
                taken.extend(*place);
            }
        }
        on_shelf!(self, kind, |shelf| shelf.settle_on(charge, &taken, self.epoch, now))
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

#[inline]
pub(crate) fn kind_of(charge: &Charge<'_>) -> Kind {
    charge.shape().kind()
}
