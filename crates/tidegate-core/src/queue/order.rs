//! Whose turn it is: lanes by tenant, first come first served in each, taking turns by cost.
//!
//! Nothing here knows the time. The lane whose turn it is stays in turn until its credit does not
//! suffice for its next request; the lanes whose turn is still to come are sorted by it. So every verb
//! takes a few steps in sorted maps, and an arrival never changes who is first.

use std::collections::BTreeMap;

use super::purse::{Purse, TurnKey, units};
use super::told::Seat;
use super::walk::Walk;
use crate::cost::Cost;

/// The waiting requests of all tenants, in the order in which they go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FairOrder<T> {
    quantum: Cost,
    /// The lanes that have somebody waiting. A tenant with nobody has none, and no credit.
    lanes: BTreeMap<T, Lane>,
    /// The lanes whose turn is to come: all but the current one.
    turns: BTreeMap<TurnKey, T>,
    /// The lane whose turn it is. There is one if anybody waits.
    current: Option<T>,
    /// The present round, that of the current turn.
    round: u128,
    /// The stamp given last.
    stamp: u64,
    /// What all who wait will take.
    units: u128,
}

/// The waiting requests of one tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Lane {
    /// Seats ascend, so the first is the oldest. Never empty between two verbs.
    waiting: BTreeMap<Seat, Cost>,
    purse: Purse,
}

// === impl FairOrder ===

impl<T: Ord + Clone> FairOrder<T> {
    pub(super) fn new(quantum: Cost) -> Self {
        let (lanes, turns) = (BTreeMap::new(), BTreeMap::new());
        Self { quantum, lanes, turns, current: None, round: 0, stamp: 0, units: 0 }
    }

    /// The request whose turn it is, with its cost.
    pub(super) fn head(&self) -> Option<(Seat, Cost)> {
        self.lanes.get(self.current.as_ref()?)?.front()
    }

    /// What all who wait will take.
    pub(super) const fn units(&self) -> u128 {
        self.units
    }

    /// The number of tenants who have somebody waiting.
    pub(super) fn tenants(&self) -> usize {
        self.lanes.len()
    }

    /// The number of a tenant's requests that wait.
    pub(super) fn waiting(&self, tenant: &T) -> usize {
        self.lanes.get(tenant).map_or(0, |lane| lane.waiting.len())
    }

    /// The newest request of a tenant.
    pub(super) fn newest(&self, tenant: &T) -> Option<Seat> {
        self.lanes.get(tenant)?.waiting.keys().next_back().copied()
    }

    /// Puts a request at the end of its tenant's lane. Its seat is larger than all before.
    pub(super) fn join(&mut self, tenant: &T, seat: Seat, cost: Cost) {
        self.units += units(cost);
        if let Some(lane) = self.lanes.get_mut(tenant) {
            lane.waiting.insert(seat, cost);
            return;
        }
        self.stamp += 1;
        let purse = Purse::new(self.round, self.stamp);
        self.turns.insert(purse.turn(cost, self.quantum), tenant.clone());
        self.lanes.insert(tenant.clone(), Lane { waiting: BTreeMap::from([(seat, cost)]), purse });
        self.settle();
    }

    /// Lets the head go. Its lane pays for it.
    pub(super) fn go(&mut self) {
        let Some(tenant) = self.current.clone() else { return };
        let Some(lane) = self.lanes.get_mut(&tenant) else { return };
        let Some((_, cost)) = lane.waiting.pop_first() else { return };
        self.units = self.units.saturating_sub(units(cost));
        lane.purse.pay(cost);
        if lane.waiting.is_empty() {
            self.lanes.remove(&tenant);
            self.current = None;
        }
        self.settle();
    }

    /// Takes out a request that has not gone. Its lane pays nothing, and keeps nothing of what it has
    /// saved for a dear one.
    pub(super) fn leave(&mut self, tenant: &T, seat: Seat) {
        let Some(lane) = self.lanes.get_mut(tenant) else { return };
        let Some((first, front)) = lane.front() else { return };
        let Some(cost) = lane.waiting.remove(&seat) else { return };
        self.units = self.units.saturating_sub(units(cost));
        if first != seat {
            return;
        }
        let is_current = self.current.as_ref() == Some(tenant);
        if !is_current {
            self.turns.remove(&lane.purse.turn(front, self.quantum));
        }
        match lane.front() {
            None => {
                self.lanes.remove(tenant);
                self.current = self.current.take().filter(|_| !is_current);
            }
            Some((_, next)) if is_current => lane.purse.forgo_in_turn(next, self.quantum),
            Some((_, next)) => self.put_back(tenant, next),
        }
        self.settle();
    }

    /// What goes until a newcomer of `cost` at the end of its tenant's lane has gone, itself and the
    /// head included, if all who are ahead of it go and nobody else comes. Stops counting as soon as it
    /// is `enough`.
    pub(super) fn until_gone(&self, tenant: &T, cost: Cost, enough: impl Fn(u128) -> bool) -> u128 {
        let newcomer = |of: &T| (of == tenant).then_some(cost);
        let mut walk = Walk::new(self.quantum, self.stamp);
        for (of, lane) in &self.lanes {
            let is_current = self.current.as_ref() == Some(of);
            let costs = lane.waiting.values().copied();
            walk.add(lane.purse, is_current.then(|| lane.purse.present()), costs, newcomer(of));
        }
        if !self.lanes.contains_key(tenant) {
            let purse = Purse::new(self.round, self.stamp + 1);
            walk.add(purse, None, Default::default(), Some(cost));
        }
        walk.run(enough)
    }

    /// Gives a lane another turn, because its first request has left before its turn came.
    fn put_back(&mut self, tenant: &T, front: Cost) {
        let current = self.current.as_ref().and_then(|current| self.lanes.get(current));
        let present = current.map_or((self.round, 0), |current| current.purse.present());
        let Some(lane) = self.lanes.get_mut(tenant) else { return };
        lane.purse.forgo(front, self.quantum, present);
        self.turns.insert(lane.purse.turn(front, self.quantum), tenant.clone());
    }

    /// Ends the current turn if its lane cannot pay for its next request, and begins the next one.
    fn settle(&mut self) {
        if let Some(tenant) = self.current.clone()
            && let Some(lane) = self.lanes.get_mut(&tenant)
            && let Some((_, front)) = lane.front()
        {
            if lane.purse.covers(front) {
                return;
            }
            self.stamp += 1;
            lane.purse.end_turn(self.stamp);
            self.turns.insert(lane.purse.turn(front, self.quantum), tenant);
        }
        let Some(((round, _), tenant)) = self.turns.pop_first() else {
            (self.current, self.round, self.stamp) = (None, 0, 0);
            return;
        };
        self.round = round;
        if let Some(lane) = self.lanes.get_mut(&tenant) {
            lane.purse.fill(round, self.quantum);
        }
        self.current = Some(tenant);
    }
}

// === impl Lane ===

impl Lane {
    /// The oldest request, with its cost.
    fn front(&self) -> Option<(Seat, Cost)> {
        self.waiting.first_key_value().map(|(seat, cost)| (*seat, *cost))
    }
}
