//! Names that the counters of a limit had before a reload.
//!
//! The name of a counter ends with the period of its limit, so a store that goes by names finds nothing
//! there once a reload has changed the period: a fresh limit for everybody, even where the new numbers
//! are the stricter ones. So a limit remembers how its names ended before, and a store that finds nothing
//! under the present name looks under those, in the same step. What it finds is read as state that was
//! written under other numbers is, and written under the present name; two are never added up.
//!
//! A reload may come back to an ending that was in force before. What is left under that name is then
//! older than what was counted since, so the endings are kept in the order of their last use, and the
//! present one has its place among them.

use arrayvec::ArrayVec;

use super::Limit;
use crate::shape::{Period, Shape, Unit};
use crate::time::{Span, Timestamp};

/// The most former names of a counter that are looked at. A limit whose period is changed more often,
/// while counters of all these periods still count, forgets the oldest.
pub const MAX_FORMER: usize = 2;

/// How much longer a former name is looked at than its counters last: nodes of a fleet that are reloaded
/// later still write it.
const STRAGGLERS: Span = Span::DAY;

/// The names of one counter, in a store that goes by names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// The name that the counter is written under.
    pub present: String,
    /// Names that were in force after the present one had been: a reload has come back to it. A counter
    /// that is found under one of them counts instead of the one under the present name, and is
    /// deleted when that is written.
    pub newer: ArrayVec<String, MAX_FORMER>,
    /// Names that were in force before the present one. A counter that is found under one of them counts
    /// if there is none under the other names. It is left where it is, for nodes that have not been
    /// reloaded yet, and whoever writes the present name lets it live no shorter.
    pub older: ArrayVec<String, MAX_FORMER>,
}

/// The endings that the names of a limit's counters had before.
#[derive(Clone, Debug, Default)]
pub(crate) struct Former {
    /// Those first that were in force last.
    list: Vec<Ending>,
    /// How many of them were in force after the present one had been.
    newer: usize,
}

#[derive(Clone, Debug)]
struct Ending {
    text: Box<str>,
    /// When no counter with such a name is left.
    until: Timestamp,
}

// === impl Names ===

impl Names {
    /// A counter that has had no other name.
    #[must_use]
    pub fn only(present: String) -> Self {
        Self { present, newer: ArrayVec::new(), older: ArrayVec::new() }
    }

    /// All names, in the order in which they are looked at: the first under which there is a counter
    /// counts.
    pub fn in_order(&self) -> impl Iterator<Item = &str> {
        let present = core::iter::once(&self.present);
        self.newer.iter().chain(present).chain(&self.older).map(String::as_str)
    }

    /// All names but the present one.
    pub fn former(&self) -> impl Iterator<Item = &str> {
        self.newer.iter().chain(&self.older).map(String::as_str)
    }
}

// === impl Former ===

impl Former {
    /// The former endings of `limit`, which takes the place of `earlier` at `at`. Without a time they are
    /// never forgotten. A limit that counts by something else has other counters.
    pub(super) fn succeeding(limit: &Limit, earlier: &Limit, at: Option<Timestamp>) -> Self {
        if limit.scope != earlier.scope {
            return Self::default();
        }
        let (present, last) = (limit.ending(), earlier.ending());
        let mut former = earlier.former.clone();
        if present != last {
            // What an earlier period has left behind may outlast the later one.
            let ends = |at: Timestamp| at.after(earlier.longest()).after(STRAGGLERS);
            let kept = former.list.iter().map(|ending| ending.until).max();
            let until = at.map_or(Timestamp::MAX, ends).max(kept.unwrap_or(Timestamp::ZERO));
            former.list.insert(former.newer, Ending { text: last.into(), until });
            former.newer = match former.list.iter().position(|ending| *ending.text == *present) {
                Some(place) => {
                    former.list.remove(place);
                    place
                }
                None => 0,
            };
        }
        former.retain(|ending| at.is_none_or(|at| at < ending.until));
        former.list.truncate(MAX_FORMER);
        former.newer = former.newer.min(former.list.len());
        former
    }

    fn retain(&mut self, keep: impl Fn(&Ending) -> bool) {
        self.newer = self.list.iter().take(self.newer).filter(|ending| keep(ending)).count();
        self.list.retain(keep);
    }

    /// Gives each ending to `name`, which makes a name of it.
    fn names(&self, present: String, name: impl Fn(&str) -> String) -> Names {
        let (newer, older) = self.list.split_at(self.newer);
        let named = |list: &[Ending]| list.iter().map(|ending| name(&ending.text)).collect();
        Names { present, newer: named(newer), older: named(older) }
    }
}

// === impl Limit ===

impl Limit {
    /// What the names of its counters end with.
    pub(crate) fn ending(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = self.write_key_suffix(&mut text);
        text
    }

    /// The names of the counter whose present name is `present`.
    pub(crate) fn names(&self, present: String) -> Names {
        if self.former.list.is_empty() {
            return Names::only(present);
        }
        let base = present.len() - self.ending().len().min(present.len());
        let base = present.get(..base).unwrap_or_default().to_owned();
        self.former.names(present, |ending| [&base, ending].concat())
    }

    /// The names of the counter that had this name when it was charged, maybe before a reload.
    pub(crate) fn names_of(&self, charged: &str) -> Names {
        let present = self.ending();
        let former = self.former.list.iter().map(|ending| &*ending.text);
        let endings = former.chain([present.as_str()]).filter(|ending| charged.ends_with(ending));
        match endings.max_by_key(|ending| ending.len()) {
            Some(ending) => {
                let base = charged.strip_suffix(ending).unwrap_or(charged);
                self.former.names([base, &present].concat(), |ending| [base, ending].concat())
            }
            // Of a node that has other policies.
            None => Names::only(charged.to_owned()),
        }
    }

    /// The limit without the former endings that `taken` says are another's by now, and without those
    /// of which no counter is left at `now`; `None` if there are none of either.
    pub(crate) fn forgetting(&self, now: Timestamp, taken: impl Fn(&str) -> bool) -> Option<Self> {
        let keep = |ending: &Ending| now < ending.until && !taken(&ending.text);
        if self.former.list.iter().all(keep) {
            return None;
        }
        let mut limit = self.clone();
        limit.former.retain(keep);
        Some(limit)
    }

    /// The longest that any counter of its numbers in force is kept for.
    fn longest(&self) -> Span {
        self.in_force().map(lasts).max().unwrap_or(Span::ZERO)
    }
}

/// The longest that a counter of this shape differs from a new one.
fn lasts(shape: &Shape) -> Span {
    match shape {
        Shape::Bucket(bucket) => {
            let units = u128::from(bucket.burst()) * u128::from(bucket.units_per_token());
            let micros = units.div_ceil(u128::from(bucket.units_per_micro()));
            Span::from_micros(u64::try_from(micros).unwrap_or(u64::MAX))
        }
        // A charge counts for a sixtieth longer than the window, and a backoff for at most as long.
        Shape::Window(window) => Span::from_micros(window.per().as_micros().saturating_mul(3)),
        Shape::Quota(quota) => match quota.period() {
            Period::Fixed(length) | Period::FirstUse(length) => *length,
            // The longest there is, with all its changes of clocks.
            Period::Calendar(calendar) => Span::from_secs(match calendar.unit() {
                Unit::Hour => 3 * 3_600,
                Unit::Day => 3 * 86_400,
                Unit::Week => 9 * 86_400,
                Unit::Month => 33 * 86_400,
            }),
        },
        // The names of abuse logs have no period.
        Shape::Attempts(_) => Span::ZERO,
    }
}
