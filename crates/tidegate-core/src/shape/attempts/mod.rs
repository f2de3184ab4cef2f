//! The abuse log: attempts in two sliding windows, and the block that too many of them begin.
//!
//! ```text
//! temp  block_at 3 in 60 s ──▶ block of 30 s          attempts: the newest, up to the larger
//! long  block_at 6 in 10 m ──▶ block of 1 h           threshold; block: until, scope, level
//! ```
//!
//! The attempt that reaches a threshold is the first one refused, so `block_at` of N lets N − 1 pass.
//! There are two kinds of abuse log, and both are one atomic step over the same state:
//!
//! * [Two windows](Attempts::try_new): attempts count, refused ones too; blocks have a fixed length; a
//!   short block becomes a long one, once, if attempts go on until the long window is full. During a
//!   long block attempts do not count: that could only begin another block as soon as this one ends.
//! * [A ladder](Attempts::climbing): the attempt that fills the window begins a block whose length
//!   depends on the blocks before it, and the log begins anew. Refused attempts leave no trace, so
//!   somebody else's hammering neither begins a block nor makes one longer.
//!
//! Both windows are half-open: an attempt at `t` counts until just before `t + per`.

mod log;
#[cfg(test)]
mod tests;

pub use log::{Attempt, AttemptsState};

use super::{Reading, Room, ShapeError, checked_length};
use crate::block::{Block, BlockScope, Ladder};
use crate::time::{MAX_EXACT, Span, Timestamp};

/// The largest `block_at`, and so the length of the longest log.
pub const MAX_BLOCK_AT: u16 = 100;

/// The largest `block_at` where [distinct](crate::Limit::distinct) values are counted, because each
/// value takes two places.
pub const MAX_DISTINCT: u16 = MAX_BLOCK_AT / 2;

/// How many attempts are too many in which window, and how long the block is that they begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threshold {
    /// The number of the attempt that is refused and begins the block: N lets N − 1 pass.
    pub block_at: u16,
    /// The length of the window.
    pub per: Span,
    /// The length of the block.
    pub block: Span,
}

/// The abuse log: one or two windows of attempts, and the blocks that too many of them begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempts {
    temp: Threshold,
    long: Option<Threshold>,
    ladder: Option<Ladder>,
}

/// The attempts that an [`Attempts`] has counted, and its block: a part of its [`Reading`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tally {
    /// Attempts in the short window.
    pub temp: u16,
    /// Attempts in the long window, up to its `block_at`; zero without a long window.
    pub long: u16,
    /// The block in force, if any.
    pub block: Option<Block>,
    /// Whether this very attempt began `block`, or made a short block a long one.
    pub begins: bool,
}

// === impl Attempts ===

impl Attempts {
    /// A short window and perhaps a long one, with blocks of fixed length. Every attempt counts,
    /// refused ones too.
    ///
    /// # Errors
    ///
    /// If a number is zero or beyond its range, if a `block_at` of 1 would refuse everything, or if the
    /// long window is not longer and larger than the short one, so that one of them would never be
    /// reached.
    pub fn try_new(temp: Threshold, long: Option<Threshold>) -> Result<Self, ShapeError> {
        for threshold in core::iter::once(&temp).chain(&long) {
            checked_block_at(threshold.block_at)?;
            checked_length(threshold.per, MAX_EXACT >> 6)?;
            checked_length(threshold.block, MAX_EXACT >> 6)?;
        }
        match long {
            Some(long) if long.per <= temp.per || long.block_at <= temp.block_at => {
                Err(ShapeError::LongNotLonger)
            }
            _ => Ok(Self { temp, long, ladder: None }),
        }
    }

    /// One window, with blocks that grow longer the more often they begin. Refused attempts leave no
    /// trace.
    ///
    /// # Errors
    ///
    /// If a number is zero or beyond its range, or a `block_at` of 1 would refuse everything.
    pub fn climbing(block_at: u16, per: Span, ladder: Ladder) -> Result<Self, ShapeError> {
        checked_block_at(block_at)?;
        checked_length(per, MAX_EXACT >> 6)?;
        let temp = Threshold { block_at, per, block: ladder.from().lasts() };
        Ok(Self { temp, long: None, ladder: Some(ladder) })
    }

    /// The same kind of log for probes: windows of length `per`, and more attempts than probes make.
    pub(super) fn brief(&self, per: Span) -> Result<Self, ShapeError> {
        let threshold = |block_at, per| Threshold { block_at, per, block: per };
        let twice = Span::from_micros(2 * per.as_micros());
        match &self.ladder {
            Some(ladder) => Self::climbing(MAX_DISTINCT, per, *ladder),
            None => Self::try_new(
                threshold(MAX_DISTINCT - 1, per),
                self.long.map(|_| threshold(MAX_DISTINCT, twice)),
            ),
        }
    }

    /// The short window. On a ladder, its `block` is the length of the first block.
    #[must_use]
    pub const fn temp(&self) -> &Threshold {
        &self.temp
    }

