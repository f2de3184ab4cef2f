//! The tables of abuse logs: short, middle and long ones.
//!
//! Most logs hold a few attempts, and a flood makes millions of them; the longest log is thirty
//! times as large. So a log begins in a table of small entries, which hold up to four attempts (two
//! with their members) and no block: what a person who has mistyped a password needs. When it
//! outgrows that, it moves to the next table. Middle logs hold the blocks of most limits, long ones
//! what a busy address needs. The addresses of a flood fill the larger tables, and leave the small
//! entries to people.
//!
//! A key is in one of the three tables only: to put it anywhere takes the locks of all its groups
//! in all three. Their groups are numbered together, those of long logs first and those of short
//! ones last.

use std::borrow::Cow;

use arrayvec::ArrayVec;
use tidegate_core::{Attempts, AttemptsState, Charge, MAX_LIMITS, Timestamp};

use super::entry::Epoch;
use super::log::{LOG, MIDDLE, MIDDLE_LOG, SHORT, SHORT_LOG, SHORT_WITH_MEMBERS};
use super::shares::NetworkDigest;
use super::shelf::{Place, Places, Spot};
use super::sketch::{Owner, Sketch, StoredWords};
use super::table::Slot;
use crate::sync::AtomicU64;

/// Abuse logs, and the sketch for those that fit no table.
#[derive(Debug)]
pub(crate) struct LogShelf {
    long: Places<LOG, LOG_WAYS>,
    middle: Places<MIDDLE, LOG_WAYS>,
    short: Places<SHORT, 6>,
    sketch: Sketch<LOG>,
}

/// Entries in a group of long or of middle logs.
pub(crate) const LOG_WAYS: usize = 7;

/// How many long and how many middle logs there are for `keys` logs in all: 1 and 12 in a hundred,
/// but of each at least `keys` or a thousand, whichever is less.
pub(crate) fn longer(keys: usize) -> [usize; 2] {
    [keys.div_ceil(100), keys.saturating_mul(12).div_ceil(100)].map(|it| it.max(keys.min(1_000)))
}

/// What will be done to a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// The log is looked at, or attempts are taken out of it.
    NoMore,
    /// An attempt is added.
    OneMore,
    /// An operator may block the key.
    Block,
}

/// The size of an entry, which tells in which table it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Size {
    Short,
    Middle,
    Long,
}

// === impl LogShelf ===

impl LogShelf {
    pub(crate) fn new(keys: usize, blocks: u32, cells_per_block: u32, salt: u64) -> Self {
        let [long, middle] = longer(keys);
        Self {
            // There are fewer large entries, but as many networks: sharing out begins at half the keys.
            long: Places::new(long, long / 2),
            middle: Places::new(middle, middle / 2),
            short: Places::new(keys, keys),
            // Refused attempts are counted too, so a flood marks all its keys.
            sketch: Sketch::new(2 * keys, blocks, cells_per_block, salt),
        }
    }

    pub(crate) const fn sketch(&self) -> &Sketch<LOG> {
        &self.sketch
    }

    pub(crate) fn bytes(&self) -> usize {
        let tables = self.long.bytes() + self.middle.bytes() + self.short.bytes();
        tables + self.sketch.bytes()
    }

    pub(crate) fn live(&self, epoch: Epoch, now: Timestamp) -> usize {
        let long = self.long.table().live(epoch, now) + self.middle.table().live(epoch, now);
        long + self.short.table().live(epoch, now)
    }

    pub(crate) fn glance(&self, digest: u64) -> Option<Slot> {
        let short = || self.short.table().glance(digest).map(|slot| self.outer(Size::Short, slot));
        self.glance_blockable(digest).or_else(short)
    }

    /// The entry of a key, if it is in one that can hold a block.
    pub(crate) fn glance_blockable(&self, digest: u64) -> Option<Slot> {
        let middle = || self.middle.table().glance(digest);
        let middle = || middle().map(|slot| self.outer(Size::Middle, slot));
        self.long.table().glance(digest).or_else(middle)
    }

    pub(crate) fn homes(&self, digest: u64) -> ArrayVec<u32, 6> {
        let of = |size, homes: [u32; 2]| homes.map(|group| group + self.first(size));
        let long = of(Size::Long, self.long.table().homes(digest));
        let middle = of(Size::Middle, self.middle.table().homes(digest));
        let short = of(Size::Short, self.short.table().homes(digest));
        [long, middle, short].into_iter().flatten().collect()
    }

    pub(crate) fn is_at(&self, slot: Slot, digest: u64) -> bool {
        match self.inner(slot) {
            (Size::Short, slot) => self.short.table().is_at(slot, digest),
            (Size::Middle, slot) => self.middle.table().is_at(slot, digest),
            (Size::Long, slot) => self.long.table().is_at(slot, digest),
        }
    }

    pub(crate) fn lock(&self, group: u32) -> &AtomicU64 {
        match self.inner(Slot { group, way: 0 }) {
            (Size::Short, slot) => self.short.table().lock(slot.group),
            (Size::Middle, slot) => self.middle.table().lock(slot.group),
            (Size::Long, slot) => self.long.table().lock(slot.group),
        }
    }

