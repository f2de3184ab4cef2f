//! A walk ahead: who goes before a newcomer, by the rules of the order and without changing it.
//!
//! The place of a newcomer cannot be told from the number of those who wait: a tenant with nobody in
//! line goes before the second request of everybody else. So the turns are taken once more, on copies
//! of the purses, until the newcomer has gone or it is clear that it will be too late.

use std::collections::{BTreeMap, btree_map};
use std::iter::{Chain, Copied, Peekable};
use std::option;

use super::purse::{Purse, TurnKey, units};
use super::told::Seat;
use crate::cost::Cost;

/// The lanes of an order on a walk ahead, by the turns they will have.
pub(super) struct Walk<'a> {
    quantum: Cost,
    walkers: BTreeMap<TurnKey, Walker<'a>>,
    /// The stamp given last.
    stamp: u64,
}

/// The costs of the requests of one lane, oldest first.
type Costs<'a> = Copied<btree_map::Values<'a, Seat, Cost>>;

/// One lane on the walk.
struct Walker<'a> {
    purse: Purse,
    costs: Peekable<Chain<Costs<'a>, option::IntoIter<Cost>>>,
    /// Whether the last of these costs is that of the newcomer.
    has_newcomer: bool,
}

// === impl Walk ===

impl<'a> Walk<'a> {
    /// A walk on which the stamps up to `stamp` are taken, and one more for the lane of a newcomer.
    pub(super) const fn new(quantum: Cost, stamp: u64) -> Self {
        Self { quantum, walkers: BTreeMap::new(), stamp: stamp + 1 }
    }

    /// Adds a lane, with the turn it is in, if it is in one, and the newcomer, if it comes to this lane.
    pub(super) fn add(
        &mut self,
        purse: Purse,
        present: Option<TurnKey>,
        costs: Costs<'a>,
        newcomer: Option<Cost>,
    ) {
        let mut costs = costs.chain(newcomer).peekable();
        let Some(front) = costs.peek() else { return };
        let turn = present.unwrap_or_else(|| purse.turn(*front, self.quantum));
        self.walkers.insert(turn, Walker { purse, costs, has_newcomer: newcomer.is_some() });
    }

    /// What has gone when the newcomer has gone, or when it is `enough`.
    pub(super) fn run(mut self, enough: impl Fn(u128) -> bool) -> u128 {
        let mut gone = 0;
        while let Some(((round, _), mut walker)) = self.walkers.pop_first() {
            walker.purse.fill(round, self.quantum);
            while let Some(cost) = walker.costs.next_if(|cost| walker.purse.covers(*cost)) {
                walker.purse.pay(cost);
                gone += units(cost);
                if enough(gone) || walker.has_newcomer && walker.costs.peek().is_none() {
                    return gone;
                }
            }
            if let Some(front) = walker.costs.peek() {
                self.stamp += 1;
                walker.purse.end_turn(self.stamp);
                self.walkers.insert(walker.purse.turn(*front, self.quantum), walker);
            }
        }
        gone
    }
}
