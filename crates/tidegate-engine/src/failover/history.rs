//! What has happened between a policy and its store, in numbers.
//!
//! Counted where it happens, so that no observer is needed for it and nothing is missed. No
//! decision depends on these numbers.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use tidegate_core::{Cause, Span, StoreError, Timestamp};

/// What has happened between one policy and its store on this node, since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreHistory {
    /// Changes of mode, by their cause, in the order of [`Cause::ALL`].
    pub changes: [u64; Cause::ALL.len()],
    /// Requests and probes that the store has failed, by kind of failure, in the order of
    /// [`StoreError::NAMES`].
    pub failures: [u64; StoreError::NAMES.len()],
    /// Probes that succeeded.
    pub good_probes: u64,
    /// Probes that failed.
    pub bad_probes: u64,
    /// Counters that could not be read, and were made anew.
    pub recreated: u64,
    /// Requests admitted because the store failed and the policy fails open.
    pub fail_open_admitted: u64,
    /// Requests that were shed: more came at once than the store could be asked about in time.
    pub shed: u64,
}

/// The counters behind a [`StoreHistory`].
#[derive(Debug, Default)]
pub(crate) struct HistoryCounters {
    changes: [AtomicU64; Cause::ALL.len()],
    failures: [AtomicU64; StoreError::NAMES.len()],
    good_probes: AtomicU64,
    bad_probes: AtomicU64,
    recreated: AtomicU64,
    fail_open_admitted: AtomicU64,
    shed: AtomicU64,
    /// When it was last reported that requests are shed, in microseconds.
    shed_told: AtomicU64,
}

// === impl HistoryCounters ===

impl HistoryCounters {
    pub(crate) fn changed(&self, cause: Cause) {
        if let Some(place) = Cause::ALL.iter().position(|known| *known == cause) {
            add_one(&self.changes[place]);
        }
    }

    pub(crate) fn failed(&self, error: &StoreError) {
        add_one(&self.failures[error.place()]);
    }

    pub(crate) fn probed(&self, probed: &Result<(), StoreError>) {
        match probed {
            Ok(()) => add_one(&self.good_probes),
            Err(error) => {
                add_one(&self.bad_probes);
                self.failed(error);
            }
        }
    }

    pub(crate) fn recreated(&self) {
        add_one(&self.recreated);
    }

    pub(crate) fn admitted_open(&self) {
        add_one(&self.fail_open_admitted);
    }

    /// Counts a request that was shed. Returns how many were shed so far, if that is to be
    /// reported: at most once a second.
    pub(crate) fn shed(&self, now: Timestamp) -> Option<u64> {
        let shed = self.shed.fetch_add(1, Relaxed) + 1;
        let told = self.shed_told.load(Relaxed);
        let is_due = now >= Timestamp::from_micros(told).after(Span::SECOND);
        let (told_by, now) = (&self.shed_told, now.as_micros());
        let tells = is_due && told_by.compare_exchange(told, now, Relaxed, Relaxed).is_ok();
        tells.then_some(shed)
    }

    pub(crate) fn record(&self) -> StoreHistory {
        let read = |counter: &AtomicU64| counter.load(Relaxed);
        StoreHistory {
            changes: std::array::from_fn(|place| read(&self.changes[place])),
            failures: std::array::from_fn(|place| read(&self.failures[place])),
            good_probes: read(&self.good_probes),
            bad_probes: read(&self.bad_probes),
            recreated: read(&self.recreated),
            fail_open_admitted: read(&self.fail_open_admitted),
            shed: read(&self.shed),
        }
    }
}

fn add_one(counter: &AtomicU64) {
    counter.fetch_add(1, Relaxed);
}