    /// Whether an entry may move, so that all groups of its key have to be locked.
    pub(crate) fn may_move(&self, slot: Slot) -> bool {
        self.inner(slot).0 != Size::Long
    }

    /// The spot of a log; `seen` is the entry that its key was seen in, if any. All groups of the
    /// key are locked.
    pub(crate) fn spot(
        &self,
        (charge, attempts, need): (&Charge<'_>, &Attempts, Need),
        seen: Option<Slot>,
        (taken, network): (&[Slot], &dyn Fn() -> NetworkDigest),
        (epoch, now): (Epoch, Timestamp),
    ) -> Spot {
        let held = seen.map_or((0, 1), |slot| self.held(slot, epoch));
        let wanted = size(held, (charge.member() != 0, attempts), need);
        if let Some(slot) = seen.filter(|slot| self.inner(*slot).0 >= wanted) {
            return Spot::at(Place::Entry(slot));
        }
        let (digest, network) = (charge.digest(), network());
        let taken = taken.iter().map(|slot| self.inner(*slot));
        let taken = taken.filter_map(|(size, slot)| (size == wanted).then_some(slot));
        let taken: ArrayVec<Slot, MAX_LIMITS> = taken.collect();
        let free = match wanted {
            Size::Short => self.short.free(digest, &taken, network, epoch, now),
            Size::Middle => self.middle.free(digest, &taken, network, epoch, now),
            Size::Long => self.long.free(digest, &taken, network, epoch, now),
        };
        match (free.map(|slot| self.outer(wanted, slot)), seen) {
            (Some(to), Some(from)) => Spot::at(Place::Moving(from, to, network)),
            (Some(slot), None) => self.sketch.newcomer(charge, slot, network),
            // A blocked log stays where it is: a refused attempt adds nothing to it, and a cell has
            // no blocks.
            (None, Some(slot)) if self.is_blocked(slot, epoch, now) => Spot::at(Place::Entry(slot)),
            (None, seen) => {
                // Only an attempt goes on in the cell; an operator is told that there is no place.
                let outgrown = seen.filter(|_| need == Need::OneMore);
                Spot { outgrown, ..self.sketch.overflow(charge, network) }
            }
        }
    }

    /// The state in a locked place; `unreadable` makes the state to assume for a cell that another
    /// limit has written.
    pub(crate) fn load(
        &self,
        place: Place,
        charge: &Charge<'_>,
        epoch: Epoch,
        unreadable: impl FnOnce(Timestamp) -> AttemptsState,
    ) -> Option<AttemptsState> {
        let cell = match place {
            // A log that was counted in a cell stays there for as long as anything in the cell
            // counts.
            Place::Newcomer(..) => return None,
            Place::Cell(cell) => cell,
            Place::Entry(slot) | Place::Moving(slot, ..) => return Some(self.read(slot, epoch)),
        };
        match self.sketch.load(cell, Owner::of(charge)) {
            StoredWords::Nothing => None,
            StoredWords::Unreadable(at) => Some(unreadable(at)),
            StoredWords::Words(words) => Some(epoch.unpack_log(&words)),
        }
    }

    /// The state in a locked entry.
    pub(crate) fn read(&self, slot: Slot, epoch: Epoch) -> AttemptsState {
        match self.words(slot) {
            Ok(words) => epoch.unpack_log(&words),
            Err(short) => epoch.unpack_short(&short),
        }
    }

    /// The words of a locked entry: those of a long or a middle log, or those of a short one.
    pub(crate) fn words(&self, slot: Slot) -> Result<[u64; LOG], [u64; SHORT]> {
        match self.inner(slot) {
            (Size::Short, slot) => Err(self.short.table().load(slot)),
            (Size::Middle, slot) => {
                let mut words = [0; LOG];
                words[..MIDDLE].copy_from_slice(&self.middle.table().load(slot));
                Ok(words)
            }
            (Size::Long, slot) => Ok(self.long.table().load(slot)),
        }
    }

    fn is_blocked(&self, slot: Slot, epoch: Epoch, now: Timestamp) -> bool {
        let words = self.words(slot).ok();
        let block = words.and_then(|words| epoch.unpack_block(&words).1);
        block.is_some_and(|block| block.holds(now))
    }

    /// How many attempts a locked entry holds, and in how many words each.
    fn held(&self, slot: Slot, epoch: Epoch) -> (usize, usize) {
        match self.words(slot) {
            Ok(words) => epoch.held(&words),
            Err(short) => (epoch.held_in_short(&short), 1),
        }
    }

    /// Writes the state in a locked place. An empty state frees its entry, so that its network has
    /// one place less at once.
    pub(crate) fn store(
        &self,
        place: Place,
        charge: &Charge<'_>,
        state: &AttemptsState,
        fresh_at: Timestamp,
        (epoch, now): (Epoch, Timestamp),
    ) {
        let (digest, stamp) = (charge.digest(), charge.stamp().get());
        let limit = charge.limit().id();
        let long = || epoch.pack_log(state, stamp, limit, fresh_at, now);
        let (slot, given) = match place {
            Place::Cell(cell) => return self.sketch.store(cell, charge, long(), epoch, now),
            Place::Entry(slot) | Place::Moving(slot, ..)
                if state.attempts().is_empty() && state.block().is_none() =>
            {
                return self.empty(slot);
            }
            Place::Moving(from, to, network) => {
                self.empty(from);
                (to, Some(network))
            }
            Place::Newcomer(slot, _, network) => (slot, Some(network)),
            Place::Entry(slot) => (slot, None),
        };
        match self.inner(slot) {
            (Size::Short, slot) => {
                let words = epoch.pack_short(state, stamp, fresh_at, now);
                self.short.put(slot, digest, words, given);
            }
            (Size::Middle, _) => {
                let words = epoch.pack_log(&fitting(state), stamp, limit, fresh_at, now);
                self.put(slot, digest, &words, given);
            }
            (Size::Long, _) => self.put(slot, digest, &long(), given),
        }
    }

    /// Writes a locked entry of a long or a middle log.
    pub(crate) fn put(
        &self,
        slot: Slot,
        digest: u64,
        words: &[u64; LOG],
        given: Option<NetworkDigest>,
    ) {
        match self.inner(slot) {
            (Size::Long, slot) => self.long.put(slot, digest, *words, given),
            (_, slot) => {
                let words = core::array::from_fn(|word| words[word]);
                self.middle.put(slot, digest, words, given);
            }
        }
    }

    /// Empties a locked entry, as if it had never been used.
    pub(crate) fn empty(&self, slot: Slot) {
        match self.inner(slot) {
            (Size::Short, slot) => self.short.empty(slot),
            (Size::Middle, slot) => self.middle.empty(slot),
            (Size::Long, slot) => self.long.empty(slot),
        }
    }

    /// How many groups have entries that can hold a block: those of long and middle logs, which
    /// come first.
    pub(crate) fn blockable(&self) -> u32 {
        self.first(Size::Short)
    }

    /// The entries of a locked group of long or middle logs, each with the digest of its key; zero
    /// if it has none.
    pub(crate) fn tags(&self, group: u32) -> ArrayVec<(Slot, u64), LOG_WAYS> {
        match self.inner(Slot { group, way: 0 }) {
            (Size::Long, slot) => self.long.table().tags(slot.group).collect(),
            (_, slot) => {
                let tags = self.middle.table().tags(slot.group);
                tags.map(|(slot, tag)| (self.outer(Size::Middle, slot), tag)).collect()
            }
        }
    }

    /// The number of a table's first group among the groups of all three tables.
    fn first(&self, size: Size) -> u32 {
        match size {
            Size::Long => 0,
            Size::Middle => self.long.table().groups(),
            Size::Short => self.long.table().groups() + self.middle.table().groups(),
        }
    }

    /// The slot of an entry, with its group numbered among those of all three tables.
    fn outer(&self, size: Size, slot: Slot) -> Slot {
        Slot { group: slot.group + self.first(size), ..slot }
    }

    /// The table of an entry, and its slot in that table.
    fn inner(&self, slot: Slot) -> (Size, Slot) {
        let sizes = [Size::Short, Size::Middle];
        let size = sizes.into_iter().find(|size| slot.group >= self.first(*size));
        let size = size.unwrap_or(Size::Long);
        (size, Slot { group: slot.group - self.first(size), ..slot })
    }
}

/// The part of a state that a middle log holds: all of it, except the oldest attempts of a log that
/// is blocked and that a reload has made longer.
fn fitting(state: &AttemptsState) -> Cow<'_, AttemptsState> {
    let attempts = state.attempts();
    let has_members = attempts.iter().any(|attempt| attempt.member != 0);
    let most = if has_members { MIDDLE_LOG / 2 } else { MIDDLE_LOG };
    let Some(excess) = attempts.len().checked_sub(most).filter(|excess| *excess > 0) else {
        return Cow::Borrowed(state);
    };
    // The attempts are in order, as they have to be.
    let newest = AttemptsState::restored(attempts[excess..].iter().copied(), state.block());
    Cow::Owned(newest.unwrap_or_default())
}

/// The size of the entry that a log of `held` attempts, of `width` words each, needs after what is
/// done to it. If a limit keeps more than a middle log holds, its blocks are in long ones.
fn size(
    (held, width): (usize, usize),
    (has_members, attempts): (bool, &Attempts),
    need: Need,
) -> Size {
    let keeps = usize::from(attempts.keeps());
    let (held, may_block) = match need {
        Need::NoMore => return Size::Short,
        Need::OneMore => (keeps.min(held + 1), usize::from(attempts.temp().block_at) <= held + 1),
        Need::Block => (held, true),
    };
    let width = width.max(1 + usize::from(has_members));
    let short = if width > 1 { SHORT_WITH_MEMBERS } else { SHORT_LOG };
    let fits = |count: usize| count * width <= MIDDLE_LOG;
    match (may_block, fits(held)) {
        (false, _) if held <= short => Size::Short,
        (false, true) => Size::Middle,
        (true, true) if fits(keeps) => Size::Middle,
        _ => Size::Long,
    }
}
