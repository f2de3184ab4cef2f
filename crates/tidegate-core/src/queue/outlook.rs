//! When those behind the head can go at the earliest, by what the head was told.

use super::purse::units;
use super::told::Forecast;
use crate::cost::Cost;
use crate::shape::Rate;
use crate::time::{Span, Timestamp};

/// What the last answer of the store says about those who wait: the limit that refused the head is empty
/// at an instant, and how fast it refills is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Outlook {
    /// When the limit has refilled for `covered`, and is empty once that is taken.
    at: Timestamp,
    /// The cost of the head that was told, until it has gone.
    covered: Option<Cost>,
    pace: Rate,
}

// === impl Outlook ===

impl Outlook {
    /// What is known once the head, which takes `cost`, was told this at `now`. Without a pace that is
    /// nothing about the others: the head goes before its age ends, and theirs ends later.
    pub(super) fn new(told: Forecast, cost: Cost, now: Timestamp) -> Option<Self> {
        let (at, covered) = (now.after(told.wait), Some(cost));
        told.pace.map(|pace| Self { at, covered, pace })
    }

    /// What is still known once the head that was told has gone.
    pub(super) const fn after_head(self) -> Self {
        Self { covered: None, ..self }
    }

    /// The earliest instant at which `all` units, those of the head included, can have gone.
    ///
    /// Rounded down. The told wait was rounded up, by less than a microsecond, so the next one may be
    /// shorter by as much; "cannot" must not be said of what can.
    pub(super) fn earliest(&self, all: u128) -> Timestamp {
        let rest = all.saturating_sub(self.covered.map_or(0, units));
        let (per, tokens) = (self.pace.per().as_micros(), self.pace.tokens());
        let wait = rest.saturating_mul(per.into()) / u128::from(tokens);
        self.at.after(Span::from_micros(u64::try_from(wait).unwrap_or(u64::MAX)))
    }
}
