//! The counters behind the simulated store: the core's rules around a map.
//!
//! The store of a real process keeps its counters wherever it likes, by keys that nobody can guess,
//! so when it is full no two runs are the same. Here the store is never full, and every run is the
//! same.

use std::collections::{HashMap, HashSet};

use tidegate_core::{
    Amended, Amendment, Batch, Charge, CounterRef, Flaw, Listed, Readings, Receipt, Record,
    Settlement, StoreError, TicketId, Timestamp, Write,
};

/// The counters that the store keeps.
#[derive(Clone, Debug, Default)]
pub(super) struct StoreCounters {
    states: HashMap<u64, Entry>,
    settled: HashSet<TicketId>,
    /// Number of counters created so far.
    made: u64,
}

#[derive(Clone, Debug)]
struct Entry {
    record: Record,
    /// The number of this counter in the order of creation: the same in every run, which digests
    /// are not.
    number: u64,
    mark: Damage,
}

/// The state of damage of one counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// The counter is not damaged.
    Fine,
    /// The counter cannot be read.
    Corrupt,
    /// The counter was written by another version.
    Version,
}

// === impl StoreCounters ===

impl StoreCounters {
    /// Charges a batch, or only peeks.
    pub(super) fn decide(
        &mut self,
        batch: &Batch<'_>,
        write: bool,
        readings: &mut Readings,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let digests: Vec<u64> = batch.charges().iter().map(Charge::digest).collect();
        let read = |(place, digest)| self.read(digest).map_err(|flaw| flaw.of_charge(place));
        let found = digests.iter().copied().enumerate().map(read).collect::<Result<Vec<_>, _>>()?;
        let ((), writes) = match write {
            true => batch.charge(&found, now, readings)?,
            false => batch.peek(&found, now, readings)?,
        };
        self.write(&digests, writes);
        Ok(())
    }

    pub(super) fn settle(
        &mut self,
        settlement: &Settlement<'_>,
        now: Timestamp,
    ) -> Result<Receipt, StoreError> {
        let digests: Vec<u64> =
            settlement.moves().iter().map(|step| step.charge.digest()).collect();
        let found: Vec<_> = digests.iter().map(|digest| self.found(*digest).cloned()).collect();
        let (receipt, writes) = settlement.settle(&found, now, |id| self.settled.insert(id))?;
        self.write(&digests, writes);
        Ok(receipt)
    }

    /// Amends a counter, as an operator asks. One that cannot be read is forgotten all the same.
    pub(super) fn amend(
        &mut self,
        counter: &CounterRef<'_>,
        amendment: Amendment,
        now: Timestamp,
    ) -> Result<Amended, StoreError> {
        let digest = match counter {
            CounterRef::Of(charge, _) => charge.digest(),
            CounterRef::Listed(name) => name.parse().map_err(|_| StoreError::Refused)?,
        };
        let (amended, writes) = amendment.amend(counter, &[self.found(digest).cloned()], now)?;
        self.write(&[digest], writes);
        Ok(amended)
    }

    /// All blocks that hold, in the order in which their counters were created.
    pub(super) fn blocks(&self, now: Timestamp) -> Vec<Listed> {
        let listed = |(digest, entry): (&u64, &Entry)| {
            Some((entry.number, entry.record.listed(&digest.to_string(), now)?))
        };
        let mut found: Vec<(u64, Listed)> = self.states.iter().filter_map(listed).collect();
        found.sort_by_key(|(number, _)| *number);
        found.into_iter().map(|(_, listed)| listed).collect()
    }

    /// Marks the counters whose number equals `first` modulo `one_in`.
    pub(super) fn mark(&mut self, mark: Damage, one_in: u64, first: u64) {
        for entry in self.states.values_mut() {
            if entry.number % one_in.max(1) == first % one_in.max(1) {
                entry.mark = mark;
            }
        }
    }

    /// Forgets all counters.
    pub(super) fn forget(&mut self) {
        self.states.clear();
    }

    fn found(&self, digest: u64) -> Option<&Record> {
        self.states.get(&digest).map(|entry| &entry.record)
    }

    /// The record of a counter, or the flaw that makes it unreadable.
    fn read(&self, digest: u64) -> Result<Option<Record>, Flaw> {
        match self.states.get(&digest) {
            Some(Entry { mark: Damage::Corrupt, .. }) => Err(Flaw::Garbled),
            Some(Entry { mark: Damage::Version, .. }) => Err(Flaw::Version),
            entry => Ok(entry.map(|entry| entry.record.clone())),
        }
    }

    fn write(&mut self, digests: &[u64], writes: Vec<Write>) {
        for Write { place, record } in writes {
            let digest = digests[place];
            match (record, self.states.get_mut(&digest)) {
                (Some(record), Some(entry)) => entry.record = record,
                (Some(record), None) => {
                    self.made += 1;
                    let entry = Entry { record, number: self.made, mark: Damage::Fine };
                    self.states.insert(digest, entry);
                }
                (None, _) => drop(self.states.remove(&digest)),
            }
        }
    }
}
