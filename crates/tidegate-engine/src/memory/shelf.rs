//! The table of one shape, and the sketch for what does not fit it.

use arrayvec::ArrayVec;
use tidegate_core::{Charge, Timestamp};

use super::entry::Epoch;
use super::shares::{Network, Shares};
use super::sketch::{Cell, Content, Owner, Sketch};
use super::table::{Slot, Table, release, try_acquire};
use crate::sync::AtomicU64;

/// Counters of one shape.
#[derive(Debug)]
pub(crate) struct Shelf<const WORDS: usize, const WAYS: usize> {
    places: Places<WORDS, WAYS>,
    sketch: Sketch<WORDS>,
}

/// A table whose places are shared out between networks.
#[derive(Debug)]
pub(crate) struct Places<const WORDS: usize, const WAYS: usize> {
    table: Table<WORDS, WAYS>,
    shares: Shares,
}

/// Where a charge is counted, and what has to be done before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spot {
    pub(crate) place: Place,
    /// The cell of its network, where the charge is counted too: of a key that has no place.
    pub(crate) beside: Option<Cell>,
    /// The entry of a key that has outgrown it and found no other: what is in it goes into the cell.
    pub(crate) outgrown: Option<Slot>,
}

/// Where the state of a counter is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    /// In its entry.
    Entry(Slot),
    /// In an entry it will take over. If the key may have been counted in this cell before, it begins
    /// with its state.
    Newcomer(Slot, Option<Cell>, Network),
    /// In an entry that is too small for what comes, and then in the other one.
    Moving(Slot, Slot, Network),
    /// In a cell, with others.
    Cell(Cell),
}

/// The state found in a place.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kept<const WORDS: usize> {
    /// As if never seen.
    Nothing,
    /// The words of an entry or a cell.
    Words([u64; WORDS]),
    /// Unreadable, and last written then.
    Unreadable(Timestamp),
}

/// Groups that every newcomer looks through for places to take back, when they are scarce: so that only a
/// few in a hundred are on the books without being used.
const LOOKED_THROUGH: u32 = 8;

// === impl Places ===

impl<const WORDS: usize, const WAYS: usize> Places<WORDS, WAYS> {
    /// For so many keys, of which the first `open` get their places whatever network they come from.
    pub(crate) fn new(keys: usize, open: usize) -> Self {
        let table = Table::new(keys);
        let shares = Shares::new(open, table.groups() as usize * WAYS, WAYS);
        Self { table, shares }
    }

    pub(crate) const fn table(&self) -> &Table<WORDS, WAYS> {
        &self.table
    }

    pub(crate) fn bytes(&self) -> usize {
        self.table.bytes() + self.shares.bytes()
    }

    /// A place for a key of this network that is not in the table, both of whose groups are locked,
    /// unless the network has its share. Places in `taken` are those of other keys of the decision.
    pub(crate) fn free(
        &self,
        digest: u64,
        taken: &[Slot],
        network: Network,
        epoch: Epoch,
        now: Timestamp,
    ) -> Option<Slot> {
        self.take_back_some(epoch, now);
        self.table.free(digest, taken, epoch, now).filter(|_| self.shares.grants(network))
    }

    /// Writes a locked entry; if it is given to a network, the key had none before.
    #[inline]
    pub(crate) fn put(&self, slot: Slot, digest: u64, words: [u64; WORDS], given: Option<Network>) {
        self.table.store(slot, digest, words);
        if let Some(network) = given {
            self.shares.give(Self::number(slot), network);
        }
    }

    /// Makes a locked entry one that was never used.
    pub(crate) fn empty(&self, slot: Slot) {
        self.table.empty(slot);
        self.shares.take_back(Self::number(slot));
    }

