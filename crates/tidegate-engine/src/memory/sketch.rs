//! Where keys are counted that do not fit the table: coarsely, but never not at all.
//!
//! A full table tempts one to evict, which lets an attacker wash away a victim's counter, or to
//! refuse, which lets him lock everybody out. Instead, the keys of a limit that find no place share
//! the cells of a block, each key always the same cell, chosen by a salted hash. A cell is a counter
//! of the limit's own shape and numbers, charged by all its keys. It so never under-counts any of
//! them; it may deny one for what another took. Newcomers are served at the limit's rate per cell.
//!
//! Each cell remembers in one word, a small Bloom filter, whose keys it has counted. A key that later
//! finds a place in the table starts there with its cell's state if it may have been counted there,
//! and fresh if it was not: otherwise one key that overflowed would burden all newcomers of its cell,
//! whose entries would then live longer, so that more overflow. A quota that counts from first use
//! stays in its cell for as long as the cell counts: the period a cell is in is not the key's own,
//! and only when it is over can the key begin one.
//!
//! Each limit takes a block when its first key overflows, and each of its overrides one of its own,
//! because a cell can be read under one set of numbers only. There are enough blocks for any sensible
//! policy set; those beyond share, and a cell last written by another is taken to be exhausted.

use tidegate_core::{Charge, Timestamp};

use super::entry::PAIR;
use crate::sync::{AtomicU64, Ordering, zeroed_words};

/// Cells of `WORDS` words, in blocks.
#[derive(Debug)]
pub(crate) struct Sketch<const WORDS: usize> {
    /// Whom each block belongs to; zero if nobody yet, and odd once others share it.
    owners: Box<[AtomicU64]>,
    /// Each cell is a lock, who wrote it last and when, the filter of its keys, and its words.
    cells: Box<[AtomicU64]>,
    cells_per_block: u32,
    salt: u64,
}

/// Marks a block that more than its owner uses.
const SHARED: u64 = 1;

/// Whose a block is: a limit, or one of its overrides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner(u64);

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
    /// The state of another limit, last written then.
    Foreign(Timestamp),
}

// === impl Sketch ===

impl<const WORDS: usize> Sketch<WORDS> {
    const LOCK: usize = 0;
    const OWNER: usize = 1;
    const KEYS: usize = 2;
    const WRITTEN: usize = 3;
    const FIRST: usize = 4;
    const CELL: usize = Self::FIRST + WORDS;

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

    /// The cell of a key that does not fit; gives the owner a block if it has none.
    pub(crate) fn cell(&self, owner: Owner, digest: u64) -> Cell {
        self.in_block(self.block(owner, true).unwrap_or_default(), digest)
    }

    /// The cell of a key that does fit, if it may have been counted there before.
    ///
    /// No lock of the cell is needed: whoever counted this key held its groups, as the caller does.
    #[inline]
    pub(crate) fn cell_that_counted(&self, owner: Owner, digest: u64) -> Option<Cell> {
        let cell = self.in_block(self.block(owner, false)?, digest);
        let keys = self.words(cell)[Self::KEYS].load(Ordering::Relaxed);
        (keys & marks(digest) == marks(digest)).then_some(cell)
    }

    /// The lock of a cell.
    pub(crate) fn lock(&self, cell: Cell) -> &AtomicU64 {
        &self.words(cell)[Self::LOCK]
    }

    /// The head of what a locked cell holds, whoever wrote it.
    pub(crate) fn head(&self, cell: Cell) -> Option<[u64; PAIR]> {
        let word = |word: usize| self.words(cell)[word].load(Ordering::Relaxed);
        (word(Self::OWNER) != 0).then(|| [word(Self::FIRST), word(Self::FIRST + 1)])
    }

    /// What a locked cell holds.
    pub(crate) fn load(&self, cell: Cell, owner: Owner) -> Content<WORDS> {
        let words = self.words(cell);
        let word = |word: usize| words[Self::FIRST + word].load(Ordering::Relaxed);
        match words[Self::OWNER].load(Ordering::Relaxed) {
            0 => Content::Empty,
            writer if writer == owner.0 => Content::Own(core::array::from_fn(word)),
            _ => {
                let written = words[Self::WRITTEN].load(Ordering::Relaxed);
                Content::Foreign(Timestamp::from_micros(written))
            }
        }
    }

    /// Writes a locked cell for a key. If what it held does not count any more, the keys that were
    /// counted in it are forgotten; not so in a shared block, where what counted for one owner may
    /// have been overwritten by another.
    pub(crate) fn store(
        &self,
        cell: Cell,
        owner: Owner,
        digest: u64,
        words: [u64; WORDS],
        counts: bool,
        now: Timestamp,
    ) {
        let places = self.words(cell);
        let block = cell.0 as usize / self.cells_per_block as usize;
        let shared = self.owners[block].load(Ordering::Acquire) & SHARED != 0;
        let others = if counts || shared { places[Self::KEYS].load(Ordering::Relaxed) } else { 0 };
        places[Self::OWNER].store(owner.0, Ordering::Relaxed);
        // A later writer may have read the clock earlier.
        places[Self::WRITTEN].fetch_max(now.as_micros(), Ordering::Relaxed);
        places[Self::KEYS].store(others | marks(digest), Ordering::Relaxed);
        for (place, word) in places[Self::FIRST..].iter().zip(words) {
            place.store(word, Ordering::Relaxed);
        }
    }

    /// The block of an owner. Once all are given away, owners share.
    #[inline]
    fn block(&self, owner: Owner, take: bool) -> Option<usize> {
        let blocks = self.owners.len();
        let mixed = owner.0.wrapping_mul(0xD6E8_FEB8_6659_FD93) >> 32;
        let first = usize::try_from(mixed % blocks as u64).unwrap_or_default();
        for block in (first..blocks).chain(0..first) {
            let word = &self.owners[block];
            let mut held = word.load(Ordering::Acquire);
            if held == 0 && take {
                let taken = word.compare_exchange(0, owner.0, Ordering::AcqRel, Ordering::Acquire);
                held = taken.err().unwrap_or(owner.0);
            }
            match held {
                0 => return None,
                held if held & !SHARED == owner.0 => return Some(block),
                _ => {}
            }
        }
        if take {
            self.owners[first].fetch_or(SHARED, Ordering::AcqRel);
        }
        let shared = self.owners[first].load(Ordering::Acquire) & SHARED != 0;
        shared.then_some(first)
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

// === impl Owner ===

impl Owner {
    /// The owner of the cells a charge is counted in; never zero, and even.
    pub(crate) fn of(charge: &Charge<'_>) -> Self {
        let role = u64::from(charge.role()).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        Self((charge.limit().id() ^ role) & !SHARED | 1 << 63)
    }
}

/// Three of the 64 bits of a cell's filter.
fn marks(digest: u64) -> u64 {
    let mixed = digest.wrapping_mul(0xA076_1D64_78BD_642F) >> 40;
    1 << (mixed & 63) | 1 << (mixed >> 6 & 63) | 1 << (mixed >> 12 & 63)
}
