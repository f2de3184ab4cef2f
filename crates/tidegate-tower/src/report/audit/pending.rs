//! Records that wait to be written: equal ones are added up, distinct ones are bounded.

use std::collections::HashMap;

use tidegate_core::Timestamp;

use super::record::{AuditRecord, RecordKind};

/// An event to be recorded.
#[derive(Clone, Copy, Debug)]
pub(super) struct AuditEvent {
    pub(super) kind: RecordKind,
    /// A keyed hash of the actor or address; events with the same key are equal. None for several.
    pub(super) key: Option<u64>,
    pub(super) at: Timestamp,
    /// Refusals of the actor in a row so far.
    pub(super) run: u64,
}

/// A record that waits, with the key of its events.
pub(super) type WaitingRecord = (Option<u64>, AuditRecord);

/// The records that wait, in the order of their first events.
#[derive(Debug)]
pub(super) struct PendingRecords {
    /// The records: at most `most`, and one more for each kind.
    records: Vec<WaitingRecord>,
    /// The index of the record of each key.
    places: HashMap<u64, usize>,
    /// For each kind, the index of the record that stands for all other events of that kind.
    others: [Option<usize>; RecordKind::ALL.len()],
    most: usize,
}

// === impl PendingRecords ===

impl PendingRecords {
    pub(super) fn new(most: usize) -> Self {
        let (records, places) = (Vec::new(), HashMap::new());
        Self { records, places, others: [None; _], most }
    }

    pub(super) const fn len(&self) -> usize {
        self.records.len()
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Adds an event. `describe` is called only if the event gets a new record of its own.
    pub(super) fn add(&mut self, event: AuditEvent, describe: impl FnOnce() -> AuditRecord) {
        let place = self.place(event.key, event.kind, event.at, describe);
        if let Some((key, record)) = self.records.get_mut(place) {
            record.absorb(1, event.at, event.at);
            if key.is_some() && record.run.is_some() {
                record.run = record.run.max(Some(event.run));
            }
        }
    }

    /// Takes all records that wait.
    pub(super) fn take(&mut self) -> Vec<WaitingRecord> {
        self.places.clear();
        self.others = [None; _];
        core::mem::take(&mut self.records)
    }

    /// Puts back records that could not be written, before those that have come since.
    pub(super) fn put_back(&mut self, earlier: Vec<WaitingRecord>) {
        let later = self.take();
        for (key, record) in earlier.into_iter().chain(later) {
            let (kind, count, run) = (record.kind, record.count, record.run);
            let (first_at, last_at) = (record.first_at, record.last_at);
            let describe = || AuditRecord { count: 0, ..record };
            let place = self.place(key, kind, first_at, describe);
            if let Some((key, record)) = self.records.get_mut(place) {
                record.absorb(count, first_at, last_at);
                if key.is_some() {
                    record.run = record.run.max(run);
                }
            }
        }
    }

    /// The index of the record for a key, which is made if there is none; beyond the bound, the index of
    /// the record for all others.
    fn place(
        &mut self,
        key: Option<u64>,
        kind: RecordKind,
        at: Timestamp,
        describe: impl FnOnce() -> AuditRecord,
    ) -> usize {
        let next = self.records.len();
        if let Some(key) = key {
            if let Some(place) = self.places.get(&key) {
                return *place;
            }
            if self.places.len() < self.most {
                self.places.insert(key, next);
                self.records.push((Some(key), describe()));
                return next;
            }
        }
        let other = &mut self.others[kind as usize];
        if other.is_none() {
            self.records.push((None, AuditRecord::other(kind, at)));
        }
        *other.get_or_insert(next)
    }
}