    /// The long window, if there is one.
    #[must_use]
    pub const fn long(&self) -> Option<&Threshold> {
        self.long.as_ref()
    }

    /// The ladder on which blocks grow longer, if there is one.
    #[must_use]
    pub const fn ladder(&self) -> Option<&Ladder> {
        self.ladder.as_ref()
    }

    /// How many attempts are kept; no older one can matter.
    #[must_use]
    pub const fn keeps(&self) -> u16 {
        match &self.long {
            Some(long) => long.block_at,
            None => self.temp.block_at,
        }
    }

    /// The length of the longer window.
    pub(crate) const fn longest(&self) -> Span {
        match &self.long {
            Some(long) => long.per,
            None => self.temp.per,
        }
    }

    /// Whether an attempt of `member` passes at `now`.
    #[must_use]
    pub fn room(&self, state: Option<&AttemptsState>, member: u64, now: Timestamp) -> Room {
        let Some(state) = state else { return Room::Now };
        let seen = state.now(now);
        self.found_room(state, member, seen).told_at(now, seen)
    }

    fn found_room(&self, state: &AttemptsState, member: u64, now: Timestamp) -> Room {
        let refused = state.held(now).is_some() || self.reached(state, member, now).is_some();
        if refused { Room::not_before(self.passes_at(state, member, now), now) } else { Room::Now }
    }

    /// Whether an attempt at `now` is recorded: not during a long block, and on a ladder not during any
    /// block.
    pub(crate) fn records(&self, state: &AttemptsState, now: Timestamp) -> bool {
        match state.held(state.now(now)) {
            None => true,
            Some(block) => self.ladder.is_none() && block.scope != BlockScope::Long,
        }
    }

    /// The reading that an attempt of `member` would get at `now`.
    pub fn look(&self, state: Option<&AttemptsState>, member: u64, now: Timestamp) -> Reading {
        let fresh = AttemptsState::default();
        let state = state.unwrap_or(&fresh);
        let seen = state.now(now);
        let room = self.found_room(state, member, seen);
        self.reading(state, room, room.wait(), seen, false).told_at(now, seen)
    }

    /// Records an attempt of `member`, and begins a block if it is one too many.
    pub fn take(
        &self,
        state: Option<&AttemptsState>,
        member: u64,
        now: Timestamp,
    ) -> (AttemptsState, Reading) {
        self.recorded(state, member, now, |state, _, seen| match &self.ladder {
            None => self.record(state, member, seen),
            Some(ladder) => self.climb(ladder, state, member, seen),
        })
    }

    /// Records an attempt in a count that several keys share. It may be refused, but begins no block,
    /// which would also hold keys that did nothing.
    pub fn take_shared(
        &self,
        state: Option<&AttemptsState>,
        member: u64,
        now: Timestamp,
    ) -> (AttemptsState, Reading) {
        self.recorded(state, member, now, |state, room, seen| {
            state.block = None;
            if self.ladder.is_none() || room.is_now() {
                state.push(Attempt { at: seen, member }, self.keeps());
            }
            false
        })
    }

    /// The state after `record` has recorded an attempt, and the reading that the attempt gets. `record`
    /// is told the room that the attempt met and the time to reckon with, and returns whether a block
    /// began.
    fn recorded(
        &self,
        state: Option<&AttemptsState>,
        member: u64,
        now: Timestamp,
        record: impl FnOnce(&mut AttemptsState, Room, Timestamp) -> bool,
    ) -> (AttemptsState, Reading) {
        let mut state = state.cloned().unwrap_or_default();
        let seen = state.now(now);
        let room = self.found_room(&state, member, seen);
        let begins = record(&mut state, room, seen);
        let wait = match self.passes_at(&state, member, seen) {
            at if at > seen => Room::not_before(at, seen).wait(),
            _ => Span::ZERO,
        };
        let reading = self.reading(&state, room, wait, seen, begins);
        (state, reading.told_at(now, seen))
    }

    /// Takes out the attempt of `member` that was recorded at `taken_at`. Returns the state and how
    /// many were taken out: none if that attempt has left the window by `now`, because one found there
    /// later is somebody else's.
    #[must_use]
    pub fn give_back(
        &self,
        state: &AttemptsState,
        member: u64,
        taken_at: Timestamp,
        now: Timestamp,
    ) -> (AttemptsState, u64) {
        match state.now(now).since(taken_at) < self.longest() {
            true => state.clone().given_back(member, taken_at),
            false => (state.clone(), 0),
        }
    }

    /// When `state` need not be kept any more: no attempt in it counts, and its block has no effect.
    #[must_use]
    pub fn fresh_at(&self, state: &AttemptsState) -> Timestamp {
        let counted = state.last().map_or(Timestamp::ZERO, |last| last.after(self.longest()));
        let blocked = state.block.as_ref().map_or(Timestamp::ZERO, |block| match &self.ladder {
            Some(ladder) => ladder.forgets(block),
            None => block.until,
        });
        counted.max(blocked)
    }

