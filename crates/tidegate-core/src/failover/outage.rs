//! How long an outage has lasted, however often the store recovers and fails again meanwhile.
//!
//! A policy that answers "unavailable" must not do so for ever. Its time is counted from the trip
//! that began the outage and not from the latest one: otherwise an attacker who can make a store fail
//! and recover in turn would begin that time anew with each trip, and keep out those who have to mend
//! it.

use super::contract::SAME_OUTAGE_WITHIN;
use crate::time::Timestamp;

/// The outage that goes on, or the latest one; empty before the first trip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Outage {
    /// When the outage began: the time of its first trip.
    pub(super) since: Option<Timestamp>,
    /// When the store was trusted again; `None` if it is not.
    healed: Option<Timestamp>,
}

// === impl Outage ===

impl Outage {
    /// Notes that the store is not trusted any more. A trip soon after a recovery continues the outage
    /// before it.
    pub(super) fn trip(&mut self, now: Timestamp) {
        let since = if self.is_over(now) { now } else { self.since.unwrap_or(now) };
        *self = Self { since: Some(since), healed: None };
    }

    /// Notes that the store is trusted again.
    pub(super) fn heal(&mut self, now: Timestamp) {
        self.healed = self.since.and(Some(now));
    }

    /// Whether a trip at `now` would begin another outage.
    pub(super) fn is_over(&self, now: Timestamp) -> bool {
        let healed = self.healed.is_some_and(|healed| now.since(healed) > SAME_OUTAGE_WITHIN);
        self.since.is_none() || healed
    }
}
