//! One node of the simulation: its breaker, its clock, and where it is in the sequence of changes.

use tidegate_core::{
    Breaker, BreakerInput, BreakerOutputs, BreakerSettings, Cursor, Span, Timestamp,
};

/// A process with a breaker.
#[derive(Debug)]
pub(super) struct BreakerNode {
    pub(super) breaker: Breaker,
    /// Counts how often the process has begun anew: what is under way for an earlier life gets lost.
    pub(super) life: u64,
    /// How far its clock is ahead.
    ahead: Span,
    pub(super) cursor: Cursor,
    /// The number of the last request for changes.
    pub(super) poll: u64,
    /// When the request for changes that is under way was sent.
    pub(super) polled_at: Option<u64>,
    /// Whether the fleet can be reached.
    pub(super) is_cut: bool,
    /// Until when the process stands still.
    pub(super) stands_until: u64,
    /// Since when no message of the node was lost or late, nor the node itself.
    pub(super) reached_since: u64,
}

impl BreakerNode {
    pub(super) fn new(settings: BreakerSettings, id: u64, ahead: Span, now: u64) -> Self {
        let start = Timestamp::from_micros(now).after(ahead);
        Self {
            breaker: Breaker::new(settings, id, start),
            life: 0,
            ahead,
            cursor: Cursor::START,
            poll: 0,
            polled_at: None,
            is_cut: false,
            stands_until: 0,
            reached_since: now,
        }
    }

    /// The process crashes, and another one takes its place.
    pub(super) fn crash(&mut self, settings: BreakerSettings, id: u64, ahead: Span, now: u64) {
        let (life, is_cut) = (self.life + 1, self.is_cut);
        *self = Self { life, is_cut, ..Self::new(settings, id, ahead, now) };
    }

    /// The time by the clock of this node.
    pub(super) fn clock(&self, now: u64) -> Timestamp {
        Timestamp::from_micros(now).after(self.ahead)
    }

    pub(super) fn step(&mut self, input: BreakerInput, now: u64) -> BreakerOutputs {
        let (breaker, out) = self.breaker.clone().step(input, self.clock(now));
        self.breaker = breaker;
        out
    }
}
