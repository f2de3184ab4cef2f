//! The short way, which most decisions take: buckets and quotas, all of them seen in their places
//! and written under the numbers in force.
//!
//! It is the protocol of `table.rs` and the plan of every store, without what only newcomers,
//! overflow, windows and reloads need. Whatever does not fit goes the long way, in `commit.rs`; the
//! tests hold both to the same model.

use arrayvec::ArrayVec;
use tidegate_core::{
    Bucket, Charge, Clock, Cost, MAX_LIMITS, Periods, Readings, Room, Shape, ShapeKind, Stale,
    Timestamp, WritePlan, plan,
};

use super::entry::EntryHead;
use super::locks::{HeldLock, insert};
use super::step::Shelves;
use super::table::Entry;

/// How the short way ended.
pub(crate) enum InPlace {
    /// The decision was made: the readings are there, and what was planned is written.
    Decided,
    /// The short way is not for this batch; the clock has not been read.
    Not,
    /// An entry has changed since it was seen, or a period is stale; the clock has been read,
    /// nothing is written.
    NoLonger,
}

/// A counter that is locked in its place.
#[derive(Clone, Copy)]
struct Placed<'t> {
    entry: Entry<'t>,
    head: EntryHead,
}

/// What is done to a counter in its place.
#[derive(Clone, Copy)]
enum Act {
    /// It is charged.
    Take,
    /// It is only looked at, and has this room.
    Look(Room),
}

// === impl Shelves ===

