//! Cells for the keys that do not fit the table: they are counted coarsely, but always counted.
//!
//! A full table tempts one to evict, which lets an attacker wash away a victim's counter, or to
//! refuse, which lets him lock everybody out. Instead, the keys of a limit that find no place share
//! the cells of a block, each key always the same cell, chosen by a salted hash. A cell is a
//! counter of the limit's own shape and numbers, charged by all its keys. So it never under-counts
//! any of them; it may deny one for what another took. Newcomers are served at the limit's rate per
//! cell.
//!
//! It is remembered which keys have been counted in cells (`marks.rs`). A key that later finds a
//! place in the table starts there with its cell's state if it may have been counted there, and
//! fresh if it was not: otherwise one key that overflowed would burden all newcomers of its cell,
//! whose entries would then live longer, so that more keys overflow. A quota that counts from first
//! use stays in its cell for as long as the cell counts: the period of a cell is not the key's own,
//! and only when it is over can the key begin one.
//!
//! A key without a place is counted in a cell of its network as well, and is admitted only if both
//! cells have room. So one network cannot use up all cells with keys that it makes up: together
//! they take no more than one key may.
//!
//! Each limit takes a block when its first key overflows, and each of its overrides takes one of
//! its own, because a cell can be read under one set of numbers only. There are enough blocks for
//! any sensible policy set; owners beyond that share blocks, and a cell last written by another
//! owner is taken to be exhausted.

use tidegate_core::{Charge, Timestamp};

use super::entry::Epoch;
use super::marks::Marks;
use super::shares::NetworkDigest;
use crate::sync::{AtomicU64, Ordering, zeroed};

/// Cells of `WORDS` words, in blocks.
#[derive(Debug)]
pub(crate) struct Sketch<const WORDS: usize> {
    /// The owner of each block; zero if it has none yet, and odd once others share it.
    owners: Box<[AtomicU64]>,
    /// Each cell consists of a lock, its last writer, the time of that, and its words. In a block,
    /// the cells of keys come before the cells of networks.
    cells: Box<[AtomicU64]>,
    marks: Marks,
    cells_per_block: u32,
    salt: u64,
}

/// Marks a block that more than its owner uses.
const SHARED: u64 = 1;

/// The owner of a block: a limit, or one of its overrides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner(u64);

/// The number of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Cell(u32);

/// The state found in an entry or a cell.
#[derive(Clone, Copy, Debug)]
pub(crate) enum StoredWords<const WORDS: usize> {
    /// No state, as if the key had never been seen.
    Nothing,
    /// The words of an entry or a cell.
    Words([u64; WORDS]),
    /// The state of another limit, which cannot be read; when it was last written.
    Unreadable(Timestamp),
}

// === impl Sketch ===

impl<const WORDS: usize> Sketch<WORDS> {
    const LOCK: usize = 0;
    const OWNER: usize = 1;
    const WRITTEN: usize = 2;
    const FIRST: usize = 3;
    const CELL: usize = Self::FIRST + WORDS;

    /// A sketch for the keys that do not fit a table of `keys` keys.
    pub(crate) fn new(keys: usize, blocks: u32, cells_per_block: u32, salt: u64) -> Self {
        let cells = 2 * blocks as usize * cells_per_block as usize;
        Self {
            owners: zeroed(blocks as usize),
            cells: zeroed(cells * Self::CELL),
            marks: Marks::new(keys),
            cells_per_block,
            salt,
        }
    }

    /// The bytes of memory it takes at most.
    pub(crate) fn bytes(&self) -> usize {
        (self.owners.len() + self.cells.len()) * size_of::<AtomicU64>() + self.marks.bytes()
    }

    /// The cell of a key that does not fit; gives the owner a block if it has none.
    pub(crate) fn cell(&self, owner: Owner, digest: u64) -> Cell {
        self.in_block(self.block(owner, true).unwrap_or_default(), digest)
    }

    /// The cell of a network; gives the owner a block if it has none. Requests without an address
    /// have no such cell: counted together, they would keep out everybody wherever addresses are not
    /// known.
    pub(crate) fn cell_of(&self, owner: Owner, network: NetworkDigest) -> Option<Cell> {
        let cell = || self.cell(owner, network.spread()).0 + self.cells_per_block;
        (network != NetworkDigest::UNKNOWN).then(|| Cell(cell()))
    }

    /// The cell of a key that fits the table, if the key may have been counted there before.
    ///
    /// The cell need not be locked: a thread that counts this key holds the key's groups, as the
    /// caller does.
    #[inline]
    pub(crate) fn cell_that_counted(&self, owner: Owner, digest: u64) -> Option<Cell> {
        let block = self.block(owner, false)?;
        self.marks.has(digest).then(|| self.in_block(block, digest))
    }

    /// The lock of a cell.
    pub(crate) fn lock(&self, cell: Cell) -> &AtomicU64 {
        &self.words(cell)[Self::LOCK]
    }

    /// Whether a locked cell holds anything that counts at `now`, whichever limit wrote it.
    pub(crate) fn counts(&self, cell: Cell, epoch: Epoch, now: Timestamp) -> bool {
        let word = |word: usize| self.words(cell)[word].load(Ordering::Relaxed);
        let head = || [word(Self::FIRST), word(Self::FIRST + 1)];
        word(Self::OWNER) != 0 && epoch.fresh_at(head()) > now
    }

    /// What a locked cell holds for a limit.
    pub(crate) fn load(&self, cell: Cell, owner: Owner) -> StoredWords<WORDS> {
        let words = self.words(cell);
        let word = |word: usize| words[Self::FIRST + word].load(Ordering::Relaxed);
        match words[Self::OWNER].load(Ordering::Relaxed) {
            0 => StoredWords::Nothing,
            writer if writer == owner.0 => StoredWords::Words(core::array::from_fn(word)),
            _ => {
                let written = words[Self::WRITTEN].load(Ordering::Relaxed);
                StoredWords::Unreadable(Timestamp::from_micros(written))
            }
        }
    }

    /// Writes a locked cell for the key of a charge.
    pub(crate) fn store(
        &self,
        cell: Cell,
        charge: &Charge<'_>,
        words: [u64; WORDS],
        epoch: Epoch,
        now: Timestamp,
    ) {
        // A key is marked with its own cell; the cell of its network is written beside that one.
        if cell.0 % (2 * self.cells_per_block) < self.cells_per_block {
            let (digest, until) = (charge.digest(), epoch.fresh_at([words[0], words[1]]));
            self.marks.mark(digest, until, now);
        }
        let places = self.words(cell);
        places[Self::OWNER].store(Owner::of(charge).0, Ordering::Relaxed);
        // A later writer may have read the clock earlier.
        places[Self::WRITTEN].fetch_max(now.as_micros(), Ordering::Relaxed);
        for (place, word) in places[Self::FIRST..].iter().zip(words) {
            place.store(word, Ordering::Relaxed);
        }
    }

    /// The block of an owner; `take` gives it one if it has none. Once all are given away, owners
    /// share.
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
        let cell = block as u64 * 2 * u64::from(self.cells_per_block)
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
