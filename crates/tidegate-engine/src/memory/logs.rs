//! The tables of abuse logs: one for short logs, one for long ones.
//!
//! Most logs hold an attempt or two, and a flood makes millions of such; the longest is forty times as
//! large. So a log begins in a table of small entries, which holds up to two attempts and no block, and
//! moves to the other table when it outgrows that. A key is in one of them: to put it anywhere takes
//! the locks of all its groups in both.
//!
//! Groups of both tables are numbered together, those of long logs first.

use arrayvec::ArrayVec;
use tidegate_core::{Attempts, AttemptsState, Charge, MAX_LIMITS, Timestamp};

use super::entry::Epoch;
use super::log::{LOG, SHORT, SHORT_LOG};
use super::shares::Network;
use super::shelf::{Kept, Place, Places, Spot};
use super::sketch::{Owner, Sketch};
use super::table::Slot;
use crate::sync::AtomicU64;

/// Abuse logs, and the sketch for those that fit neither table.
#[derive(Debug)]
pub(crate) struct LogShelf {
    long: Places<LOG, LOG_WAYS>,
    short: Places<SHORT, 6>,
    sketch: Sketch<LOG>,
}

/// Long logs to a group.
pub(crate) const LOG_WAYS: usize = 7;

/// How many long logs there are for so many in all: one in 28, but of the first thousand every one.
pub(crate) fn long(keys: usize) -> usize {
    keys.div_ceil(28).max(keys.min(1_000))
}

/// What a charge will do to a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// It is looked at, or something is taken out of it.
    NoMore,
    /// An attempt is added.
    OneMore,
    /// It may be blocked.
    Long,
}

// === impl LogShelf ===

impl LogShelf {
    pub(crate) fn new(keys: usize, blocks: u32, cells_per_block: u32, salt: u64) -> Self {
        let long = long(keys);
        Self {
            // There are few of them for as many networks.
            long: Places::new(long, long / 2),
            short: Places::new(keys, keys),
            // Refused attempts are counted too, so a flood marks all its keys.
            sketch: Sketch::new(2 * keys, blocks, cells_per_block, salt),
        }
    }

    pub(crate) const fn sketch(&self) -> &Sketch<LOG> {
        &self.sketch
    }

    /// The long ones, which alone can be blocked.
    pub(crate) const fn long(&self) -> &Places<LOG, LOG_WAYS> {
        &self.long
    }

    pub(crate) fn bytes(&self) -> usize {
        self.long.bytes() + self.short.bytes() + self.sketch.bytes()
    }

    pub(crate) fn live(&self, epoch: Epoch, now: Timestamp) -> usize {
        self.long.table().live(epoch, now) + self.short.table().live(epoch, now)
    }

    pub(crate) fn glance(&self, digest: u64) -> Option<Slot> {
        let long = self.long.table().glance(digest);
        long.or_else(|| Some(self.outer(self.short.table().glance(digest)?)))
    }

    pub(crate) fn homes(&self, digest: u64) -> ArrayVec<u32, 4> {
        let short = self.short.table().homes(digest).map(|group| group + self.first_short());
        self.long.table().homes(digest).into_iter().chain(short).collect()
    }

    pub(crate) fn is_at(&self, slot: Slot, digest: u64) -> bool {
        match self.short_slot(slot) {
            Some(slot) => self.short.table().is_at(slot, digest),
            None => self.long.table().is_at(slot, digest),
        }
    }

    pub(crate) fn lock(&self, group: u32) -> &AtomicU64 {
        match group.checked_sub(self.first_short()) {
            Some(group) => self.short.table().lock(group),
            None => self.long.table().lock(group),
        }
    }

    /// Whether an entry may move, so that all groups of its key have to be locked.
    pub(crate) fn may_move(&self, slot: Slot) -> bool {
        self.short_slot(slot).is_some()
    }

