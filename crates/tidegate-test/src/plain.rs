//! The smallest store: the core's steps around a map, as chapter 9 of the core's book writes it.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Mutex, PoisonError};
use tidegate_core::{
    Amended, Amendment, Batch, Blocks, Clock, CounterRef, KeyNames, Names, Naming, Page, Readings,
    Receipt, Record, Settlement, Span, Stepped, Store, StoreError, TicketId, Timestamp, Write,
};

/// A store of the core's records, kept by the digests of their keys or by their names.
#[derive(Debug)]
pub struct PlainStore<C> {
    clock: C,
    names: Naming,
    /// The records, by the name of the counter.
    pub records: Mutex<BTreeMap<String, Record>>,
    settled: Mutex<HashSet<TicketId>>,
}

impl<C: Clock> PlainStore<C> {
    /// An empty store that names counters by digest.
    pub fn new(clock: C) -> Self {
        Self { clock, names: Naming::Digests, records: Mutex::default(), settled: Mutex::default() }
    }

    /// An empty store that names counters by key, as shared stores do: with another period a limit
    /// has other names.
    pub fn by_name(clock: C, names: KeyNames) -> Self {
        Self { names: Naming::Keys(names), ..Self::new(clock) }
    }

    /// Reads the counters of these names, takes a step, and writes its results; all in one
    /// transaction.
    fn take<T>(
        &self,
        names: &[Names],
        step: impl FnOnce(&[Option<Record>], Timestamp) -> Stepped<T>,
    ) -> Result<T, StoreError> {
        let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        let found: Vec<_> = names.iter().map(|it| it.find(|it| records.get(it).cloned())).collect();
        let (answer, writes) = step(&found, self.clock.now())?;
        for Write { place, record } in writes {
            for (name, record) in names[place].changes(found[place].as_ref(), record) {
                records.remove(name);
                records.extend(record.map(|record| (name.to_owned(), record)));
            }
        }
        Ok(answer)
    }
}

impl<C: Clock> Store for PlainStore<C> {
    const SHARED: bool = false;
    const FALLIBLE: bool = false;
    const WAITS: bool = false;
    fn name(&self) -> &'static str {
        "plain"
    }

    fn charge_now(&self, batch: &Batch<'_>, readings: &mut Readings) -> Result<(), StoreError> {
        self.take(&batch.names(&self.names), |found, now| batch.charge(found, now, readings))
    }

    fn peek_now(&self, batch: &Batch<'_>, readings: &mut Readings) -> Result<(), StoreError> {
        self.take(&batch.names(&self.names), |found, now| batch.peek(found, now, readings))
    }

    fn settle_now(&self, ticket: &Settlement<'_>) -> Result<Receipt, StoreError> {
        let mut settled = self.settled.lock().unwrap_or_else(PoisonError::into_inner);
        self.take(&ticket.names(), |found, now| ticket.settle(found, now, |id| settled.insert(id)))
    }

    async fn amend(
        &self,
        it: CounterRef<'_>,
        how: Amendment,
        _: Span,
    ) -> Result<Amended, StoreError> {
        self.take(&[it.names(&self.names)], |found, now| how.amend(&it, found, now))
    }

    async fn blocks(&self, page: Page<'_>, _: Span) -> Result<Blocks, StoreError> {
        let records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Blocks::among(&records, page, self.clock.now()))
    }
}
