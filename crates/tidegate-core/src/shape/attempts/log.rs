//! The state kept of attempts: the newest of them, and the block.

use arrayvec::ArrayVec;

use super::MAX_BLOCK_AT;
use crate::block::{Block, Level};
use crate::time::{Span, Timestamp};

/// The state kept for one key of an [`Attempts`](super::Attempts).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AttemptsState {
    /// The newest attempts, oldest first.
    pub(super) log: ArrayVec<Attempt, { MAX_BLOCK_AT as usize }>,
    /// The last block. On a ladder it matters for some time after its end, because the next one may be
    /// higher.
    pub(super) block: Option<Block>,
}

/// One recorded attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// When the attempt was made.
    pub at: Timestamp,
    /// The distinct value that the attempt was made with, where each of those counts once; zero
    /// otherwise.
    pub member: u64,
}

// === impl AttemptsState ===

impl AttemptsState {
    /// Restores a state that a store has kept. `None` if the attempts are too many or not in order.
    #[must_use]
    pub fn restored(
        attempts: impl IntoIterator<Item = Attempt>,
        block: Option<Block>,
    ) -> Option<Self> {
        let mut log = ArrayVec::new();
        for attempt in attempts {
            log.try_push(attempt).ok()?;
        }
        log.is_sorted_by_key(|attempt: &Attempt| attempt.at).then_some(Self { log, block })
    }

    /// The newest attempts, oldest first.
    #[must_use]
    pub fn attempts(&self) -> &[Attempt] {
        &self.log
    }

    /// The last block, which may have ended.
    #[must_use]
    pub const fn block(&self) -> Option<Block> {
        self.block
    }

    /// Imposes `block`, unless the present one lasts at least as long.
    #[must_use]
    pub fn blocked(mut self, block: Block) -> Self {
        self.begin(block, Timestamp::ZERO);
        self
    }

    /// Lifts the block and forgets the attempts that led to it, so that no new block begins at once.
    /// The level stays: a key that is blocked again soon climbs on.
    #[must_use]
    pub fn unblocked(mut self, now: Timestamp) -> Self {
        self.forget();
        self.block = self.block.and_then(|block| {
            let level: Level = block.level?;
            Some(Block { until: block.until.min(now), level: Some(level), ..block })
        });
        self
    }

    /// Takes out the attempt that was recorded at `taken_at`, and by `member` unless that is zero.
    /// Returns the state and how many were taken out. If time has gone back, the attempt was recorded
    /// later, at the time of the newest one before it.
    #[must_use]
    pub(super) fn given_back(mut self, member: u64, taken_at: Timestamp) -> (Self, u64) {
        let is_it =
            |attempt: &Attempt| attempt.at >= taken_at && (member == 0 || attempt.member == member);
        let place = self.log.iter().position(is_it);
        if let Some(place) = place {
            self.log.remove(place);
        }
        (self, u64::from(place.is_some()))
    }

    /// Forgets all attempts, but not the block. Returns the state and how many attempts there were.
    #[must_use]
    pub fn forgiven(mut self) -> (Self, u64) {
        let count = self.log.len() as u64;
        self.forget();
        (self, count)
    }

    /// The time to reckon with: `now`, or the newest attempt if that is later. Time does not go back
    /// for a key.
    pub(crate) fn now(&self, now: Timestamp) -> Timestamp {
        self.last().map_or(now, |last| last.max(now))
    }

    pub(super) fn last(&self) -> Option<Timestamp> {
        self.log.last().map(|attempt| attempt.at)
    }

    /// The block that holds at `now`, if any.
    pub(super) fn held(&self, now: Timestamp) -> Option<Block> {
        self.block.filter(|block| block.holds(now))
    }

    /// Begins `block`, unless one that holds at `now` lasts at least as long. Returns whether it began.
    pub(super) fn begin(&mut self, block: Block, now: Timestamp) -> bool {
        let longer = self.held(now).is_none_or(|held| held.until < block.until);
        if longer {
            self.block = Some(block);
        }
        longer
    }

    pub(super) fn forget(&mut self) {
        self.log.clear();
    }

    /// Adds an attempt, and keeps the newest `keeps`. Of each member only the newest attempt is kept.
    pub(super) fn push(&mut self, attempt: Attempt, keeps: u16) {
        if attempt.member != 0 {
            self.log.retain(|known| known.member != attempt.member);
        }
        let excess = (self.log.len() + 1).saturating_sub(usize::from(keeps));
        self.log.drain(..excess.min(self.log.len()));
        let _ = self.log.try_push(attempt);
    }

    /// How many attempts are in the window of this length that ends at `now`.
    pub(super) fn count(&self, per: Span, now: Timestamp) -> u16 {
        let live = |attempt: &&Attempt| now.since(attempt.at) < per;
        let count = self.log.iter().rev().take_while(live).count();
        u16::try_from(count).unwrap_or(u16::MAX)
    }

    /// The attempts that count beside a new one of `member`, newest first: those of the same member do
    /// not.
    pub(super) fn newest_others(&self, member: u64) -> impl Iterator<Item = &Attempt> {
        self.log.iter().rev().filter(move |known| member == 0 || known.member != member)
    }
}
