//! What the probes have said, and when the next one is due.

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
    /// A good probe. One that comes too long after the one before begins anew.
    pub(super) fn good(&mut self, now: Timestamp) {
        let since = match self.0 {
            Some(run) if now.since(run.last) <= HEALTHY_GAP => run.since,
            _ => now,
        };
        self.0 = Some(Run { since, last: now });
    }

    /// A bad one: all before it is worth nothing.
    pub(super) const fn bad(&mut self) {
        self.0 = None;
    }

    /// Since when probes have been good, up to now.
    pub(super) fn since(&self, now: Timestamp) -> Option<Timestamp> {
        self.0.filter(|run| now.since(run.last) <= HEALTHY_GAP).map(|run| run.since)
    }

    /// Whether probes have been good for long enough, up to now.
    pub(super) fn is_sustained(&self, now: Timestamp) -> bool {
        self.0.is_some_and(|run| {
            run.last.since(run.since) >= MIN_HEALTHY && now.since(run.last) <= HEALTHY_GAP
        })
    }
}
