//! The fleet of one process: what its breakers have agreed on, kept in memory.
//!
//! A gateway that runs alone needs no server to agree with itself, and tests need a fleet that follows
//! their clock. Every step is the core's rule under one lock: breakers ask when they trip and when they
//! probe, which is seldom, so nothing finer is worth its weight.
//!
//! The number of records is bounded. One that says "closed" is forgotten an hour after its last change: a
//! generation is never less than the time it was made at, so whatever follows has a higher one.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use tidegate_core::{
    Accord, AccordState, Agreed, CLOSED_KEPT, Changed, Clock, Cursor, Fleet, FleetError, FleetStep,
    MAX_CHANGED, Timestamp, agree, is_fleet_name,
};

#[cfg(test)]
mod tests;

/// A fleet within this process.
#[derive(Debug)]
pub struct MemoryFleet<C> {
    clock: C,
    /// The most records that are kept.
    places: usize,
    /// The number of the sequence of changes, by which cursors of another fleet are recognised: the time at
    /// which this one was made.
    life: u64,
    shelf: Mutex<Shelf>,
}

/// All records, and the orders in which they are asked for and forgotten.
#[derive(Debug, Default)]
struct Shelf {
    records: HashMap<Arc<str>, Shelved>,
    /// The names of all records, by the number of their last change.
    changes: BTreeMap<u64, Arc<str>>,
    /// The numbers of the last changes of records that say "closed".
    closed: BTreeMap<u64, Timestamp>,
    /// The number of the last change.
    change: u64,
}

/// One record, and the number of its last change.
#[derive(Clone, Copy, Debug)]
struct Shelved {
    accord: Accord,
    change: u64,
}

/// Records that are forgotten at most with each step. More than one, so that they grow fewer.
const FORGOTTEN_AT_ONCE: usize = 2;

// === impl MemoryFleet ===

impl<C: Clock> MemoryFleet<C> {
    /// A fleet without any record, that keeps `places` of them at most.
    #[must_use]
    pub fn new(places: usize, clock: C) -> Self {
        let life = clock.now().as_micros().max(1);
        Self { clock, places, life, shelf: Mutex::default() }
    }

    /// The number of records that are kept at present.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner).records.len()
    }

    /// Whether no record is kept at present.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn apply(&self, name: &str, step: &FleetStep) -> Result<Agreed, FleetError> {
        if !is_fleet_name(name) {
            return Err(FleetError::Refused);
        }
        let mut shelf = self.shelf.lock().unwrap_or_else(PoisonError::into_inner);
        // Read under the lock, so that time does not go back from one step to the next.
        let now = self.clock.now();
        shelf.forget(now);
        let found = shelf.records.get(name).map(|shelved| shelved.accord);
        let agreed = agree(found.as_ref(), step, now);
        if agreed.accord != found.unwrap_or(Accord::FRESH) {
            if found.is_none() && shelf.records.len() >= self.places {
                return Err(FleetError::Full);
            }
            shelf.put(name, agreed.accord, now);
        }
        Ok(agreed)
    }

    fn changes(&self, cursor: Cursor) -> Changed {
        let shelf = self.shelf.lock().unwrap_or_else(PoisonError::into_inner);
        let known = if cursor.life == self.life { cursor.change } else { 0 };
        let mut later = shelf.changes.range(known.saturating_add(1)..);
        let mut changed = Changed {
            accords: Vec::new(),
            cursor: Cursor { life: self.life, change: known },
            more: false,
            at: self.clock.now(),
        };
        for (change, name) in later.by_ref().take(MAX_CHANGED) {
            if let Some(shelved) = shelf.records.get(name) {
                changed.accords.push((String::from(&**name), shelved.accord));
            }
            changed.cursor.change = *change;
        }
        changed.more = later.next().is_some();
        changed
    }
}

impl<C: Clock> Fleet for MemoryFleet<C> {
    const SHARED: bool = false;

    fn name(&self) -> &'static str {
        "memory"
    }

    async fn agree(&self, name: &str, step: FleetStep) -> Result<Agreed, FleetError> {
        self.apply(name, &step)
    }

    async fn changed_since(&self, cursor: Cursor) -> Result<Changed, FleetError> {
        Ok(self.changes(cursor))
    }
}

// === impl Shelf ===

impl Shelf {
    fn put(&mut self, name: &str, accord: Accord, now: Timestamp) {
        self.change += 1;
        let shelved = Shelved { accord, change: self.change };
        let name = match self.records.get_key_value(name) {
            Some((name, before)) => {
                self.changes.remove(&before.change);
                self.closed.remove(&before.change);
                Arc::clone(name)
            }
            None => Arc::from(name),
        };
        self.changes.insert(self.change, Arc::clone(&name));
        if accord.state == AccordState::Closed {
            self.closed.insert(self.change, now);
        }
        self.records.insert(name, shelved);
    }

    /// Forgets some of what is closed and old, the oldest first.
    fn forget(&mut self, now: Timestamp) {
        for _ in 0..FORGOTTEN_AT_ONCE {
            let Some(oldest) = self.closed.first_entry() else { return };
            if now.since(*oldest.get()) < CLOSED_KEPT {
                return;
            }
            let (change, _) = oldest.remove_entry();
            if let Some(name) = self.changes.remove(&change) {
                self.records.remove(&name);
            }
        }
    }
}
