//! The short way, for what most decisions are: buckets only, all of them seen in their places and
//! written under the numbers in force.
//!
//! It is the protocol of `table.rs` and the plan of every store, without what only newcomers,
//! overflow, calendars and reloads need. Whatever does not fit goes the long way, in `commit.rs`;
//! the tests hold both to the same model.

use arrayvec::ArrayVec;
use tidegate_core::{
    Bucket, BucketState, Charge, Clock, MAX_LIMITS, Plan, Readings, Room, Shape, Timestamp, plan,
};

use super::Shelves;
use super::entry::Head;
use super::locks::{Held, insert};
use super::table::{Entry, Slot};

/// How the short way ended.
pub(crate) enum InPlace {
    /// The readings are there, and what was planned is written.
    Decided,
    /// Not for this batch; the clock has not been read.
    Not,
    /// Something has changed since it was looked at; the clock has been read, nothing is written.
    NoLonger,
}

/// A bucket that is locked in its place.
#[derive(Clone, Copy)]
struct Placed<'t> {
    bucket: &'t Bucket,
    entry: Entry<'t>,
    state: BucketState,
}

// === impl Shelves ===

impl Shelves {
    #[inline(always)]
    pub(crate) fn commit_in_place(
        &self,
        charges: &[Charge<'_>],
        clock: &impl Clock,
        readings: &mut Readings,
        planned: impl Fn(Plan) -> Plan,
    ) -> InPlace {
        let [charge] = charges else {
            return self.several_in_place(charges, clock, readings, planned);
        };
        let Some((bucket, slot)) = self.see(charge) else { return InPlace::Not };
        let now = self.epoch.clamp(clock.now());
        readings.begin(now);
        let _held = Held::new(self.buckets.table().lock(slot.group));
        let Some(placed) = self.placed(charge, bucket, slot, now) else {
            return InPlace::NoLonger;
        };
        let room = placed.bucket.room(Some(placed.state), charge.cost(), now);
        let plan = planned(plan(core::iter::once((charge, room))));
        self.finish(charge, placed, plan.writes(0), readings);
        InPlace::Decided
    }

    #[inline(never)]
    fn several_in_place(
        &self,
        charges: &[Charge<'_>],
        clock: &impl Clock,
        readings: &mut Readings,
        planned: impl Fn(Plan) -> Plan,
    ) -> InPlace {
        let mut seen: ArrayVec<(&Bucket, Slot), MAX_LIMITS> = ArrayVec::new();
        let mut groups: ArrayVec<u32, MAX_LIMITS> = ArrayVec::new();
        for charge in charges {
            let Some((bucket, slot)) = self.see(charge) else { return InPlace::Not };
            seen.push((bucket, slot));
            insert(&mut groups, slot.group);
        }
        let now = self.epoch.clamp(clock.now());
        readings.begin(now);
        let table = self.buckets.table();
        let mut held: ArrayVec<Held<'_>, MAX_LIMITS> = ArrayVec::new();
        for group in groups {
            held.push(Held::new(table.lock(group)));
        }
        let mut all: ArrayVec<Placed<'_>, MAX_LIMITS> = ArrayVec::new();
        let mut rooms: ArrayVec<Room, MAX_LIMITS> = ArrayVec::new();
        for (charge, (bucket, slot)) in charges.iter().zip(seen) {
            let Some(placed) = self.placed(charge, bucket, slot, now) else {
                return InPlace::NoLonger;
            };
            rooms.push(bucket.room(Some(placed.state), charge.cost(), now));
            all.push(placed);
        }
        let plan = planned(plan(charges.iter().zip(rooms.iter().copied())));
        for (index, (charge, placed)) in charges.iter().zip(&all).enumerate() {
            self.finish(charge, *placed, plan.writes(index), readings);
        }
        InPlace::Decided
    }

    /// A bucket and the place it was seen in, without a lock.
    #[inline(always)]
    fn see<'c>(&self, charge: &Charge<'c>) -> Option<(&'c Bucket, Slot)> {
        match charge.shape() {
            Shape::Bucket(bucket) => {
                self.buckets.table().glance(charge.digest()).map(|slot| (bucket, slot))
            }
            Shape::Quota(_) | Shape::Window(_) => None,
        }
    }

    /// The bucket in a locked place, if it still is the one that was seen there and was written
    /// under the numbers in force.
    #[inline(always)]
    fn placed<'t>(
        &'t self,
        charge: &Charge<'_>,
        bucket: &'t Bucket,
        slot: Slot,
        now: Timestamp,
    ) -> Option<Placed<'t>> {
        let entry = self.buckets.table().entry(slot)?;
        let head = self.epoch.unpack(entry.load());
        let same = entry.tag() == charge.digest() && head.stamp == charge.stamp().get();
        let state = bucket.refilled(Some(head.bucket()), now);
        same.then_some(Placed { bucket, entry, state })
    }

    /// Adds the reading, and writes the entry if that is planned.
    #[inline(always)]
    fn finish(
        &self,
        charge: &Charge<'_>,
        Placed { bucket, entry, state }: Placed<'_>,
        write: bool,
        readings: &mut Readings,
    ) {
        let (cost, now) = (charge.cost(), state.last);
        if !write {
            readings.push(bucket.look(Some(state), cost, now));
            return;
        }
        let (state, reading) = bucket.take(Some(state), cost, now);
        let stamp = charge.stamp().get();
        let head = Head { anchor: state.last, stamp, amount: state.level };
        entry.store(self.epoch.pack(head, state.last.after(reading.reset_after)));
        readings.push(reading);
    }
}