impl Shelves {
    #[inline(always)]
    pub(crate) fn commit_in_place(
        &self,
        charges: &[Charge<'_>],
        clock: &impl Clock,
        readings: &mut Readings,
        planned: impl Fn(WritePlan) -> WritePlan,
    ) -> InPlace {
        let [charge] = charges else {
            return self.several_in_place(charges, clock, readings, planned);
        };
        let Shape::Bucket(bucket) = charge.shape() else {
            return self.several_in_place(charges, clock, readings, planned);
        };
        let seen = self.buckets.table().sight(charge.digest());
        let Some((_, lock, entry)) = seen else { return InPlace::Not };
        let now = self.epoch.clamp(clock.now());
        readings.begin(now);
        let _held = HeldLock::new(lock);
        let Some(mut placed) = self.placed(charge, entry) else { return InPlace::NoLonger };
        let room = placed.refill(bucket, charge.cost(), now);
        let plan = planned(plan(core::iter::once((charge, room))));
        let act = if plan.writes(0) { Act::Take } else { Act::Look(room) };
        self.finish_bucket(charge.cost(), placed, bucket, act, readings);
        InPlace::Decided
    }

    #[inline(never)]
    fn several_in_place(
        &self,
        charges: &[Charge<'_>],
        clock: &impl Clock,
        readings: &mut Readings,
        planned: impl Fn(WritePlan) -> WritePlan,
    ) -> InPlace {
        let mut seen: ArrayVec<Entry<'_>, MAX_LIMITS> = ArrayVec::new();
        let mut groups: ArrayVec<(ShapeKind, u32), MAX_LIMITS> = ArrayVec::new();
        for charge in charges {
            let shelf = match charge.shape() {
                Shape::Bucket(_) => &self.buckets,
                Shape::Quota(_) => &self.quotas,
                _ => return InPlace::Not,
            };
            let sight = shelf.table().sight(charge.digest());
            let Some((slot, _, entry)) = sight else { return InPlace::Not };
            seen.push(entry);
            insert(&mut groups, (charge.shape().kind(), slot.group));
        }
        let now = self.epoch.clamp(clock.now());
        readings.begin(now);
        let mut held: ArrayVec<HeldLock<'_>, MAX_LIMITS> = ArrayVec::new();
        for group in &groups {
            held.push(HeldLock::new(self.group_lock(*group)));
        }
        let mut all: ArrayVec<(Placed<'_>, Option<Periods>, Room), MAX_LIMITS> = ArrayVec::new();
        for (charge, entry) in charges.iter().zip(&seen) {
            let Some(mut placed) = self.placed(charge, *entry) else { return InPlace::NoLonger };
            // Read once, so that the room and the charge speak of the same periods.
            let periods = charge.periods();
            // The long way finds a stale period too, and reports it.
            let Ok(room) = placed.room(charge, now, periods.as_ref()) else {
                return InPlace::NoLonger;
            };
            all.push((placed, periods, room));
        }
        let plan = planned(plan(charges.iter().zip(all.iter().map(|(_, _, room)| *room))));
        for (index, (charge, (placed, periods, room))) in charges.iter().zip(&all).enumerate() {
            let act = if plan.writes(index) { Act::Take } else { Act::Look(*room) };
            // Nothing is stale here: the room was found at the same time.
            let _ = self.finish(charge, *placed, periods.as_ref(), act, readings);
        }
        InPlace::Decided
    }

    /// The counter in a locked entry, if it still is the one that was seen there and was written under
    /// the numbers in force.
    #[inline(always)]
    fn placed<'t>(&self, charge: &Charge<'_>, entry: Entry<'t>) -> Option<Placed<'t>> {
        let head = self.epoch.unpack(entry.load());
        let readable = head.stamp == charge.stamp().get();
        (readable && entry.tag() == charge.digest()).then_some(Placed { entry, head })
    }

    /// Adds the reading, and writes the entry if that is planned.
    #[inline(always)]
    fn finish(
        &self,
        charge: &Charge<'_>,
        placed: Placed<'_>,
        periods: Option<&Periods>,
        act: Act,
        readings: &mut Readings,
    ) -> Result<(), Stale> {
        let (cost, now, state) = (charge.cost(), readings.decided_at(), placed.head.quota());
        match charge.shape() {
            Shape::Bucket(bucket) => self.finish_bucket(cost, placed, bucket, act, readings),
            Shape::Quota(quota) if matches!(act, Act::Take) => {
                let (state, reading) = quota.take(Some(state), cost, now, periods)?;
                let head = EntryHead { anchor: state.start, amount: state.used, ..placed.head };
                placed.entry.store(self.epoch.pack(head, state.end));
                readings.push(reading);
            }
            Shape::Quota(quota) => readings.push(quota.look(Some(state), cost, now, periods)?),
            _ => {}
        }
        Ok(())
    }

    #[inline(always)]
    fn finish_bucket(
        &self,
        cost: Cost,
        placed: Placed<'_>,
        bucket: &Bucket,
        act: Act,
        readings: &mut Readings,
    ) {
        let (now, refilled) = (readings.decided_at(), placed.head.bucket());
        if let Act::Look(room) = act {
            readings.push(bucket.look_in(refilled, room, now));
            return;
        }
        let (state, reading) = bucket.take_in(refilled, cost, now);
        let head = EntryHead { anchor: state.last, amount: state.level, ..placed.head };
        placed.entry.store(self.epoch.pack_living(head, bucket.time_to_full(state)));
        readings.push(reading);
    }
}

// === impl Placed ===

impl Placed<'_> {
    /// The room for a charge. Refills a bucket up to `now`.
    #[inline(always)]
    fn room(
        &mut self,
        charge: &Charge<'_>,
        now: Timestamp,
        periods: Option<&Periods>,
    ) -> Result<Room, Stale> {
        match charge.shape() {
            Shape::Bucket(bucket) => Ok(self.refill(bucket, charge.cost(), now)),
            Shape::Quota(quota) => quota.room(Some(self.head.quota()), charge.cost(), now, periods),
            // Other shapes are never in place; if one were, nothing would be admitted.
            _ => Ok(Room::Never),
        }
    }

    #[inline(always)]
    fn refill(&mut self, bucket: &Bucket, cost: Cost, now: Timestamp) -> Room {
        let state = bucket.refilled(Some(self.head.bucket()), now);
        (self.head.anchor, self.head.amount) = (state.last, state.level);
        bucket.room_in(state, cost, now)
    }
}