    /// A full log without a block: the state to assume when the stored one cannot be read.
    #[must_use]
    pub fn exhausted(&self, at: Timestamp) -> AttemptsState {
        let mut state = AttemptsState::default();
        for _ in 0..self.keeps() {
            state.push(Attempt { at, member: 0 }, self.keeps());
        }
        state
    }

    /// Records an attempt where blocks have a fixed length: it counts unless a long block holds.
    /// Returns whether it began a block.
    fn record(&self, state: &mut AttemptsState, member: u64, now: Timestamp) -> bool {
        let held = state.held(now).map(|block| block.scope);
        if held == Some(BlockScope::Long) {
            return false;
        }
        let reached = self.reached(state, member, now);
        state.push(Attempt { at: now, member }, self.keeps());
        let begun = match (reached, held) {
            // The block in force is made longer once, by the long window, and never shortened.
            (None, _) | (Some((BlockScope::Temp, _)), Some(_)) => return false,
            (Some((scope, threshold)), _) => {
                Block { until: now.after(threshold.block), scope, level: None }
            }
        };
        state.begin(begun, now)
    }

    /// Records an attempt on a ladder: one that passes counts, and one too many begins a block. Returns
    /// whether it began a block.
    fn climb(
        &self,
        ladder: &Ladder,
        state: &mut AttemptsState,
        member: u64,
        now: Timestamp,
    ) -> bool {
        if state.held(now).is_some() {
            return false;
        }
        if self.reached(state, member, now).is_none() {
            state.push(Attempt { at: now, member }, self.keeps());
            return false;
        }
        let last = state.block.and_then(|block| Some((block.level?, block.until)));
        let level = ladder.next(last, now);
        state.forget();
        let block =
            Block { until: now.after(level.lasts()), scope: BlockScope::Temp, level: Some(level) };
        state.begin(block, now)
    }

    /// The threshold that one more attempt of `member` reaches: the long one, if it reaches both.
    fn reached(
        &self,
        state: &AttemptsState,
        member: u64,
        now: Timestamp,
    ) -> Option<(BlockScope, &Threshold)> {
        let reaches = |threshold: &Threshold| threshold.is_full(state, member, now);
        let long = self.long.as_ref().filter(|long| reaches(long));
        let temp = Some(&self.temp).filter(|temp| reaches(temp));
        long.map(|long| (BlockScope::Long, long)).or(temp.map(|temp| (BlockScope::Temp, temp)))
    }

    /// The first instant, not before `now`, at which one more attempt passes: no block holds, and the
    /// attempt stays below both thresholds.
    fn passes_at(&self, state: &AttemptsState, member: u64, now: Timestamp) -> Timestamp {
        let until = state.block.map_or(now, |block| block.until);
        let long = self.long.as_ref().map_or(now, |long| long.has_room_at(state, member));
        now.max(until).max(long).max(self.temp.has_room_at(state, member))
    }

    fn reading(
        &self,
        state: &AttemptsState,
        room: Room,
        wait: Span,
        now: Timestamp,
        begins: bool,
    ) -> Reading {
        let now = state.now(now);
        let block = state.held(now);
        let temp = state.count(self.temp.per, now);
        let long = self.long.as_ref().map_or(0, |long| state.count(long.per, now));
        let left = |threshold: &Threshold, count: u16| {
            i64::from((threshold.block_at - 1).saturating_sub(count))
        };
        let of_long = self.long.as_ref().map_or(i64::MAX, |threshold| left(threshold, long));
        let remaining = match block {
            Some(_) => 0,
            None => left(&self.temp, temp).min(of_long),
        };
        let counted = state.last().map_or(now, |last| last.after(self.longest()));
        let reset_at = block.map_or(counted, |block| block.until.max(counted));
        let attempts = Some(Tally { temp, long, block, begins });
        Reading { wait, attempts, ..Reading::of(room, remaining, reset_at.since(now)) }
    }
}

// === impl Threshold ===

impl Threshold {
    /// The time of the attempt that has to leave the window before one more of `member` stays below the
    /// threshold: while it counts, there are `block_at - 1` others.
    fn leaver(&self, state: &AttemptsState, member: u64) -> Option<Timestamp> {
        let others = usize::from(self.block_at) - 1;
        state.newest_others(member).nth(others - 1).map(|attempt| attempt.at)
    }

    fn is_full(&self, state: &AttemptsState, member: u64, now: Timestamp) -> bool {
        self.leaver(state, member).is_some_and(|leaver| now.since(leaver) < self.per)
    }

    /// The first instant at which one more attempt of `member` stays below this threshold.
    fn has_room_at(&self, state: &AttemptsState, member: u64) -> Timestamp {
        self.leaver(state, member).map_or(Timestamp::ZERO, |leaver| leaver.after(self.per))
    }
}

fn checked_block_at(block_at: u16) -> Result<(), ShapeError> {
    match block_at {
        0 | 1 => Err(ShapeError::BlocksEverything),
        _ if block_at > MAX_BLOCK_AT => {
            Err(ShapeError::OutOfRange { what: "block_at", largest: u64::from(MAX_BLOCK_AT) })
        }
        _ => Ok(()),
    }
}
