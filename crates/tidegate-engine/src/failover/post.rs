//! One policy's standby, as the threads of a node share it.
//!
//! While all is well nothing is locked: one word says that the store is to be asked, and in which
//! generation. A change of course is made under the lock, reported, and only then written to the
//! word. So no request is refused because of a change that has not been reported before.

use std::sync::PoisonError;

use tidegate_core::{Course, Generation, Outputs, Policy, Standby, Timestamp};

use super::history::HistoryCounters;
use crate::sync::{AtomicU64, Mutex, Ordering};

/// The standby of one policy, shared by the threads of a node.
#[derive(Debug)]
pub(crate) struct Post {
    /// The [`Decider`], to be read without the lock.
    word: AtomicU64,
    standby: Mutex<Standby>,
    /// The first ticket number since the last change of mode.
    tickets_from: AtomicU64,
    /// Whether this node knows of any block.
    knows_blocks: AtomicU64,
    /// The calls of this policy that are under way to the store.
    pub(crate) underway: AtomicU64,
    /// Counts of what has happened between the policy and its store.
    pub(crate) counted: HistoryCounters,
}

/// Who decides a request; read once for each request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decider {
    /// The store is asked.
    Ask(Permit),
    /// The standby decides, and the store is not asked.
    Local,
}

/// The permission to ask the store about a request, and the generation in which it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Permit {
    pub(crate) generation: Generation,
    /// Whether the standby has to be told if the store answers.
    pub(crate) tell: bool,
}

const QUIET: u64 = 0;
const TELL: u64 = 1;
const LOCAL: u64 = 2;
const KINDS: u64 = 3;

// === impl Post ===

impl Post {
    pub(crate) fn new(policy: &Policy, now: Timestamp) -> Self {
        let standby = Standby::new(policy.failure(), policy.fallback(), now);
        Self {
            word: AtomicU64::new(word(&standby)),
            standby: Mutex::new(standby),
            tickets_from: AtomicU64::new(0),
            knows_blocks: AtomicU64::new(0),
            underway: AtomicU64::new(0),
            counted: HistoryCounters::default(),
        }
    }

    /// Who decides the next request.
    #[inline]
    pub(crate) fn route(&self) -> Decider {
        let word = self.word.load(Ordering::Acquire);
        match word & KINDS {
            LOCAL => Decider::Local,
            kind => Decider::Ask(Permit {
                generation: Generation::of_number(word >> 2),
                tell: kind == TELL,
            }),
        }
    }

    /// Changes the standby under its lock. `tell` gets what is to be reported, before any thread
    /// acts on the change.
    pub(crate) fn change<T>(
        &self,
        act: impl FnOnce(&mut Standby) -> (Outputs, T),
        tell: impl FnOnce(Outputs),
    ) -> T {
        let mut standby = self.standby.lock().unwrap_or_else(PoisonError::into_inner);
        let (outputs, done) = act(&mut standby);
        tell(outputs);
        self.knows_blocks.store(u64::from(!standby.mirror().is_empty()), Ordering::Relaxed);
        self.word.store(word(&standby), Ordering::Release);
        done
    }

    /// Reads the standby under its lock.
    pub(crate) fn look<T>(&self, at: impl FnOnce(&Standby) -> T) -> T {
        at(&self.standby.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Notes a change of mode: tickets from this number on are of the new mode.
    pub(crate) fn begin_tickets(&self, number: u64) {
        self.tickets_from.store(number, Ordering::Relaxed);
    }

    /// Whether a ticket of this node was made in the present mode.
    pub(crate) fn is_present(&self, number: u64) -> bool {
        number >= self.tickets_from.load(Ordering::Relaxed)
    }

    /// Whether this node knows of any block, which it may have to forget.
    #[inline]
    pub(crate) fn knows_blocks(&self) -> bool {
        self.knows_blocks.load(Ordering::Relaxed) != 0
    }
}

fn word(standby: &Standby) -> u64 {
    let failover = standby.failover();
    match failover.course() {
        Course::Ask(generation) => {
            let kind = if failover.wants_answers() { TELL } else { QUIET };
            generation.number() << 2 | kind
        }
        Course::Guard | Course::Deny(_) => LOCAL,
    }
}
