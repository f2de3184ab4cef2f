//! What organisations have left of their quotas.
//!
//! Each gauge shows what the last decision said. A decision that finds another at the gauges leaves them
//! as they are: the next one says it as well, and nobody waits for a gauge.

use std::sync::{Mutex, PoisonError};

use tidegate_core::{
    Decision, Dimension, Explanation, Name, Policy, PolicySet, Scope, ShapeKind, Timestamp,
};

use super::busiest::{Busiest, OrgPlace};
use super::collect::OTHER;

/// The gauges of quotas.
pub(super) struct Quotas(Mutex<Board>);

/// The gauges: a row for each organisation with a place and one for all others, a column for each quota.
struct Board {
    orgs: Busiest,
    /// The policy and the limit of each quota, by column; at most [`MOST`].
    quotas: Vec<(Name, Name)>,
    rows: Vec<Vec<Option<u64>>>,
    others: Vec<Option<Least>>,
}

/// The least value that was seen in this minute, and in the one before.
#[derive(Clone, Copy, Debug)]
struct Least {
    minute: u64,
    now: u64,
    before: Option<u64>,
}

/// The most quotas that are shown.
const MOST: usize = 64;

// === impl Quotas ===

impl Quotas {
    pub(super) fn new(orgs: Busiest) -> Self {
        let (quotas, rows, others) = (Vec::new(), Vec::new(), Vec::new());
        Self(Mutex::new(Board { orgs, quotas, rows, others }))
    }

    /// Notes what a decision leaves of an organisation's quotas.
    #[inline]
    pub(super) fn decided(&self, decision: &Decision<'_>, org: &str) {
        let policy = decision.policy();
        if decision.explain().any(|said| is_shown(policy, &said)) {
            self.note(decision, org);
        }
    }

    #[inline(never)]
    fn note(&self, decision: &Decision<'_>, org: &str) {
        let Ok(mut board) = self.0.try_lock() else { return };
        let place = board.orgs.place(org);
        if let OrgPlace::Taken(place) = place {
            board.clear(place);
        }
        let policy = decision.policy();
        for said in decision.explain().filter(|said| is_shown(policy, said)) {
            let remaining = said.reading.remaining.max(0).unsigned_abs();
            let Some(column) = board.column(policy.name(), said.limit.name()) else { continue };
            match place {
                OrgPlace::Kept(place) | OrgPlace::Taken(place) => {
                    *cell(cell(&mut board.rows, place), column) = Some(remaining);
                }
                OrgPlace::Other => {
                    let least = cell(&mut board.others, column);
                    *least = Some(Least::and(*least, remaining, decision.decided_at()));
                }
            }
        }
    }

    /// All gauges of the quotas in this set, each with its organisation, policy and limit; those of other
    /// quotas are forgotten.
    pub(super) fn left(&self, set: &PolicySet) -> Vec<([String; 3], u64)> {
        let mut board = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        board.keep(set);
        let named = board.rows.iter().enumerate().flat_map(|(place, row)| {
            let org = board.orgs.id(place).unwrap_or(OTHER);
            row.iter().enumerate().map(move |(column, left)| (org, column, *left))
        });
        let others = board.others.iter().map(|least| least.map(Least::least));
        let others = others.enumerate().map(|(column, left)| (OTHER, column, left));
        let all = named.chain(others).filter_map(|(org, column, left)| {
            let (policy, limit) = board.quotas.get(column)?;
            Some(([org.to_owned(), policy.to_string(), limit.to_string()], left?))
        });
        all.collect()
    }
}

/// Whether this is a quota that an organisation has once: not one for each user, say.
#[inline]
fn is_shown(policy: &Policy, said: &Explanation<'_>) -> bool {
    said.shape.kind() == ShapeKind::Quota && is_of_org(policy, said.limit.scope())
}

fn is_of_org(policy: &Policy, scope: Scope) -> bool {
    scope.contains(Dimension::Org)
        && scope.dimensions().all(|by| match by {
            Dimension::Org => true,
            // There is one for each class, unless the policy has only one class.
            Dimension::Class => policy.class().is_some(),
            _ => false,
        })
}

// === impl Board ===

impl Board {
    /// The column of a quota, if there is room for it.
    fn column(&mut self, policy: &Name, limit: &Name) -> Option<usize> {
        let is_it = |quota: &(Name, Name)| quota.1 == *limit && quota.0 == *policy;
        let found = self.quotas.iter().position(is_it);
        if found.is_none() && self.quotas.len() < MOST {
            self.quotas.push((policy.clone(), limit.clone()));
            return Some(self.quotas.len() - 1);
        }
        found
    }

    /// Forgets the values of the organisation that had this place.
    fn clear(&mut self, place: usize) {
        cell(&mut self.rows, place).clear();
    }

    /// Forgets the quotas that are not in this set.
    fn keep(&mut self, set: &PolicySet) {
        let is_there = |(policy, limit): &(Name, Name)| {
            let policy = set.get(policy.as_str());
            policy.is_some_and(|policy| policy.limits().iter().any(|it| it.name() == limit))
        };
        for column in (0..self.quotas.len()).rev() {
            if !is_there(&self.quotas[column]) {
                self.quotas.remove(column);
                remove(&mut self.others, column);
                self.rows.iter_mut().for_each(|row| remove(row, column));
            }
        }
    }
}

// === impl Least ===

impl Least {
    fn and(least: Option<Self>, remaining: u64, at: Timestamp) -> Self {
        let minute = at.as_micros() / 60_000_000;
        match least {
            Some(least) if least.minute >= minute => {
                Self { now: least.now.min(remaining), ..least }
            }
            Some(least) => {
                let before = (least.minute + 1 == minute).then_some(least.now);
                Self { minute, now: remaining, before }
            }
            None => Self { minute, now: remaining, before: None },
        }
    }

    fn least(self) -> u64 {
        self.before.map_or(self.now, |before| before.min(self.now))
    }
}

/// The element at this place of a list, which grows if it is too short.
fn cell<T: Default>(list: &mut Vec<T>, place: usize) -> &mut T {
    if list.len() <= place {
        list.resize_with(place + 1, T::default);
    }
    &mut list[place]
}

fn remove<T>(list: &mut Vec<T>, place: usize) {
    if place < list.len() {
        list.remove(place);
    }
}
