//! How many calls a node may have under way to its store at once.
//!
//! A store that works answers so many calls in a given time and no more. What is sent beyond that waits
//! in line, is answered after its deadline, and makes a healthy store look like a dead one: whoever can
//! send many requests could so switch the limits off (contract A39, threat T24). So a node sends what
//! can be answered in time, and sheds the rest at once.
//!
//! A fixed number was refused: right for one machine, it is too many for a slow one and too few for a
//! store that is far away. The bound is found by asking. It begins with what a slow store manages in a
//! quarter of the shortest deadline; an answer that takes longer than that quarter halves it; it grows by
//! a quarter once as many answers were quick while calls were being shed. Three quarters of the deadline
//! are left for what nobody foresees.
//!
//! The policies of a node share the bound, because they share the store. Each may have as many calls
//! under way as there is room left beside all of them: one that is flooded takes half, two take a third
//! each. A part of the bound is the policy's own, whatever the others do, so that no flood of others
//! sheds what a policy that is not flooded itself asks for.

use crate::time::{Span, Timestamp};

/// The bound on the calls that a node has under way to its store, and what it is learnt from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Headroom {
    /// The longest that a quick answer takes.
    quick: Span,
    bound: u32,
    /// Whether calls were shed since the bound was changed.
    wanted: bool,
    /// Quick answers since the first of these calls was shed.
    answers: u32,
    /// When the bound was changed. Calls that began before say nothing about the present one.
    since: Timestamp,
}

// === impl Headroom ===

impl Headroom {
    /// The smallest bound. Every store that is worth asking answers as many in a fraction of a deadline.
    pub const LEAST: u32 = 64;

    /// The largest bound. A store that was quick may turn slow, and then has this many to answer.
    pub const MOST: u32 = 1_024;

    /// Calls per millisecond that a store is expected to answer before anything is known of it.
    pub const EXPECTED: u64 = 10;

    /// The shortest deadline holds this many times the time a quick answer takes.
    pub const SHARES: u64 = 4;

    /// The bound of a node that has asked nothing yet, by the shortest deadline of its policies.
    #[must_use]
    pub fn new(shortest: Span) -> Self {
        let quick = quick(shortest);
        let expected = quick.as_micros().saturating_mul(Self::EXPECTED) / 1_000;
        let bound = within_limits(u32::try_from(expected).unwrap_or(u32::MAX));
        let since = Timestamp::from_micros(0);
        Self { quick, bound, wanted: false, answers: 0, since }
    }

    /// Takes over another shortest deadline, after a reload. What was learnt stays.
    pub fn follow(&mut self, shortest: Span) {
        self.quick = quick(shortest);
    }

    /// The calls that may be under way at once, for all policies together.
    #[must_use]
    pub const fn bound(&self) -> u32 {
        self.bound
    }

    /// The longest that an answer may take before it is a sign of too many calls.
    #[must_use]
    pub const fn quick(&self) -> Span {
        self.quick
    }

    /// Whether quick answers are counted, because calls were shed under the present bound.
    #[must_use]
    pub const fn is_wanted(&self) -> bool {
        self.wanted
    }

    /// Takes note that calls are being shed under the present bound.
    pub const fn shed(&mut self) {
        self.wanted = true;
    }

    /// Takes note of an answer, or of a call that was given up, at `at` to a call that began at `began`.
    pub fn answered(&mut self, began: Timestamp, at: Timestamp) {
        if began < self.since {
            return;
        }
        if at.since(began) > self.quick {
            return self.change(self.bound / 2, at);
        }
        if self.wanted {
            self.answers += 1;
            if self.answers >= self.bound {
                self.change(self.bound + self.bound / 4, at);
            }
        }
    }

    /// Whether somebody who has `held` calls under way may make another, of `total` that all of so many
    /// `parties` have together. Half of an equal share is everybody's own; rounded up it is at least
    /// one call, so that every policy finds out how the store is.
    #[must_use]
    pub const fn admits(bound: u64, parties: u64, total: u64, held: u64) -> bool {
        held * 2 * parties < bound || held < bound.saturating_sub(total)
    }

    fn change(&mut self, bound: u32, at: Timestamp) {
        self.bound = within_limits(bound);
        (self.wanted, self.answers, self.since) = (false, 0, at);
    }
}

const fn quick(shortest: Span) -> Span {
    Span::from_micros(shortest.as_micros() / Headroom::SHARES)
}

fn within_limits(bound: u32) -> u32 {
    bound.clamp(Headroom::LEAST, Headroom::MOST)
}
