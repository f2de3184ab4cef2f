//! The smallest store: the core's rules around a map.
//!
//! Nothing is packed, locked or evicted, so what the [model](crate::model) finds here it finds in
//! the rules themselves, before any real store is looked at.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use tidegate_core::{
    Batch, Clock, Kept, Readings, Receipt, Settled, Settlement, Store, StoreError, TicketId, plan,
};

/// A store of the core's states, by the digests of their keys.
#[derive(Debug)]
pub struct PlainStore<C> {
    clock: C,
    states: Mutex<HashMap<u64, Kept>>,
    settled: Mutex<HashSet<TicketId>>,
}

// === impl PlainStore ===

impl<C: Clock> PlainStore<C> {
    /// A store that has seen nothing.
    #[must_use]
    pub fn new(clock: C) -> Self {
        Self { clock, states: Mutex::default(), settled: Mutex::default() }
    }

    fn decide(
        &self,
        batch: &Batch<'_>,
        write: bool,
        readings: &mut Readings,
    ) -> Result<(), StoreError> {
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.clock.now();
        let mut met = Vec::new();
        for (index, charge) in batch.charges().iter().enumerate() {
            let kept = states.get(&charge.digest());
            met.push(charge.look(kept, now).map_err(|stale| stale.of_charge(index))?);
        }
        let rooms = batch.charges().iter().zip(&met).map(|(charge, met)| (charge, met.room));
        let planned = plan(rooms);
        readings.begin(now);
        for (index, (charge, reading)) in batch.charges().iter().zip(met).enumerate() {
            if write && planned.writes(index) {
                let taken = charge.take(states.get(&charge.digest()), now);
                let (after, reading) = taken.map_err(|stale| stale.of_charge(index))?;
                states.insert(charge.digest(), after);
                readings.push(reading);
            } else {
                readings.push(reading);
            }
        }
        Ok(())
    }
}

impl<C: Clock> Store for PlainStore<C> {
    async fn charge(&self, batch: &Batch<'_>, readings: &mut Readings) -> Result<(), StoreError> {
        self.decide(batch, true, readings)
    }

    async fn peek(&self, batch: &Batch<'_>, readings: &mut Readings) -> Result<(), StoreError> {
        self.decide(batch, false, readings)
    }

    async fn settle(&self, settlement: &Settlement<'_>) -> Result<Receipt, StoreError> {
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        let mut settled = self.settled.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.clock.now();
        if now >= settlement.expires_at() {
            return Ok(Receipt::Late);
        }
        let mut moved = Settled::default();
        let mut after = Vec::new();
        for (index, step) in settlement.moves().iter().enumerate() {
            let kept = states.get(&step.charge.digest());
            let applied = step.apply(kept, settlement.decided_at(), now);
            let (kept, settled) = applied.map_err(|stale| stale.of_charge(index))?;
            moved += settled;
            after.extend(kept.map(|kept| (step.charge.digest(), kept)));
        }
        if !settled.insert(settlement.id()) {
            return Ok(Receipt::Before);
        }
        states.extend(after);
        Ok(Receipt::Settled(moved))
    }
}
