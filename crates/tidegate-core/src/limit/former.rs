//! Names that the counters of a limit had before a reload.
//!
//! The name of a counter ends with the period of its limit, so a store that goes by names finds nothing
//! there once a reload has changed the period: a fresh limit for everybody, even where the new numbers
//! are the stricter ones. So a limit remembers how its names ended before, and a store that finds nothing
//! under the present name looks under the former ones, in the same step. What it finds is read like any
//! state written under other numbers, and written under the present name; two counters are never added
//! up.
//!
//! A reload may come back to an ending that was in force before. A counter that is left under that name
//! is then older than what was counted since, so the present ending has its place among the others. It
//! keeps that place while it is in force and when it is former again: a counter that was not charged
//! meanwhile is as old as it was, and one that was charged is not left under any newer name.
//!
//! Only the endings that were in force last are looked at. The others are remembered as long as counters
//! may be left under them, so that a reload that comes back to one of them knows which names are newer.

use arrayvec::ArrayVec;

use super::Limit;
use crate::kept::Kept;
use crate::record::Record;
use crate::shape::Shape;
use crate::subject::Scope;
use crate::time::{Span, Timestamp};

/// The most former names of a counter that are looked at: those of two former endings, and the names
/// that these and the present one had in the release before.
pub const MAX_FORMER: usize = 2 * MAX_ENDINGS + 1;

/// The most former endings that are looked at. A limit whose period is changed more often, while counters
/// of all these periods still count, forgets the oldest.
const MAX_ENDINGS: usize = 2;

/// The most endings that are remembered, whether or not they are looked at.
const MAX_KNOWN: usize = 16;

/// How much longer a former name is looked at than its counters last: nodes of a fleet that are reloaded
/// later still write it.
const STRAGGLERS: Span = Span::DAY;

/// The names of one counter, in a store that goes by names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// The name that the counter is written under.
    pub present: String,
    /// Names that were in force after the present one first was, until a reload came back to it. A
    /// counter that is found under one of them counts instead of the one under the present name, and is
    /// deleted when the present name is written.
    pub newer: ArrayVec<String, MAX_FORMER>,
    /// Names that were in force before the present one, or that were spelled otherwise in the release
    /// before. A counter that is found under one of them counts if there is none under the other names.
    /// It is left where it is, for nodes that have not been reloaded yet, and the counter under the
    /// present name is kept at least as long.
    pub older: ArrayVec<String, MAX_FORMER>,
}

/// The endings that the names of a limit's counters had before.
#[derive(Clone, Debug, Default)]
pub(crate) struct Former {
    /// The former endings, those with newer counters first.
    list: Vec<Ending>,
    /// How many endings of the list are newer than what is left under the present one.
    newer: usize,
    /// Until when counters may be left under endings that are no longer remembered.
    forgotten: Option<Timestamp>,
}

#[derive(Clone, Debug)]
struct Ending {
    /// What the limit counted by. While it counts by something else it has other counters; when it comes
    /// back to this scope, it finds these again.
    scope: Scope,
    text: Box<str>,
    /// When no counter whose name ends so is left.
    until: Timestamp,
    /// The place of this ending in the order in which endings have gone out of force.
    turn: u64,
    /// Whether stores look under names that end so.
    is_read: bool,
}

// === impl Names ===

impl Names {
    /// The names of a counter that has had no other name.
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

    /// The counter that `get` finds first under these names.
    pub fn find<R>(&self, get: impl FnMut(&str) -> Option<R>) -> Option<R> {
        self.in_order().find_map(get)
    }

    /// What to keep under which name so that the counter is left as `record`, where `found` was found
    /// under one of the names; a name with `None` is to be deleted. A counter with former names expires
    /// no earlier than `found`: if it were forgotten first, `found` would be found again. Only a quota
    /// keeps the expiry it has, because that tells the end of its period.
    #[must_use]
    pub fn changes(
        &self,
        found: Option<&Record>,
        record: Option<Record>,
    ) -> Vec<(&str, Option<Record>)> {
        let Some(mut record) = record else {
            return self.in_order().map(|name| (name, None)).collect();
        };
        if let (Some(found), Some(_)) = (found, self.former().next())
            && !matches!(record.kept, Kept::Quota(_))
        {
            record.expires_at_ms = record.expires_at_ms.max(found.expires_at_ms);
        }
        let newer = self.newer.iter().map(|name| (name.as_str(), None));
        newer.chain([(self.present.as_str(), Some(record))]).collect()
    }

    /// The names of the counter, each replaced by what `name` makes of it.
    #[must_use]
    pub fn map(&self, mut name: impl FnMut(&str) -> String) -> Self {
        let mut all = |names: &[String]| names.iter().map(|it| name(it)).collect();
        let (newer, older) = (all(&self.newer), all(&self.older));
        Self { present: name(&self.present), newer, older }
    }

    /// All names but the present one.
    pub fn former(&self) -> impl Iterator<Item = &str> {
        self.newer.iter().chain(&self.older).map(String::as_str)
    }
}

// === impl Former ===

