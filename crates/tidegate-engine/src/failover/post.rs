//! One policy's standby, as the threads of a node share it.
//!
//! While all is well nobody locks anything: one word says that the store is to be asked, and of which
//! generation that is. Whatever changes the course does so under the lock, tells it, and only then
//! writes the word. So no request is refused under a condition that has not been told before.

use std::sync::PoisonError;

use tidegate_core::{Course, FailureMode, Fallback, Generation, Outputs, Standby, Timestamp};

use super::record::Counted;
use crate::sync::{AtomicU64, Mutex, Ordering};

/// The standby of one policy, shared.
#[derive(Debug)]
pub(crate) struct Post {
    /// The [`Route`], to be read without the lock.
    word: AtomicU64,
    standby: Mutex<Standby>,
    /// Tickets with smaller numbers were made before the last change of mode.
    tickets_from: AtomicU64,
    /// Whether this node knows of any block.
    knows_blocks: AtomicU64,
    /// The calls of this policy that are under way to the store.
    pub(crate) underway: AtomicU64,
    /// What has happened, for whoever asks.
    pub(crate) counted: Counted,
}

/// Whom to ask about a request, sampled once for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// The store, which is known to work.
    Ask(Permit),
    /// Nobody else: the standby decides.
    Local,
}

/// Under which course a request went to the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Permit {
    pub(crate) generation: Generation,
    /// Whether an answer is news.
    pub(crate) tell: bool,
}

const QUIET: u64 = 0;
const TELL: u64 = 1;
const LOCAL: u64 = 2;
const KINDS: u64 = 3;

// === impl Post ===

impl Post {
    pub(crate) fn new(failure: FailureMode, fallback: Fallback, now: Timestamp) -> Self {
        let standby = Standby::new(failure, fallback, now);
        Self {
            word: AtomicU64::new(word(&standby)),
            standby: Mutex::new(standby),
            tickets_from: AtomicU64::new(0),
            knows_blocks: AtomicU64::new(0),
            underway: AtomicU64::new(0),
            counted: Counted::default(),
        }
    }

    /// Whom to ask.
    #[inline]
    pub(crate) fn route(&self) -> Route {
        let word = self.word.load(Ordering::Acquire);
        match word & KINDS {
            LOCAL => Route::Local,
            kind => Route::Ask(Permit {
                generation: Generation::of_number(word >> 2),
                tell: kind == TELL,
            }),
        }
    }

    /// Does something with the standby that may change its course. What is to be told is handed to
    /// `tell`, before anybody acts on the change.
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

    /// Looks at the standby.
    pub(crate) fn look<T>(&self, at: impl FnOnce(&Standby) -> T) -> T {
        at(&self.standby.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Tickets made from now on are of another mode than those before.
    pub(crate) fn begin_tickets(&self, number: u64) {
        self.tickets_from.store(number, Ordering::Relaxed);
    }

    /// Whether a ticket of this node was made in the present mode.
    pub(crate) fn is_present(&self, number: u64) -> bool {
        number >= self.tickets_from.load(Ordering::Relaxed)
    }

    /// Whether there is a block to forget.
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
