//! For how long the probes of a store have been good without a break.

use super::contract::{HEALTHY_GAP, MIN_HEALTHY};
use crate::time::Timestamp;

/// An unbroken run of good probes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Health(Option<Run>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    since: Timestamp,
    last: Timestamp,
}

// === impl Health ===

impl Health {
    /// Notes a good probe. One that comes too long after the one before begins a new run.
    pub(super) fn good(&mut self, now: Timestamp) {
        let since = match self.0 {
            Some(run) if now.since(run.last) <= HEALTHY_GAP => run.since,
            _ => now,
        };
        self.0 = Some(Run { since, last: now });
    }

    /// Notes a bad probe, which ends the run.
    pub(super) const fn bad(&mut self) {
        self.0 = None;
    }

    /// Since when all probes up to `now` have been good; `None` if they have not.
    pub(super) fn since(&self, now: Timestamp) -> Option<Timestamp> {
        self.0.filter(|run| now.since(run.last) <= HEALTHY_GAP).map(|run| run.since)
    }

    /// Whether all probes up to `now` have been good for long enough.
    pub(super) fn is_sustained(&self, now: Timestamp) -> bool {
        self.0.is_some_and(|run| {
            run.last.since(run.since) >= MIN_HEALTHY && now.since(run.last) <= HEALTHY_GAP
        })
    }
}
