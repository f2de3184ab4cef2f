//! All charges of one decision, together or not at all.
//!
//! Charging optimistically and undoing on refusal is quicker to write and wrong: a hammerer who is
//! refused elsewhere makes others miss the last token, and an undo that comes late admits too many.
//! Here every counter of the decision is locked, all are looked at, and only then are any written.

use arrayvec::ArrayVec;
use tidegate_core::{
    Batch, Charge, Kind, MAX_LIMITS, Plan, Reading, Readings, Shape, Stale, Timestamp, plan,
};

use super::Shelves;
use super::shelf::Spot;
use super::sketch::Cell;
use super::step::{BucketStep, Here, QuotaStep, WindowStep};
use super::table::{Slot, acquire, release};
use crate::sync::AtomicU64;

/// Where a charge's key was seen without a lock.
#[derive(Clone, Copy)]
pub(crate) struct Glimpse {
    homes: [u32; 2],
    slot: Option<Slot>,
}

/// Locks that are held, in the order they were taken. Dropping gives all of them back.
struct Locks<'s> {
    shelves: &'s Shelves,
    groups: ArrayVec<(Kind, u32), { 2 * MAX_LIMITS }>,
    cells: ArrayVec<(Kind, Cell), MAX_LIMITS>,
}

/// An entry seen without a lock was somebody else's when the lock was had.
struct Vanished;

type Spots = ArrayVec<Spot, MAX_LIMITS>;

// === impl Shelves ===

impl Shelves {
    /// Looks for the keys of a batch, which brings their memory in while the clock is read.
    #[inline]
    pub(crate) fn glance(&self, batch: &Batch<'_>) -> ArrayVec<Glimpse, MAX_LIMITS> {
        batch.charges().iter().map(|charge| self.glimpse(charge)).collect()
    }

    /// Decides a batch at `now`, and writes what is to be written.
    #[inline]
    pub(crate) fn commit(
        &self,
        batch: &Batch<'_>,
        glimpses: &[Glimpse],
        now: Timestamp,
        planned: impl Fn(Plan) -> Plan,
    ) -> Result<Readings, Stale> {
        let charges = batch.charges();
        let now = self.epoch.clamp(now);
        let mut locks = Locks::new(self);
        let spots = self.lock(charges, glimpses, now, &mut locks);

        // Read once, so that the look and the charge speak of the same periods.
        let periods: ArrayVec<_, MAX_LIMITS> = charges.iter().map(Charge::periods).collect();
        let here = |index: usize| Here {
            charge: &charges[index],
            periods: periods[index].as_ref(),
            spot: spots[index],
            epoch: self.epoch,
            now,
        };
        let mut list: ArrayVec<Reading, MAX_LIMITS> = ArrayVec::new();
        for index in 0..charges.len() {
            list.push(self.look(here(index))?);
        }
        let rooms = list.iter().map(|reading| reading.room);
        let plan = planned(plan(charges.iter().zip(rooms)));
        for index in (0..charges.len()).filter(|index| plan.writes(*index)) {
            // What could be stale has been found to be current by the look at the same state.
            list[index] = self.take(here(index))?;
        }
        Ok(Readings { decided_at: now, list })
    }

    #[inline]
    fn glimpse(&self, charge: &Charge<'_>) -> Glimpse {
        let digest = charge.digest();
        macro_rules! glimpse {
            ($shelf:expr) => {{
                let homes = $shelf.table().homes(digest);
                Glimpse { homes, slot: $shelf.table().glance(homes, digest) }
            }};
        }
        match kind_of(charge) {
            Kind::Bucket => glimpse!(self.buckets),
            Kind::Quota => glimpse!(self.quotas),
            Kind::Window => glimpse!(self.windows),
        }
    }

    /// Locks every counter of the decision and finds the spot of each.
    #[inline]
    fn lock<'s>(
        &'s self,
        charges: &[Charge<'_>],
        glimpses: &[Glimpse],
        now: Timestamp,
        locks: &mut Locks<'s>,
    ) -> Spots {
        locks.take_groups(charges, glimpses, false);
        let spots = self.spots(charges, glimpses, now).unwrap_or_else(|Vanished| {
            // With both groups of every key locked, nothing can vanish.
            locks.give_back();
            locks.take_groups(charges, glimpses, true);
            let unseen = |glimpse: &Glimpse| Glimpse { slot: None, ..*glimpse };
            let glimpses: ArrayVec<_, MAX_LIMITS> = glimpses.iter().map(unseen).collect();
            self.spots(charges, &glimpses, now).unwrap_or_default()
        });
        locks.take_cells(charges, &spots);
        spots
    }

