//! Where keys are counted that do not fit the table: coarsely, but never not at all.
//!
//! A full table tempts one to evict, which lets an attacker wash away a victim's counter, or to
//! refuse, which lets him lock everybody out. Instead, the keys of a limit that find no place share
//! the cells of a block, each key always the same cell, chosen by a salted hash. A cell is a counter of
//! the limit's own shape and numbers, charged by all its keys. It so never under-counts any of
//! them; it may deny one for what another took. Newcomers are served at the limit's rate per cell.
//!
//! A key that later finds a place in the table starts there with its cell's state. A quota that
//! counts from first use stays in its cell for as long as the cell counts: the period a cell is in
//! is not the key's own, and only when it is over can the key begin one.
//!
//! Each limit takes a block when its first key overflows. There are enough blocks for any sensible
//! policy set; limits beyond that share blocks, and a cell last written by another limit is taken
//! to be exhausted.

use super::entry::PAIR;
use crate::sync::{AtomicU64, Ordering, zeroed_words};

/// Cells of `WORDS` words, in blocks.
#[derive(Debug)]
pub(crate) struct Sketch<const WORDS: usize> {
    /// The limit each block belongs to; zero if none yet.
    owners: Box<[AtomicU64]>,
    /// Each cell is a lock, the limit that wrote it last, and its words.
    cells: Box<[AtomicU64]>,
    cells_per_block: u32,
    salt: u64,
}

/// Which cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Cell(u32);

/// What a cell holds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Content<const WORDS: usize> {
    /// Nothing yet.
    Empty,
    /// The state of the limit that asks.
    Own([u64; WORDS]),
    /// The state of another limit, last written at the time these words tell.
    Foreign([u64; PAIR]),
}

// === impl Sketch ===

impl<const WORDS: usize> Sketch<WORDS> {
    const CELL: usize = 2 + WORDS;

    pub(crate) fn new(blocks: u32, cells_per_block: u32, salt: u64) -> Self {
        let cells = blocks as usize * cells_per_block as usize;
        Self {
            owners: zeroed_words(blocks as usize),
            cells: zeroed_words(cells * Self::CELL),
            cells_per_block,
            salt,
        }
    }

    /// The memory it takes at most.
    pub(crate) fn bytes(&self) -> usize {
        (self.owners.len() + self.cells.len()) * size_of::<AtomicU64>()
    }

    /// The cell of a key that does not fit; gives the limit a block if it has none.
    pub(crate) fn cell(&self, limit: u64, digest: u64) -> Cell {
        self.in_block(self.block(limit, true).unwrap_or_default(), digest)
    }

    /// The cell of a key that does fit, if its limit has ever overflowed.
    #[inline]
    pub(crate) fn cell_if_used(&self, limit: u64, digest: u64) -> Option<Cell> {
        self.block(limit, false).map(|block| self.in_block(block, digest))
    }

    /// The lock of a cell.
    pub(crate) fn lock(&self, cell: Cell) -> &AtomicU64 {
        &self.words(cell)[0]
    }

    /// The head of what a locked cell holds, whoever wrote it.
    pub(crate) fn head(&self, cell: Cell) -> Option<[u64; PAIR]> {
        let word = |word: usize| self.words(cell)[word].load(Ordering::Relaxed);
        (word(1) != 0).then(|| [word(2), word(3)])
    }

    /// What a locked cell holds.
    pub(crate) fn load(&self, cell: Cell, limit: u64) -> Content<WORDS> {
        let words = self.words(cell);
        let word = |word: usize| words[2 + word].load(Ordering::Relaxed);
        match words[1].load(Ordering::Relaxed) {
            0 => Content::Empty,
            owner if owner == limit => Content::Own(core::array::from_fn(word)),
            _ => Content::Foreign([word(0), word(1)]),
        }
    }

    /// Writes a locked cell.
    pub(crate) fn store(&self, cell: Cell, limit: u64, words: [u64; WORDS]) {
        let places = self.words(cell);
        places[1].store(limit, Ordering::Relaxed);
        for (place, word) in places[2..].iter().zip(words) {
            place.store(word, Ordering::Relaxed);
        }
    }

    /// The block of a limit. Once all are given away, limits share.
    #[inline]
    fn block(&self, limit: u64, take: bool) -> Option<usize> {
        let blocks = self.owners.len();
        let first = usize::try_from(limit % blocks as u64).unwrap_or_default();
        for block in (first..blocks).chain(0..first) {
            let owner = &self.owners[block];
            let mut held = owner.load(Ordering::Acquire);
            if held == 0 && take {
                let taken = owner.compare_exchange(0, limit, Ordering::AcqRel, Ordering::Acquire);
                held = taken.err().unwrap_or(limit);
            }
            match held {
                0 => return None,
                held if held == limit => return Some(block),
                _ => {}
            }
        }
        Some(first)
    }

    fn in_block(&self, block: usize, digest: u64) -> Cell {
        let mixed = (digest ^ self.salt).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        let within = (u128::from(mixed) * u128::from(self.cells_per_block)) >> 64;
        let cell = block as u64 * u64::from(self.cells_per_block)
            + u64::try_from(within).unwrap_or_default();
        Cell(u32::try_from(cell).unwrap_or_default())
    }

    fn words(&self, cell: Cell) -> &[AtomicU64] {
        let start = cell.0 as usize * Self::CELL;
        &self.cells[start..start + Self::CELL]
    }
}
