//! The slow model: a store that remembers everything and works every answer out anew.
//!
//! The core keeps a few integers per counter and has formulas for waits. There is none of that
//! here. A counter is the list of all charges that were recorded; the rest is worked out from the
//! definitions in wide integers; and a wait is found by searching for the first instant at which
//! the same request would be admitted. The model is unbounded and slow. It shares the words with
//! the core (shapes, readings, calendars) but none of the steps, so both are wrong in the same way
//! only if the definition is.

mod attempts;
mod batch;
mod bucket;
mod counter;
mod log;
mod quota;
mod search;
mod window;

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use tidegate_core::{
    Amended, Amendment, Batch, Blocks, Charge, Clock, CounterRef, Key, KeyNames, Page, Readings,
    Receipt, Settlement, Span, Store, StoreError,
};

use counter::ModelRecord;

/// The furthest below zero that refused attempts can take a count.
const MAX_OVER: i128 = 1 << 31;

/// The secret of key names. They only have to differ here, so its value does not matter.
const SECRET: [u8; 32] = [7; 32];

/// A store without bounds, tricks or formulas, to compare other stores with.
#[derive(Debug)]
pub struct ModelStore<C> {
    clock: C,
    born: u64,
    names: KeyNames,
    kept: Mutex<HashMap<Name, ModelRecord>>,
}

/// The name of a counter: the identity of the limit, and the subject as it is spelled in the key.
type Name = (u64, String);

// === impl ModelStore ===

impl<C: Clock> ModelStore<C> {
    /// A store that has seen nothing.
    #[must_use]
    pub fn new(clock: C) -> Self {
        Self { clock, born: 0, names: KeyNames::new(&SECRET), kept: Mutex::default() }
    }

    /// A store in which, as in one in memory, no period began before the store was made.
    #[must_use]
    pub fn born_now(clock: C) -> Self {
        Self { born: clock.now().as_micros(), ..Self::new(clock) }
    }

    /// The names of a batch's counters. A limit keeps its counters when a reload changes its period
    /// or puts its name into their keys, so both are left out: the last part of the key, which is
    /// the period, and the limit's name before it.
    fn names(&self, batch: &Batch<'_>) -> Vec<Name> {
        batch.charges().iter().map(|charge| self.name(charge, &batch.key(charge))).collect()
    }

    fn name(&self, charge: &Charge<'_>, key: &Key<'_>) -> Name {
        let text = self.names.text(key);
        let subject = text.rsplit_once(':').map_or("", |(subject, _)| subject);
        let named = format!(":limit:{}", charge.limit().name());
        let subject = subject.strip_suffix(&named).unwrap_or(subject);
        (charge.limit().id(), subject.to_owned())
    }

    fn decide(&self, batch: &Batch<'_>, write: bool, readings: &mut Readings) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.clock.now();
        let names = self.names(batch);
        let found = names.iter().map(|name| kept.get(name));
        let (list, writes) = batch::decide(batch, found, now.as_micros(), self.born, write);
        for (name, written) in names.into_iter().zip(writes) {
            if let Some(written) = written {
                kept.insert(name, written);
            }
        }
        readings.begin(now);
        list.into_iter().for_each(|reading| readings.push(reading));
    }
}

impl<C: Clock> Store for ModelStore<C> {
    const SHARED: bool = false;
    const FALLIBLE: bool = false;
    const WAITS: bool = false;

    fn name(&self) -> &'static str {
        "modelstore"
    }

    fn charge_now(&self, batch: &Batch<'_>, readings: &mut Readings) -> Result<(), StoreError> {
        self.decide(batch, true, readings);
        Ok(())
    }

    fn peek_now(&self, batch: &Batch<'_>, readings: &mut Readings) -> Result<(), StoreError> {
        self.decide(batch, false, readings);
        Ok(())
    }

    /// Always refuses: a settlement names counters by digest, and the model knows them by their
    /// text. Settling is tested against the [plain store](crate::plain) instead.
    fn settle_now(&self, _: &Settlement<'_>) -> Result<Receipt, StoreError> {
        Err(StoreError::Refused)
    }

    /// Amends a counter, which the model finds by its text, as when it is charged.
    async fn amend(
        &self,
        counter: CounterRef<'_>,
        amendment: Amendment,
        _within: Span,
    ) -> Result<Amended, StoreError> {
        let CounterRef::Of(charge, key) = counter else { return Err(StoreError::Refused) };
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let (now, name) = (self.clock.now(), self.name(&charge, &key));
        let before = kept.remove(&name);
        let held = before.as_ref().and_then(|kept| kept.holding(now.as_micros()));
        let after =
            ModelRecord::amended(before.as_ref(), charge.shape(), amendment, now.as_micros());
        let block = after.as_ref().and_then(|kept| kept.holding(now.as_micros()));
        kept.extend(after.map(|after| (name, after)));
        Ok(Amended { changed: held != block, block, at: now })
    }

    /// Always refuses: blocks are listed by the names that a store gives its counters, and the
    /// model gives none.
    async fn blocks(&self, _: Page<'_>, _: Span) -> Result<Blocks, StoreError> {
        Err(StoreError::Refused)
    }
}
