//! The locks of one decision.
//!
//! Groups come before cells and each in ascending order, for every decision alike, so that no two
//! decisions ever wait for each other. Locks are given back when they are dropped, also by a panic.

use arrayvec::ArrayVec;
use tidegate_core::{Charge, MAX_LIMITS, ShapeKind};

use super::commit::Glimpse;
use super::shelf::Spot;
use super::sketch::Cell;
use super::step::{Shelves, on_shelf};
use super::table::{acquire, release};
use crate::sync::AtomicU64;

/// Locks that are held, in the order they were taken. Dropping gives all of them back.
pub(crate) struct Locks<'s> {
    shelves: &'s Shelves,
    groups: ArrayVec<(ShapeKind, u32), { 6 * MAX_LIMITS }>,
    cells: ArrayVec<(ShapeKind, Cell), { 2 * MAX_LIMITS }>,
}

/// One lock that is held.
pub(crate) struct HeldLock<'s>(&'s AtomicU64);

// === impl Shelves ===

impl Shelves {
    #[inline]
    pub(crate) fn group_lock(&self, (kind, group): (ShapeKind, u32)) -> &AtomicU64 {
        on_shelf!(self, kind, |shelf| shelf.lock(group))
    }

    fn cell_lock(&self, (kind, cell): (ShapeKind, Cell)) -> &AtomicU64 {
        on_shelf!(self, kind, |shelf| shelf.sketch().lock(cell))
    }
}

// === impl HeldLock ===

impl<'s> HeldLock<'s> {
    #[inline]
    pub(crate) fn new(lock: &'s AtomicU64) -> Self {
        acquire(lock);
        Self(lock)
    }
}

impl Drop for HeldLock<'_> {
    #[inline]
    fn drop(&mut self) {
        release(self.0);
    }
}

// === impl Locks ===

impl<'s> Locks<'s> {
    pub(crate) fn new(shelves: &'s Shelves) -> Self {
        Self { shelves, groups: ArrayVec::new(), cells: ArrayVec::new() }
    }

    /// Locks the groups of all charges, in ascending order: of a key that was seen, the group it
    /// was seen in; of a key that was not seen or may have to move, or if `all` is set, all groups
    /// it can be in.
    #[inline]
    pub(crate) fn take_groups(&mut self, charges: &[Charge<'_>], glimpses: &[Glimpse], all: bool) {
        for (charge, glimpse) in charges.iter().zip(glimpses) {
            let kind = charge.shape().kind();
            match glimpse {
                Some(slot) if !all && !self.shelves.may_move(kind, *slot) => {
                    insert(&mut self.groups, (kind, slot.group));
                }
                _ => {
                    for home in self.shelves.homes(charge) {
                        insert(&mut self.groups, (kind, home));
                    }
                }
            }
        }
        for group in &self.groups {
            acquire(self.shelves.group_lock(*group));
        }
    }

    /// Locks the cells of all spots that have one, in ascending order, after all groups. Returns whether
    /// there are any.
    #[inline]
    pub(crate) fn take_cells(&mut self, charges: &[Charge<'_>], spots: &[Spot]) -> bool {
        for (charge, spot) in charges.iter().zip(spots) {
            for cell in spot.cells() {
                insert(&mut self.cells, (charge.shape().kind(), cell));
            }
        }
        for cell in &self.cells {
            acquire(self.shelves.cell_lock(*cell));
        }
        !self.cells.is_empty()
    }

    #[inline]
    pub(crate) fn give_back(&mut self) {
        for cell in &self.cells {
            release(self.shelves.cell_lock(*cell));
        }
        for group in &self.groups {
            release(self.shelves.group_lock(*group));
        }
        self.cells.clear();
        self.groups.clear();
    }
}

impl Drop for Locks<'_> {
    #[inline]
    fn drop(&mut self) {
        self.give_back();
    }
}

/// Puts `item` in its place in an ascending list, unless it is there already. Lists are so short that
/// walking them beats anything cleverer.
#[inline]
pub(crate) fn insert<T: Ord + Copy, const N: usize>(list: &mut ArrayVec<T, N>, item: T) {
    // There is room: a list holds as many as a batch can need.
    if list.contains(&item) || list.try_push(item).is_err() {
        return;
    }
    let mut place = list.len() - 1;
    while place > 0 && list[place - 1] > item {
        list.swap(place - 1, place);
        place -= 1;
    }
}
