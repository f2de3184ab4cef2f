//! The smallest store: the core's rules around a map.
//!
//! Nothing is packed, locked or evicted, so what the [model](crate::model) finds here it finds in
//! the rules themselves, before any real store is looked at.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Mutex, PoisonError};

use tidegate_core::{
    Amended, Amendment, Batch, Block, Blocks, Charge, Clock, Counter, Kept, KeyNames, Listed,
    Outcome, Page, Readings, Receipt, Settled, Settlement, Shape, Span, Store, StoreError,
    TicketId, Timestamp, plan,
};

/// A store of the core's states, by the digests of their keys or by their names.
#[derive(Debug)]
pub struct PlainStore<C> {
    clock: C,
    /// With the limit each belongs to.
    states: Mutex<BTreeMap<String, (u64, Kept)>>,
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
            let kept = of(&states, &self.name(batch, charge));
            met.push(charge.look(kept, now).map_err(|stale| stale.of_charge(index))?);
        }
        let rooms = batch.charges().iter().zip(&met).map(|(charge, met)| (charge, met.room));
        let planned = plan(rooms);
        readings.begin(now);
        for (index, (charge, reading)) in batch.charges().iter().zip(met).enumerate() {
            if write && planned.writes(index) {
                let name = self.name(batch, charge);
                let taken = charge.take(of(&states, &name), now);
                let (after, reading) = taken.map_err(|stale| stale.of_charge(index))?;
                states.insert(name, (charge.limit().id(), after));
                readings.push(reading);
            } else {
                readings.push(reading);
            }
        }
        Ok(())
    }
}

impl<C: Clock> Store for PlainStore<C> {
    const SHARED: bool = false;
    const FALLIBLE: bool = false;
    const WAITS: bool = false;

    fn name(&self) -> &'static str {
        "plainstore"
    }

    fn charge_now(&self, batch: &Batch<'_>, readings: &mut Readings) -> Result<(), StoreError> {
        self.decide(batch, true, readings)
    }

    fn peek_now(&self, batch: &Batch<'_>, readings: &mut Readings) -> Result<(), StoreError> {
        self.decide(batch, false, readings)
    }

    fn settle_now(&self, settlement: &Settlement<'_>) -> Result<Receipt, StoreError> {
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
            let kept = of(&states, &name);
            let applied = step.apply(kept, settlement.decided_at(), now);
            let (kept, settled) = applied.map_err(|stale| stale.of_charge(index))?;
            moved += settled;
            let limit = step.charge.limit().id();
            after.extend(kept.map(|kept| (name, (limit, kept))));
        }
        if !settled.insert(settlement.id()) {
            return Ok(Receipt::Before);
        }
        states.extend(after);
        Ok(Receipt::Settled(moved))
    }

    async fn amend(
        &self,
        counter: Counter<'_>,
        amendment: Amendment,
        _within: Span,
    ) -> Result<Amended, StoreError> {
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.clock.now();
        let (name, shape, limit): (String, Option<&Shape>, u64) = match counter {
            Counter::Listed(name) => {
                let limit = states.get(name).map_or(0, |(limit, _)| *limit);
                (name.to_owned(), None, limit)
            }
            Counter::Of(charge, key) => {
                let name = match &self.names {
                    Some(names) => names.text(&key),
                    None => charge.digest().to_string(),
                };
                (name, Some(charge.shape()), charge.limit().id())
            }
        };
        let outcome = amendment.apply(of(&states, &name), shape, now);
        let changed = outcome != Outcome::Same;
        match outcome {
            Outcome::Same => {}
            Outcome::Gone => drop(states.remove(&name)),
            Outcome::Kept(state) => {
                states.insert(name.clone(), (limit, Kept::Attempts(state)));
            }
        }
        Ok(Amended { changed, block: block(of(&states, &name), now), at: now })
    }

    async fn blocks(&self, page: Page<'_>) -> Result<Blocks, StoreError> {
        let states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.clock.now();
        let from = page.after.unwrap_or_default();
        let mut rest = states.iter().filter(|(name, _)| name.as_str() > from);
        let looked: Vec<_> = rest.by_ref().take(page.at_most.max(1)).collect();
        let next = rest.next().and(looked.last()).map(|(name, _)| (*name).clone());
        let listed = |(name, (limit, kept)): (&String, &(u64, Kept))| {
            let block = block(Some(kept), now)?;
            Some(Listed { key: name.clone(), limit: *limit, block })
        };
        Ok(Blocks { list: looked.into_iter().filter_map(listed).collect(), next })
    }
}

fn of<'s>(states: &'s BTreeMap<String, (u64, Kept)>, name: &str) -> Option<&'s Kept> {
    states.get(name).map(|(_, kept)| kept)
}

fn block(kept: Option<&Kept>, now: Timestamp) -> Option<Block> {
    match kept {
        Some(Kept::Attempts(state)) => state.block().filter(|block| block.holds(now)),
        _ => None,
    }
}