    /// The spot of each charge whose groups are locked.
    #[inline]
    fn spots(
        &self,
        charges: &[Charge<'_>],
        glimpses: &[Glimpse],
        now: Timestamp,
    ) -> Result<Spots, Vanished> {
        let mut spots = Spots::new();
        for (charge, glimpse) in charges.iter().zip(glimpses) {
            let spot = match glimpse.slot {
                Some(slot) if self.is_at(charge, slot) => Spot::Entry(slot),
                Some(_) => return Err(Vanished),
                None => self.settle_on(charge, glimpse.homes, charges, &spots, now),
            };
            spots.push(spot);
        }
        Ok(spots)
    }

    #[inline]
    fn is_at(&self, charge: &Charge<'_>, slot: Slot) -> bool {
        let digest = charge.digest();
        match kind_of(charge) {
            Kind::Bucket => self.buckets.table().is_at(slot, digest),
            Kind::Quota => self.quotas.table().is_at(slot, digest),
            Kind::Window => self.windows.table().is_at(slot, digest),
        }
    }

    /// The spot of a key that no glance has seen. Entries promised to earlier charges of the
    /// decision are not given away again.
    #[cold]
    fn settle_on(
        &self,
        charge: &Charge<'_>,
        homes: [u32; 2],
        charges: &[Charge<'_>],
        spots: &[Spot],
        now: Timestamp,
    ) -> Spot {
        let kind = kind_of(charge);
        let of_kind = |(other, spot): (&Charge<'_>, &Spot)| {
            if kind_of(other) == kind { spot.promised() } else { None }
        };
        let taken: ArrayVec<Slot, MAX_LIMITS> =
            charges.iter().zip(spots).filter_map(of_kind).collect();
        match kind {
            Kind::Bucket => self.buckets.settle_on(charge, homes, &taken, self.epoch, now),
            Kind::Quota => self.quotas.settle_on(charge, homes, &taken, self.epoch, now),
            Kind::Window => self.windows.settle_on(charge, homes, &taken, self.epoch, now),
        }
    }

    #[inline]
    fn look(&self, here: Here<'_>) -> Result<Reading, Stale> {
        match here.charge.shape() {
            Shape::Bucket(bucket) => Ok(BucketStep { shelf: &self.buckets, bucket }.look(here)),
            Shape::Quota(quota) => QuotaStep { shelf: &self.quotas, quota }.look(here),
            Shape::Window(window) => Ok(WindowStep { shelf: &self.windows, window }.look(here)),
        }
    }

    #[inline]
    fn take(&self, here: Here<'_>) -> Result<Reading, Stale> {
        match here.charge.shape() {
            Shape::Bucket(bucket) => Ok(BucketStep { shelf: &self.buckets, bucket }.take(here)),
            Shape::Quota(quota) => QuotaStep { shelf: &self.quotas, quota }.take(here),
            Shape::Window(window) => Ok(WindowStep { shelf: &self.windows, window }.take(here)),
        }
    }

    #[inline]
    fn group_lock(&self, (kind, group): (Kind, u32)) -> &AtomicU64 {
        match kind {
            Kind::Bucket => self.buckets.table().lock(group),
            Kind::Quota => self.quotas.table().lock(group),
            Kind::Window => self.windows.table().lock(group),
        }
    }

    fn cell_lock(&self, (kind, cell): (Kind, Cell)) -> &AtomicU64 {
        match kind {
            Kind::Bucket => self.buckets.cell_lock(cell),
            Kind::Quota => self.quotas.cell_lock(cell),
            Kind::Window => self.windows.cell_lock(cell),
        }
    }
}

// === impl Locks ===

impl<'s> Locks<'s> {
    const fn new(shelves: &'s Shelves) -> Self {
        Self { shelves, groups: ArrayVec::new_const(), cells: ArrayVec::new_const() }
    }

    /// Locks the groups of all charges, in ascending order: the one a key was seen in, or both
    /// where it was not seen or `both` are asked for.
    #[inline]
    fn take_groups(&mut self, charges: &[Charge<'_>], glimpses: &[Glimpse], both: bool) {
        let mut groups: ArrayVec<(Kind, u32), { 2 * MAX_LIMITS }> = ArrayVec::new();
        for (charge, glimpse) in charges.iter().zip(glimpses) {
            let kind = kind_of(charge);
            match glimpse.slot {
                Some(slot) if !both => groups.push((kind, slot.group)),
                _ => groups.extend(glimpse.homes.map(|home| (kind, home))),
            }
        }
        groups.sort_unstable();
        for group in groups {
            if self.groups.last() != Some(&group) {
                acquire(self.shelves.group_lock(group));
                self.groups.push(group);
            }
        }
    }

    /// Locks the cells of all spots that have one, in ascending order, after all groups.
    #[inline]
    fn take_cells(&mut self, charges: &[Charge<'_>], spots: &[Spot]) {
        let of_spot =
            |(charge, spot): (&Charge<'_>, &Spot)| spot.cell().map(|cell| (kind_of(charge), cell));
        let mut cells: ArrayVec<(Kind, Cell), MAX_LIMITS> =
            charges.iter().zip(spots).filter_map(of_spot).collect();
        cells.sort_unstable();
        for cell in cells {
            if self.cells.last() != Some(&cell) {
                acquire(self.shelves.cell_lock(cell));
                self.cells.push(cell);
            }
        }
    }

    #[inline]
    fn give_back(&mut self) {
        for cell in self.cells.drain(..) {
            release(self.shelves.cell_lock(cell));
        }
        for group in self.groups.drain(..) {
            release(self.shelves.group_lock(group));
        }
    }
}

impl Drop for Locks<'_> {
    #[inline]
    fn drop(&mut self) {
        self.give_back();
    }
}

#[inline]
fn kind_of(charge: &Charge<'_>) -> Kind {
    charge.shape().kind()
}
