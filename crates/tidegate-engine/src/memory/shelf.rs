//! The table of one shape, and the sketch for what does not fit it.

use super::entry::Epoch;
use super::sketch::{Cell, Content, Owner, Sketch};
use super::table::{Slot, Table};
use crate::sync::AtomicU64;
use tidegate_core::{Charge, Timestamp};

/// Counters of one shape.
#[derive(Debug)]
pub(crate) struct Shelf<const WORDS: usize, const WAYS: usize> {
    table: Table<WORDS, WAYS>,
    sketch: Sketch<WORDS>,
}

/// Where a charge is counted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Spot {
    /// In its entry.
    Entry(Slot),
    /// In an entry it will take over. If the key may have been counted in this cell before, it begins
    /// with its state.
    Newcomer(Slot, Option<Cell>),
    /// In a cell, with others.
    Overflow(Cell),
}

/// The state found on a spot.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kept<const WORDS: usize> {
    /// As if never seen.
    Nothing,
    /// The words of an entry or a cell.
    Words([u64; WORDS]),
    /// Unreadable, and last written then.
    Unreadable(Timestamp),
}

// === impl Shelf ===

impl<const WORDS: usize, const WAYS: usize> Shelf<WORDS, WAYS> {
    pub(crate) fn new(keys: usize, blocks: u32, cells_per_block: u32, salt: u64) -> Self {
        Self { table: Table::new(keys), sketch: Sketch::new(blocks, cells_per_block, salt) }
    }

    pub(crate) const fn table(&self) -> &Table<WORDS, WAYS> {
        &self.table
    }

    pub(crate) fn bytes(&self) -> usize {
        self.table.bytes() + self.sketch.bytes()
    }

    pub(crate) fn cell_lock(&self, cell: Cell) -> &AtomicU64 {
        self.sketch.lock(cell)
    }

    /// Finds a spot for a key that is not in the table, both of whose groups are locked. Places in
    /// `taken` are those of other keys of the decision.
    pub(crate) fn settle_on(
        &self,
        charge: &Charge<'_>,
        taken: &[Slot],
        epoch: Epoch,
        now: Timestamp,
    ) -> Spot {
        let (owner, digest) = (Owner::of(charge), charge.digest());
        match self.table.free(digest, taken, epoch, now) {
            Some(slot) => Spot::Newcomer(slot, self.sketch.cell_that_counted(owner, digest)),
            None => Spot::Overflow(self.sketch.cell(owner, digest)),
        }
    }

    /// Whether a locked cell holds anything that counts at `now`.
    pub(crate) fn counts(&self, cell: Cell, epoch: Epoch, now: Timestamp) -> bool {
        self.sketch.head(cell).is_some_and(|head| epoch.fresh_at(head) > now)
    }

    /// Whether a locked cell holds what another limit has written.
    pub(crate) fn is_foreign(&self, cell: Cell, charge: &Charge<'_>) -> bool {
        matches!(self.cell(cell, Owner::of(charge)), Kept::Unreadable(_))
    }

    /// The state on a locked spot.
    #[inline]
    pub(crate) fn load(&self, spot: Spot, charge: &Charge<'_>) -> Kept<WORDS> {
        match spot {
            Spot::Entry(slot) => Kept::Words(self.table.load(slot)),
            Spot::Newcomer(_, None) => Kept::Nothing,
            Spot::Newcomer(_, Some(cell)) | Spot::Overflow(cell) => {
                self.cell(cell, Owner::of(charge))
            }
        }
    }

    /// Writes the state on a locked spot.
    #[inline]
    pub(crate) fn store(
        &self,
        spot: Spot,
        charge: &Charge<'_>,
        words: [u64; WORDS],
        epoch: Epoch,
        now: Timestamp,
    ) {
        match spot {
            Spot::Entry(slot) | Spot::Newcomer(slot, _) => {
                self.table.store(slot, charge.digest(), words);
            }
            Spot::Overflow(cell) => {
                let (owner, digest) = (Owner::of(charge), charge.digest());
                let counts = self.counts(cell, epoch, now);
                self.sketch.store(cell, owner, digest, words, counts, now);
            }
        }
    }

    fn cell(&self, cell: Cell, owner: Owner) -> Kept<WORDS> {
        match self.sketch.load(cell, owner) {
            Content::Empty => Kept::Nothing,
            Content::Own(words) => Kept::Words(words),
            Content::Foreign(written) => Kept::Unreadable(written),
        }
    }
}

// === impl Spot ===

impl Spot {
    /// The entry it is, or will be.
    pub(crate) const fn slot(self) -> Option<Slot> {
        match self {
            Self::Entry(slot) | Self::Newcomer(slot, _) => Some(slot),
            Self::Overflow(_) => None,
        }
    }

    /// The cell that has to be locked too.
    pub(crate) const fn cell(self) -> Option<Cell> {
        match self {
            Self::Entry(_) => None,
            Self::Newcomer(_, cell) => cell,
            Self::Overflow(cell) => Some(cell),
        }
    }
}