impl Former {
    /// The former endings of `limit`, which takes the place of `earlier` at the time `at`. Without a time
    /// they are never forgotten.
    pub(super) fn succeeding(limit: &Limit, earlier: &Limit, at: Option<Timestamp>) -> Self {
        let (present, last) = (limit.ending(), earlier.ending());
        let mut former = earlier.former.clone();
        if (limit.scope, &present) != (earlier.scope, &last) {
            former.leave(earlier, at);
            let is_present = |it: &Ending| (it.scope, &*it.text) == (limit.scope, present.as_str());
            former.newer = match former.list.iter().position(is_present) {
                Some(place) => match former.list.remove(place).is_read {
                    true => place,
                    // The present ending was not looked at, so all that are looked at are newer.
                    false => former.list.len(),
                },
                // The present ending may be one that was forgotten, and then all others are newer.
                None if former.forgotten.is_some_and(|until| at.is_none_or(|at| at < until)) => {
                    former.list.len()
                }
                None => 0,
            };
        }
        former.retain(|ending| at.is_none_or(|at| at < ending.until));
        former
    }

    /// Adds the ending of `earlier`, which has been in force until now.
    fn leave(&mut self, earlier: &Limit, at: Option<Timestamp>) {
        // Counters that an earlier period has left behind may outlast those of a later one.
        let ends = |at: Timestamp| at.after(earlier.longest()).after(STRAGGLERS);
        let kept = self.list.iter().map(|ending| ending.until).max();
        let until = at.map_or(Timestamp::MAX, ends).max(kept.unwrap_or(Timestamp::ZERO));
        let turn = self.list.iter().map(|ending| ending.turn + 1).max().unwrap_or_default();
        let (scope, text) = (earlier.scope, earlier.ending().into());
        self.list.insert(self.newer, Ending { scope, text, until, turn, is_read: true });
        let turns = self.list.iter().filter(|it| it.is_read && it.scope == scope);
        let mut turns: Vec<u64> = turns.map(|ending| ending.turn).collect();
        turns.sort_unstable_by(|one, other| other.cmp(one));
        let unread = turns.get(MAX_ENDINGS).copied();
        for ending in self.list.iter_mut().filter(|it| it.scope == scope) {
            ending.is_read &= unread.is_none_or(|unread| ending.turn > unread);
        }
        if self.list.len() > MAX_KNOWN
            && let Some(oldest) = self.list.iter().map(|ending| ending.turn).min()
        {
            let gone = self.list.iter().find(|ending| ending.turn == oldest);
            self.forgotten = self.forgotten.max(gone.map(|ending| ending.until));
            self.retain(|ending| ending.turn != oldest);
        }
    }

    fn retain(&mut self, keep: impl Fn(&Ending) -> bool) {
        self.newer = self.list.iter().take(self.newer).filter(|ending| keep(ending)).count();
        self.list.retain(keep);
    }

    /// The names of a counter: `name` makes one of each former ending of this scope that is looked at.
    fn names(&self, scope: Scope, present: String, name: impl Fn(&str) -> String) -> Names {
        let (newer, older) = self.list.split_at(self.newer);
        let named = |list: &[Ending]| {
            let own = list.iter().filter(|ending| ending.is_read && ending.scope == scope);
            own.map(|ending| name(&ending.text)).collect()
        };
        Names { present, newer: named(newer), older: named(older) }
    }
}

// === impl Limit ===

impl Limit {
    /// The text that the names of the limit's counters end with.
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
        // The name of a probe's counter has no ending; its former names have one appended.
        let base = present.strip_suffix(&self.ending()).unwrap_or(&present).to_owned();
        self.former.names(self.scope, present, |ending| [&base, ending].concat())
    }

    /// The names of the counter that had this name when it was charged, maybe before a reload.
    pub(crate) fn names_of(&self, charged: &str) -> Names {
        let present = self.ending();
        let former = self.former.list.iter().map(|ending| &*ending.text);
        let endings = former.chain([present.as_str()]).filter(|ending| charged.ends_with(ending));
        match endings.max_by_key(|ending| ending.len()) {
            Some(ending) => {
                let base = charged.strip_suffix(ending).unwrap_or(charged);
                let present = [base, &present].concat();
                self.former.names(self.scope, present, |ending| [base, ending].concat())
            }
            // The counter was charged by a node that has other policies.
            None => Names::only(charged.to_owned()),
        }
    }

    /// The limit without the former endings that are another limit's by now, as `taken` says, and without
    /// those under which no counter is left at `now`; `None` if there is no such ending.
    pub(crate) fn forgetting(
        &self,
        now: Timestamp,
        taken: impl Fn(Scope, &str) -> bool,
    ) -> Option<Self> {
        let keep = |it: &Ending| now < it.until && !taken(it.scope, &it.text);
        if self.former.list.iter().all(keep) {
            return None;
        }
        let mut limit = self.clone();
        limit.former.retain(keep);
        Some(limit)
    }

    /// A span that no counter of the numbers in force is kept for longer than. It is three times the
    /// longest of their spans: a backoff may hold for as long as the window it is about, and a calendar's
    /// clocks may change.
    pub(super) fn longest(&self) -> Span {
        let longest = self.in_force().map(Shape::span).max().unwrap_or(Span::ZERO);
        Span::from_micros(longest.as_micros().saturating_mul(3))
    }
}