    /// Takes some places off the books that are as good as none. Groups that are locked are left for
    /// the next time.
    fn take_back_some(&self, epoch: Epoch, now: Timestamp) {
        for group in self.shares.next(LOOKED_THROUGH, u64::from(self.table.groups())) {
            let lock = self.table.lock(group);
            if try_acquire(lock) {
                for slot in self.table.fresh(group, epoch, now) {
                    self.shares.take_back(Self::number(slot));
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

    /// Finds a spot for a key that is not in the table, both of whose groups are locked. Places in
    /// `taken` are those of other keys of the decision.
    pub(crate) fn settle_on(
        &self,
        charge: &Charge<'_>,
        taken: &[Slot],
        network: Network,
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
    pub(crate) fn load(&self, place: Place, charge: &Charge<'_>) -> Kept<WORDS> {
        match place {
            Place::Entry(slot) | Place::Moving(slot, ..) => Kept::Words(self.table().load(slot)),
            Place::Newcomer(_, None, _) => Kept::Nothing,
            Place::Newcomer(_, Some(cell), _) | Place::Cell(cell) => {
                self.sketch.kept(cell, Owner::of(charge))
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
            Place::Cell(cell) => self.sketch.write(cell, charge, words, epoch, now),
        }
    }
}

// === impl Sketch ===

impl<const WORDS: usize> Sketch<WORDS> {
    /// The spot of a key that takes a place over.
    pub(crate) fn newcomer(&self, charge: &Charge<'_>, slot: Slot, network: Network) -> Spot {
        let owner = Owner::of(charge);
        let cell = self.cell_that_counted(owner, charge.digest());
        // If it has to stay in its cell, that of its network is needed too.
        let beside = cell.and_then(|_| self.cell_of(owner, network));
        Spot { beside, ..Spot::at(Place::Newcomer(slot, cell, network)) }
    }

    /// The spot of a key that finds no place.
    pub(crate) fn overflow(&self, charge: &Charge<'_>, network: Network) -> Spot {
        let owner = Owner::of(charge);
        let beside = self.cell_of(owner, network);
        Spot { beside, ..Spot::at(Place::Cell(self.cell(owner, charge.digest()))) }
    }

    /// The cell of a network. Who comes from nowhere has none: to count all of them together would keep
    /// out everybody wherever no addresses are told.
    fn cell_of(&self, owner: Owner, network: Network) -> Option<Cell> {
        (network != Network::UNKNOWN).then(|| self.network_cell(owner, network.spread()))
    }

    /// Whether a locked cell holds anything that counts at `now`.
    pub(crate) fn counts(&self, cell: Cell, epoch: Epoch, now: Timestamp) -> bool {
        self.head(cell).is_some_and(|head| epoch.fresh_at(head) > now)
    }

    /// Whether a locked cell holds what another limit has written.
    pub(crate) fn is_foreign(&self, cell: Cell, charge: &Charge<'_>) -> bool {
        matches!(self.kept(cell, Owner::of(charge)), Kept::Unreadable(_))
    }

    /// Writes a locked cell.
    pub(crate) fn write(
        &self,
        cell: Cell,
        charge: &Charge<'_>,
        words: [u64; WORDS],
        epoch: Epoch,
        now: Timestamp,
    ) {
        let until = epoch.fresh_at([words[0], words[1]]);
        self.store(cell, (Owner::of(charge), charge.digest()), words, until, now);
    }

    /// The state in a locked cell.
    pub(crate) fn kept(&self, cell: Cell, owner: Owner) -> Kept<WORDS> {
        match self.load(cell, owner) {
            Content::Empty => Kept::Nothing,
            Content::Own(words) => Kept::Words(words),
            Content::Foreign(written) => Kept::Unreadable(written),
        }
    }
}

// === impl Spot ===

impl Spot {
    pub(crate) const fn at(place: Place) -> Self {
        Self { place, beside: None, outgrown: None }
    }

    /// The entry it is, or will be.
    pub(crate) const fn slot(self) -> Option<Slot> {
        match self.place {
            Place::Entry(slot) | Place::Newcomer(slot, ..) | Place::Moving(_, slot, _) => {
                Some(slot)
            }
            Place::Cell(_) => None,
        }
    }

    /// The cells that have to be locked too.
    pub(crate) fn cells(self) -> impl Iterator<Item = Cell> {
        let own = match self.place {
            Place::Entry(_) | Place::Moving(..) => None,
            Place::Newcomer(_, cell, _) => cell,
            Place::Cell(cell) => Some(cell),
        };
        own.into_iter().chain(self.beside)
    }
}
