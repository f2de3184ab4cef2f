//! The smallest store: the core's rules around a map.
//!
//! Nothing is packed, locked or evicted, so what the [model](crate::model) finds here it finds in
//! the rules themselves, before any real store is looked at.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use tidegate_core::{
    Batch, Charge, Clock, Kept, KeyNames, Readings, Receipt, Settled, Settlement, Store,
    StoreError, TicketId, plan,
};

/// A store of the core's states, by the digests of their keys or by their names.
#[derive(Debug)]
pub struct PlainStore<C> {
    clock: C,
    states: Mutex<HashMap<String, Kept>>,
    names: Option<KeyNames>,
    settled: Mutex<HashSet<TicketId>>,
}

// === impl PlainStore ===

impl<C: Clock> PlainStore<C> {
    /// A store that has seen nothing.
    #[must_use]
    pub fn new(clock: C) -> Self {
        Self { clock, states: Mutex::default(), names: None, settled: Mutex::default() }
    }

    /// One that goes by the names of counters, as shared stores do: a limit with another period has
    /// another name.
    #[must_use]
    pub fn by_name(clock: C, names: KeyNames) -> Self {
        Self { names: Some(names), ..Self::new(clock) }
    }

    fn name(&self, batch: &Batch<'_>, charge: &Charge<'_>) -> String {
        match &self.names {
            Some(names) => names.text(&batch.key(charge)),
            None => charge.digest().to_string(),
        }
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
            let kept = states.get(&self.name(batch, charge));
            met.push(charge.look(kept, now).map_err(|stale| stale.of_charge(index))?);
        }
        let rooms = batch.charges().iter().zip(&met).map(|(charge, met)| (charge, met.room));
        let planned = plan(rooms);
        readings.begin(now);
        for (index, (charge, reading)) in batch.charges().iter().zip(met).enumerate() {
            if write && planned.writes(index) {
                let name = self.name(batch, charge);
                let taken = charge.take(states.get(&name), now);
                let (after, reading) = taken.map_err(|stale| stale.of_charge(index))?;
                states.insert(name, after);
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
            let name = match step.key {
                Some(key) => key.to_owned(),
                None => step.charge.digest().to_string(),
            };
            let kept = states.get(&name);
            let applied = step.apply(kept, settlement.decided_at(), now);
            let (kept, settled) = applied.map_err(|stale| stale.of_charge(index))?;
            moved += settled;
            after.extend(kept.map(|kept| (name, kept)));
        }
        if !settled.insert(settlement.id()) {
            return Ok(Receipt::Before);
        }
        states.extend(after);
        Ok(Receipt::Settled(moved))
    }
}
