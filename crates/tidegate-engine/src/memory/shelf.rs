//! The table of one shape, and the sketch for keys that do not fit it.

use arrayvec::ArrayVec;
use tidegate_core::{Charge, Timestamp};

use super::entry::Epoch;
use super::shares::{NetworkDigest, NetworkShares};
use super::sketch::{Cell, Owner, Sketch, StoredWords};
use super::table::{Slot, Table, release, try_acquire};
use crate::sync::AtomicU64;

/// The counters of one shape.
#[derive(Debug)]
pub(crate) struct Shelf<const WORDS: usize, const WAYS: usize> {
    places: Places<WORDS, WAYS>,
    sketch: Sketch<WORDS>,
}

/// A table whose places are shared out between networks.
#[derive(Debug)]
pub(crate) struct Places<const WORDS: usize, const WAYS: usize> {
    table: Table<WORDS, WAYS>,
    shares: NetworkShares,
}

/// Where a charge is counted, and what has to be done before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spot {
    pub(crate) place: Place,
    /// The cell of the client's network, in which a key without an entry is counted too.
    pub(crate) beside: Option<Cell>,
    /// The entry that the key has outgrown without finding another: its content goes into the cell.
    pub(crate) outgrown: Option<Slot>,
}

/// Where the state of a counter is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    /// In its own entry.
    Entry(Slot),
    /// In an entry that it will take over. If the key may have been counted in a cell before, it
    /// begins with the state of that cell.
    Newcomer(Slot, Option<Cell>, NetworkDigest),
    /// In the first entry, which is too small for what comes, and afterwards in the second.
    Moving(Slot, Slot, NetworkDigest),
    /// In a cell that it shares with other keys.
    Cell(Cell),
}

/// Groups that every newcomer looks through for unused places to take back, when places are scarce.
/// So only a few places in a hundred are given away without being used.
const LOOKED_THROUGH: u32 = 8;

// === impl Places ===

impl<const WORDS: usize, const WAYS: usize> Places<WORDS, WAYS> {
    /// A table for `keys` keys, of which the first `open` get places whatever network they come
    /// from.
    pub(crate) fn new(keys: usize, open: usize) -> Self {
        let table = Table::new(keys);
        let shares = NetworkShares::new(open, table.groups() as usize * WAYS, WAYS);
        Self { table, shares }
    }

    pub(crate) const fn table(&self) -> &Table<WORDS, WAYS> {
        &self.table
    }

    pub(crate) fn bytes(&self) -> usize {
        self.table.bytes() + self.shares.bytes()
    }

    /// A place for a key of this network, unless the network has used up its share. The key is not
    /// in the table, and both its groups are locked. Places in `taken` belong to other keys of the
    /// decision.
    pub(crate) fn free(
        &self,
        digest: u64,
        taken: &[Slot],
        network: NetworkDigest,
        epoch: Epoch,
        now: Timestamp,
    ) -> Option<Slot> {
        self.take_back_some(epoch, now);
        self.table.free(digest, taken, epoch, now).filter(|_| self.shares.grants(network))
    }

    /// Writes a locked entry. `given` is the network that it is given to, if the key had no entry
    /// before.
    #[inline]
    pub(crate) fn put(
        &self,
        slot: Slot,
        digest: u64,
        words: [u64; WORDS],
        given: Option<NetworkDigest>,
    ) {
        self.table.store(slot, digest, words);
        if given.is_some() {
            self.shares.hand_over(Self::number(slot), given);
        }
    }

    /// Empties a locked entry, as if it had never been used.
    pub(crate) fn empty(&self, slot: Slot) {
        self.table.empty(slot);
        self.shares.hand_over(Self::number(slot), None);
    }

    /// Takes back some places whose entries no longer count. Groups that are locked are left for
    /// the next time.
    fn take_back_some(&self, epoch: Epoch, now: Timestamp) {
        for group in self.shares.next(LOOKED_THROUGH, u64::from(self.table.groups())) {
            let lock = self.table.lock(group);
            if try_acquire(lock) {
                for slot in self.table.fresh(group, epoch, now) {
                    self.shares.hand_over(Self::number(slot), None);
                }
                release(lock);
            }
        }
    }

    const fn number(slot: Slot) -> usize {
        slot.group as usize * WAYS + slot.way as usize
    }
}

// === impl Shelf ===

impl<const WORDS: usize, const WAYS: usize> Shelf<WORDS, WAYS> {
    pub(crate) fn new(keys: usize, blocks: u32, cells_per_block: u32, salt: u64) -> Self {
        let sketch = Sketch::new(keys, blocks, cells_per_block, salt);
        Self { places: Places::new(keys, keys), sketch }
    }

