//! How many calls a node may have under way to its store at once.
//!
//! A store that works answers only so many calls in a given time. A call sent beyond that waits in
//! line, is answered after its deadline, and makes a healthy store look like a dead one: whoever can
//! send many requests could switch the limits off that way (contract A39, threat T24). So a node sends
//! what can be answered in time, and sheds the rest at once.
//!
//! A fixed number was rejected: right for one machine, it is too many for a slow one and too few for a
//! store that is far away. The bound is learnt instead. It begins with what a slow store manages in a
//! quarter of the shortest deadline. An answer that takes longer than that quarter halves the bound; as
//! many quick answers as the bound, while calls are being shed, raise it by a quarter. Three quarters
//! of the deadline are left for what nobody foresees.
//!
//! The policies of a node share the bound, because they share the store. Each may have as many calls
//! under way as there is room left beside all of them: one that is flooded takes half, two take a third
//! each. A part of the bound is each policy's own, so that a policy which is not flooded itself is not
//! shed because others are.

use crate::time::{Span, Timestamp};

/// The bound on the calls that a node has under way to its store, and what it is learnt from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Headroom {
    /// The longest that a quick answer takes.
    quick: Span,
    bound: u32,
    /// Whether calls were shed since the bound was last changed.
    wanted: bool,
    /// Quick answers since the first call was shed under the present bound.
    answers: u32,
    /// When the bound was last changed. Calls that began before say nothing about the present one.
    since: Timestamp,
}

// === impl Headroom ===

impl Headroom {
    /// The smallest bound. Every store that is worth asking answers that many in a fraction of a
    /// deadline.
    pub const LEAST: u32 = 64;

    /// The largest bound. A store that was quick may turn slow, and then has this many to answer.
    pub const MOST: u32 = 1_024;

    /// Calls per millisecond that a store is expected to answer before anything is known of it.
    pub const EXPECTED: u64 = 10;

    /// How many times a quick answer fits into the shortest deadline.
    pub const SHARES: u64 = 4;

    /// The headroom of a node that has asked nothing yet, by the shortest deadline of its policies.
    #[must_use]
    pub fn new(shortest: Span) -> Self {
        let quick = quick(shortest);
        let expected = quick.as_micros().saturating_mul(Self::EXPECTED) / 1_000;
        let bound = within_limits(u32::try_from(expected).unwrap_or(u32::MAX));
        let since = Timestamp::from_micros(0);
        Self { quick, bound, wanted: false, answers: 0, since }
    }

    /// Takes over the shortest deadline after a reload. The bound that was learnt stays.
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

    /// Notes that calls are being shed under the present bound.
    pub const fn shed(&mut self) {
        self.wanted = true;
    }

    /// Notes that a call which began at `began` was answered, or given up, at `at`.
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

    /// Whether one party with `held` calls under way may make another, where all `parties` together
    /// have `total` under way. Half of an equal share is each party's own; rounded up it is at least
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
