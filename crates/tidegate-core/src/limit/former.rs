//! Names that the counters of a limit had before a reload.
//!
//! The name of a counter ends with the period of its limit, so a store that goes by names finds nothing
//! there once a reload has changed the period: a fresh limit for everybody, even where the new numbers
//! are the stricter ones. So a limit remembers how its names ended before, and a store that finds nothing
//! under the present name looks under those, in the same step. What it finds is read as state that was
//! written under other numbers is, and written under the present name; two are never added up.
//!
//! A reload may come back to an ending that was in force before. What is left under that name is then
//! older than what was counted since, so the present ending has its place among the others. It keeps
//! that place while it is in force and when it is former again: counters that were not charged meanwhile
//! are as old as they were, and of those that were, nothing is left under any newer name.
//!
//! Only those are looked at that were in force last. The others are remembered as long as counters may be
//! left under them, so that a reload that comes back to one of them knows which names are newer.

use arrayvec::ArrayVec;

use super::Limit;
use crate::kept::Kept;
use crate::record::Record;
use crate::shape::Shape;
use crate::subject::Scope;
use crate::time::{Span, Timestamp};

/// The most former names of a counter that are looked at: those of two endings, and the names that
/// all three had in the release before.
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
    /// Names that were in force after the present one had been: a reload has come back to it. A counter
    /// that is found under one of them counts instead of the one under the present name, and is
    /// deleted when that is written.
    pub newer: ArrayVec<String, MAX_FORMER>,
    /// Names that were in force before the present one, or that it had in the release before. A counter
    /// that is found under one of them counts if there is none under the other names. It is left where it
    /// is, for nodes that have not been reloaded yet, and whoever writes the present name lets it live no
    /// shorter.
    pub older: ArrayVec<String, MAX_FORMER>,
}

/// The endings that the names of a limit's counters had before.
#[derive(Clone, Debug, Default)]
pub(crate) struct Former {
    /// Those first whose counters are newer, where there are counters under several.
    list: Vec<Ending>,
    /// How many of them are newer than what is left under the present one.
    newer: usize,
    /// Until when counters may be left under endings that are not remembered.
    forgotten: Option<Timestamp>,
}

#[derive(Clone, Debug)]
struct Ending {
    /// What the limit counted by. A limit that counts by something else has other counters, and one that
    /// comes back to it finds them again.
    scope: Scope,
    text: Box<str>,
    /// When no counter with such a name is left.
    until: Timestamp,
    /// How many endings had been left before this one was.
    turn: u64,
    /// Whether it is looked at.
    is_read: bool,
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

    /// What there is of the counter: what `get` finds first under its names.
    pub fn find<R>(&self, get: impl FnMut(&str) -> Option<R>) -> Option<R> {
        self.in_order().find_map(get)
    }

    /// What to keep under which name so that the counter is left as `record`, where `found` was found
    /// under one of them; `None` is to be deleted. A counter that has former names expires no earlier
    /// than what was found: it must not be forgotten while that is still there, or it would be found
    /// again. The expiry of a quota tells the end of its period, and does so by itself.
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

    /// The same counter under other names.
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
    /// The former endings of `limit`, which takes the place of `earlier` at `at`. Without a time they are
    /// never forgotten.
    pub(super) fn succeeding(limit: &Limit, earlier: &Limit, at: Option<Timestamp>) -> Self {
        let (present, last) = (limit.ending(), earlier.ending());
        let mut former = earlier.former.clone();
        if (limit.scope, &present) != (earlier.scope, &last) {
            former.leave(earlier, at);
            let is_present = |it: &Ending| (it.scope, &*it.text) == (limit.scope, present.as_str());
            former.newer = match former.list.iter().position(is_present) {
                Some(place) => match former.list.remove(place).is_read {
                    true => place,
                    // Nothing that is read is older than what is left under a name that was not.
                    false => former.list.len(),
                },
                // It may be one that was forgotten, and then everything is newer.
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
        // What an earlier period has left behind may outlast the later one.
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

    /// Gives each ending of this scope to `name`, which makes a name of it.
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
        // The names of a probe's counters have no ending, and are told apart by it all the same.
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
            // Of a node that has other policies.
            None => Names::only(charged.to_owned()),
        }
    }

    /// The limit without the former endings that `taken` says are another's by now, and without those
    /// of which no counter is left at `now`; `None` if there are none of either.
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

    /// The longest that any counter of its numbers in force is kept for. A backoff may hold for as long
    /// as the window it is about, and a calendar's clocks may change.
    fn longest(&self) -> Span {
        let longest = self.in_force().map(Shape::span).max().unwrap_or(Span::ZERO);
        Span::from_micros(longest.as_micros().saturating_mul(3))
    }
}
