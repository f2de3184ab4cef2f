//! The calls that a node has under way to its store, counted so that there are never too many.
//!
//! The rule is the core's ([`Headroom`]). Here it meets the threads: two counters say how many calls are
//! under way, a call leaves them when its [`Underway`] is dropped, whether it was answered, failed or
//! cancelled, and nobody waits for a lock. While answers are quick and nothing is shed, the rule is not
//! even asked.

use std::sync::PoisonError;

use tidegate_core::{Headroom, Policy, PolicySet, PolicySpec, Span, Timestamp};

use crate::sync::{AtomicU64, Mutex, Ordering};

/// The calls under way to the store of one node.
#[derive(Debug)]
pub(crate) struct Traffic {
    /// The bound on calls under way, as the rule last set it; read without the lock.
    bound: AtomicU64,
    /// The longest that a quick answer takes, in microseconds.
    quick: AtomicU64,
    /// Whether calls were shed under the present bound.
    wanted: AtomicU64,
    /// How many share the bound: each policy, and the settling of tickets.
    parties: AtomicU64,
    /// All calls under way.
    total: AtomicU64,
    /// The calls under way that settle tickets. They belong to no one policy, and have a share of
    /// their own.
    settling: AtomicU64,
    rule: Mutex<Headroom>,
}

/// A place among the calls under way, free again when this is dropped.
#[must_use = "the place is free again as soon as this is dropped"]
#[derive(Debug)]
pub(crate) struct Underway<'t> {
    traffic: &'t Traffic,
    held: &'t AtomicU64,
    began: Timestamp,
}

// === impl Traffic ===

impl Traffic {
    /// No calls under way, to a store that these policies ask and that allows `patience` for each
    /// call.
    pub(crate) fn of(policies: &PolicySet, patience: Option<Span>) -> Self {
        let rule = Headroom::new(shortest(policies, patience));
        Self {
            bound: AtomicU64::new(rule.bound().into()),
            quick: AtomicU64::new(rule.quick().as_micros()),
            wanted: AtomicU64::new(0),
            parties: AtomicU64::new(parties(policies)),
            total: AtomicU64::new(0),
            settling: AtomicU64::new(0),
            rule: Mutex::new(rule),
        }
    }

    /// Adopts the number and the deadlines of other policies.
    pub(crate) fn follow(&self, policies: &PolicySet, patience: Option<Span>) {
        let mut rule = self.rule.lock().unwrap_or_else(PoisonError::into_inner);
        rule.follow(shortest(policies, patience));
        self.quick.store(rule.quick().as_micros(), Ordering::Relaxed);
        self.parties.store(parties(policies), Ordering::Relaxed);
    }

    /// A place for a call that begins now; `held` counts the calls under way of the same policy.
    /// `None` if the call is to be shed.
    pub(crate) fn enter<'t>(
        &'t self,
        held: &'t AtomicU64,
        began: Timestamp,
    ) -> Option<Underway<'t>> {
        let bound = self.bound.load(Ordering::Relaxed);
        let parties = self.parties.load(Ordering::Relaxed);
        let (total, mine) = (self.total.load(Ordering::Relaxed), held.load(Ordering::Relaxed));
        if !Headroom::admits(bound, parties, total, mine) {
            return self.shed();
        }
        let total = self.total.fetch_add(1, Ordering::Relaxed);
        let mine = held.fetch_add(1, Ordering::Relaxed);
        let underway = Underway { traffic: self, held, began };
        // Other calls may have entered since the counters were read.
        match Headroom::admits(bound, parties, total, mine) {
            true => Some(underway),
            false => self.shed(),
        }
    }

    /// A place for a settlement that begins now.
    pub(crate) fn enter_settling(&self, began: Timestamp) -> Option<Underway<'_>> {
        self.enter(&self.settling, began)
    }

    fn shed(&self) -> Option<Underway<'_>> {
        if self.wanted.load(Ordering::Relaxed) == 0 {
            self.wanted.store(1, Ordering::Relaxed);
        }
        None
    }

    fn answered(&self, began: Timestamp, at: Timestamp) {
        let is_quick = at.since(began).as_micros() <= self.quick.load(Ordering::Relaxed);
        let wanted = self.wanted.load(Ordering::Relaxed) != 0;
        if is_quick && !wanted {
            return;
        }
        // If another thread holds the lock, this answer is skipped: more answers will come.
        let Ok(mut rule) = self.rule.try_lock() else { return };
        if wanted {
            rule.shed();
        }
        rule.answered(began, at);
        self.bound.store(rule.bound().into(), Ordering::Relaxed);
        self.wanted.store(rule.is_wanted().into(), Ordering::Relaxed);
    }
}

// === impl Underway ===

impl Underway<'_> {
    /// Notes when the store has answered, or was given up.
    pub(crate) fn answered(&self, at: Timestamp) {
        self.traffic.answered(self.began, at);
    }
}

impl Drop for Underway<'_> {
    fn drop(&mut self) {
        self.held.fetch_sub(1, Ordering::Relaxed);
        self.traffic.total.fetch_sub(1, Ordering::Relaxed);
    }
}

fn parties(policies: &PolicySet) -> u64 {
    policies.policies().len() as u64 + 1
}

/// The shortest time in which a call has to be answered.
fn shortest(policies: &PolicySet, patience: Option<Span>) -> Span {
    let deadlines = policies.policies().iter().map(Policy::deadline);
    deadlines.chain(patience).min().unwrap_or(*PolicySpec::DEADLINES.end())
}