    pub(crate) const fn table(&self) -> &Table<WORDS, WAYS> {
        &self.places.table
    }

    pub(crate) const fn sketch(&self) -> &Sketch<WORDS> {
        &self.sketch
    }

    pub(crate) fn bytes(&self) -> usize {
        self.places.bytes() + self.sketch.bytes()
    }

    pub(crate) fn live(&self, epoch: Epoch, now: Timestamp) -> usize {
        self.table().live(epoch, now)
    }

    #[inline]
    pub(crate) fn glance(&self, digest: u64) -> Option<Slot> {
        self.table().glance(digest)
    }

    #[inline]
    pub(crate) fn homes(&self, digest: u64) -> ArrayVec<u32, 6> {
        self.table().homes(digest).into_iter().collect()
    }

    #[inline]
    pub(crate) fn is_at(&self, slot: Slot, digest: u64) -> bool {
        self.table().is_at(slot, digest)
    }

    #[inline]
    pub(crate) fn lock(&self, group: u32) -> &AtomicU64 {
        self.table().lock(group)
    }

    pub(crate) fn empty(&self, slot: Slot) {
        self.places.empty(slot);
    }

    /// Finds a spot for a key that is not in the table and both of whose groups are locked. Places
    /// in `taken` belong to other keys of the decision.
    pub(crate) fn new_spot(
        &self,
        charge: &Charge<'_>,
        taken: &[Slot],
        network: NetworkDigest,
        epoch: Epoch,
        now: Timestamp,
    ) -> Spot {
        match self.places.free(charge.digest(), taken, network, epoch, now) {
            Some(slot) => self.sketch.newcomer(charge, slot, network),
            None => self.sketch.overflow(charge, network),
        }
    }

    /// The state in a locked place.
    #[inline]
    pub(crate) fn load(&self, place: Place, charge: &Charge<'_>) -> StoredWords<WORDS> {
        match place {
            Place::Entry(slot) | Place::Moving(slot, ..) => {
                StoredWords::Words(self.table().load(slot))
            }
            Place::Newcomer(_, None, _) => StoredWords::Nothing,
            Place::Newcomer(_, Some(cell), _) | Place::Cell(cell) => {
                self.sketch.load(cell, Owner::of(charge))
            }
        }
    }

    /// Writes the state in a locked place.
    #[inline]
    pub(crate) fn store(
        &self,
        place: Place,
        charge: &Charge<'_>,
        words: [u64; WORDS],
        epoch: Epoch,
        now: Timestamp,
    ) {
        match place {
            Place::Entry(slot) => self.places.put(slot, charge.digest(), words, None),
            Place::Newcomer(slot, _, network) | Place::Moving(_, slot, network) => {
                self.places.put(slot, charge.digest(), words, Some(network));
            }
            Place::Cell(cell) => self.sketch.store(cell, charge, words, epoch, now),
        }
    }
}

// === impl Sketch ===

impl<const WORDS: usize> Sketch<WORDS> {
    /// The spot of a key that takes over a free entry.
    pub(crate) fn newcomer(&self, charge: &Charge<'_>, slot: Slot, network: NetworkDigest) -> Spot {
        let owner = Owner::of(charge);
        let cell = self.cell_that_counted(owner, charge.digest());
        // If the key has to stay in its cell, the cell of its network is needed too.
        let beside = cell.and_then(|_| self.cell_of(owner, network));
        Spot { beside, ..Spot::at(Place::Newcomer(slot, cell, network)) }
    }

    /// The spot of a key that finds no free entry.
    pub(crate) fn overflow(&self, charge: &Charge<'_>, network: NetworkDigest) -> Spot {
        let owner = Owner::of(charge);
        let beside = self.cell_of(owner, network);
        Spot { beside, ..Spot::at(Place::Cell(self.cell(owner, charge.digest()))) }
    }
}

// === impl Spot ===

impl Spot {
    pub(crate) const fn at(place: Place) -> Self {
        Self { place, beside: None, outgrown: None }
    }

    /// The entry that holds the counter, or will hold it.
    pub(crate) const fn slot(self) -> Option<Slot> {
        match self.place {
            Place::Entry(slot) | Place::Newcomer(slot, ..) | Place::Moving(_, slot, _) => {
                Some(slot)
            }
            Place::Cell(_) => None,
        }
    }

    /// The cells that have to be locked for this spot.
    pub(crate) fn cells(self) -> impl Iterator<Item = Cell> {
        let own = match self.place {
            Place::Entry(_) | Place::Moving(..) => None,
            Place::Newcomer(_, cell, _) => cell,
            Place::Cell(cell) => Some(cell),
        };
        own.into_iter().chain(self.beside)
    }
}
