//! The slow model: a store that remembers everything and works every answer out anew.
//!
//! The core keeps a few integers per counter and has formulas for waits. Here is none of that. A
//! counter is the list of all that was recorded; what is left is worked out from the definitions
//! in wide integers; and a wait is found by looking for the first
//! instant at which the same request would be admitted. It is unbounded and slow, and it shares
//! with the core the words (shapes, readings, calendars) but none of the steps, so that both are
//! wrong in the same way only if the definition is.

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
    Amended, Amendment, Batch, Blocks, Charge, Clock, Counter, Key, KeyNames, Page, Readings,
    Receipt, Settlement, Span, Store, StoreError,
};

use counter::Kept;

/// The most that refused attempts can take a count below zero.
const MAX_OVER: i128 = 1 << 31;

/// Keys are told apart by their text; who knows the secret does not matter here.
const SECRET: [u8; 32] = [7; 32];

/// A store without bounds, tricks or formulas.
#[derive(Debug)]
pub struct ModelStore<C> {
    clock: C,
    born: u64,
    names: KeyNames,
    kept: Mutex<HashMap<Name, Kept>>,
}

/// Which counter: the identity of the limit, and the subject as the text of a key spells it.
type Name = (u64, String);

// === impl ModelStore ===

impl<C: Clock> ModelStore<C> {
    /// A store that has seen nothing.
    #[must_use]
    pub fn new(clock: C) -> Self {
        Self { clock, born: 0, names: KeyNames::new(&SECRET), kept: Mutex::default() }
    }

    /// A store for which, as for one in memory, nothing has begun before it did.
    #[must_use]
    pub fn born_now(clock: C) -> Self {
        Self { born: clock.now().as_micros(), ..Self::new(clock) }
    }

    /// A limit keeps its counters when a reload gives it another period or puts its name into their keys,
    /// so the last part of the text, which is the period, and the name before it are left out.
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

    /// A settlement names counters by digest, and the model knows them by their text: it says so.
    /// Settling is held to the [plain store](crate::plain) instead.
    fn settle_now(&self, _: &Settlement<'_>) -> Result<Receipt, StoreError> {
        Err(StoreError::Refused)
    }

    /// Counters are amended as they are charged: by their text.
    async fn amend(
        &self,
        counter: Counter<'_>,
        amendment: Amendment,
        _within: Span,
    ) -> Result<Amended, StoreError> {
        let Counter::Of(charge, key) = counter else { return Err(StoreError::Refused) };
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let (now, name) = (self.clock.now(), self.name(&charge, &key));
        let before = kept.remove(&name);
        let held = before.as_ref().and_then(|kept| kept.holding(now.as_micros()));
        let after = Kept::amended(before.as_ref(), charge.shape(), amendment, now.as_micros());
        let block = after.as_ref().and_then(|kept| kept.holding(now.as_micros()));
        kept.extend(after.map(|after| (name, after)));
        Ok(Amended { changed: held != block, block, at: now })
    }

    /// A list goes by the names a store has given, and the model has none to show.
    async fn blocks(&self, _: Page<'_>, _: Span) -> Result<Blocks, StoreError> {
        Err(StoreError::Refused)
    }
}