    /// The spot of a log that was seen in this entry or in none, all groups of whose key are locked.
    pub(crate) fn spot(
        &self,
        (charge, attempts, need): (&Charge<'_>, &Attempts, Need),
        seen: Option<Slot>,
        (taken, network): (&[Slot], &dyn Fn() -> Network),
        (epoch, now): (Epoch, Timestamp),
    ) -> Spot {
        let held = match seen.map(|slot| (slot, self.short_slot(slot))) {
            Some((_, Some(short))) => epoch.held_in_short(&self.short.table().load(short)),
            Some((long, None)) => return Spot::at(Place::Entry(long)),
            None => 0,
        };
        let (outgrows, digest) = (outgrows(held, attempts, need), charge.digest());
        if let (Some(slot), false) = (seen, outgrows) {
            return Spot::at(Place::Entry(slot));
        }
        let network = network();
        let free = if outgrows {
            self.long.free(digest, taken, network, epoch, now)
        } else {
            let taken: ArrayVec<Slot, MAX_LIMITS> =
                taken.iter().filter_map(|slot| self.short_slot(*slot)).collect();
            let free = self.short.free(digest, &taken, network, epoch, now);
            free.map(|slot| self.outer(slot))
        };
        match (free, seen) {
            (Some(to), Some(from)) => Spot::at(Place::Moving(from, to, network)),
            (Some(slot), None) => self.sketch.newcomer(charge, slot, network),
            (None, outgrown) => Spot { outgrown, ..self.sketch.overflow(charge, network) },
        }
    }

    /// The state in a locked place; `unreadable` makes the one to assume of a cell that another limit
    /// has written.
    pub(crate) fn load(
        &self,
        place: Place,
        charge: &Charge<'_>,
        epoch: Epoch,
        unreadable: impl FnOnce(Timestamp) -> AttemptsState,
    ) -> Option<AttemptsState> {
        let cell = match place {
            // One that was counted in a cell stays there for as long as anything in it counts.
            Place::Newcomer(..) => return None,
            Place::Cell(cell) => cell,
            Place::Entry(slot) | Place::Moving(slot, ..) => return Some(self.read(slot, epoch)),
        };
        match self.sketch.kept(cell, Owner::of(charge)) {
            Kept::Nothing => None,
            Kept::Unreadable(at) => Some(unreadable(at)),
            Kept::Words(words) => Some(epoch.unpack_log(&words)),
        }
    }

    /// The state in a locked entry.
    pub(crate) fn read(&self, slot: Slot, epoch: Epoch) -> AttemptsState {
        match self.short_slot(slot) {
            Some(slot) => epoch.unpack_short(&self.short.table().load(slot)),
            None => epoch.unpack_log(&self.long.table().load(slot)),
        }
    }

    /// Writes the state in a locked place.
    pub(crate) fn store(
        &self,
        place: Place,
        charge: &Charge<'_>,
        state: &AttemptsState,
        fresh_at: Timestamp,
        (epoch, now): (Epoch, Timestamp),
    ) {
        let (digest, stamp) = (charge.digest(), charge.stamp().get());
        let long = || epoch.pack_log(state, stamp, charge.limit().id(), fresh_at, now);
        let slot = match place {
            Place::Cell(cell) => return self.sketch.write(cell, charge, long(), epoch, now),
            Place::Moving(from, to, network) => {
                self.long.give(to, digest, long(), network);
                return self.empty(from);
            }
            Place::Entry(slot) | Place::Newcomer(slot, ..) => slot,
        };
        match (self.short_slot(slot), place) {
            (None, Place::Newcomer(.., network)) => {
                self.long.give(slot, digest, long(), network);
            }
            (None, _) => self.long.table().store(slot, digest, long()),
            (Some(slot), Place::Newcomer(.., network)) => {
                let words = epoch.pack_short(state, stamp, fresh_at, now);
                self.short.give(slot, digest, words, network);
            }
            (Some(slot), _) => {
                let words = epoch.pack_short(state, stamp, fresh_at, now);
                self.short.table().store(slot, digest, words);
            }
        }
    }

    /// Makes a locked entry one that was never used.
    pub(crate) fn empty(&self, slot: Slot) {
        match self.short_slot(slot) {
            Some(slot) => self.short.empty(slot),
            None => self.long.empty(slot),
        }
    }

    fn first_short(&self) -> u32 {
        self.long.table().groups()
    }

    /// The number of a short entry among all.
    fn outer(&self, slot: Slot) -> Slot {
        Slot { group: slot.group + self.first_short(), ..slot }
    }

    /// The number of an entry among the short ones, if it is one.
    fn short_slot(&self, slot: Slot) -> Option<Slot> {
        let group = slot.group.checked_sub(self.first_short())?;
        Some(Slot { group, ..slot })
    }
}

/// Whether what comes may leave a log of so many attempts with more than fits a short one.
fn outgrows(held: usize, attempts: &Attempts, need: Need) -> bool {
    match need {
        Need::NoMore => false,
        Need::OneMore => held + 1 > SHORT_LOG || usize::from(attempts.temp().block_at) <= held + 1,
        Need::Long => true,
    }
}
