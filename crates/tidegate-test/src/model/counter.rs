//! One counter: the record of a key, read under the numbers in force.

use tidegate_core::{Amendment, Backoff, Block, Counts, Reading, Room, Shape, Span};

use super::log::{Demand, LogView, ModelLog};
use super::search::first_instant;

/// The record of a key, and the numbers that were in force when it was last written.
#[derive(Clone, Debug)]
pub(super) struct ModelRecord {
    shape: Shape,
    log: ModelLog,
}

/// The counter of a key at one instant.
pub(super) struct ModelCounter<'a> {
    kept: Option<&'a ModelRecord>,
    shape: &'a Shape,
    /// The time of the clock, from which waits are measured.
    clock: u64,
    /// The time of the clock, or the last instant that the key has seen if that is later.
    now: u64,
    /// The time when the store was made; no period began before it.
    born: u64,
}

// === impl ModelRecord ===

impl ModelRecord {
    /// The record after an operator has amended a counter of this shape; `None` if all is
    /// forgotten.
    pub(super) fn amended(
        kept: Option<&Self>,
        shape: &Shape,
        amendment: Amendment,
        now: u64,
    ) -> Option<Self> {
        let fresh = || Self { shape: shape.clone(), log: ModelLog::empty(shape) };
        let mut kept = kept.cloned().unwrap_or_else(fresh);
        match (amendment, &mut kept.log) {
            (Amendment::Reset, _) => return None,
            (Amendment::Block { lasts, level }, ModelLog::Attempts(log)) => {
                log.block(now, lasts.as_micros(), level);
            }
            (Amendment::Unblock, ModelLog::Attempts(log)) => log.unblock(now),
            _ => panic!("only attempts are blocked"),
        }
        Some(kept)
    }

    /// The block that holds at `now`.
    pub(super) fn holding(&self, now: u64) -> Option<Block> {
        match &self.log {
            ModelLog::Attempts(log) => log.holding(now),
            ModelLog::Bucket(_) | ModelLog::Window(_) | ModelLog::Quota(_) => None,
        }
    }
}

// === impl ModelCounter ===

impl<'a> ModelCounter<'a> {
    /// The counter at `now`, or at the last instant the key has seen if that is later. A record
    /// that a reload has made as good as never seen is ignored.
    pub(super) fn new(
        kept: Option<&'a ModelRecord>,
        shape: &'a Shape,
        now: u64,
        born: u64,
    ) -> Self {
        let seen = |kept: &ModelRecord| now.max(kept.log.seen(&kept.shape));
        let kept = kept.filter(|kept| !kept.log.is_void(&kept.shape, shape, seen(kept)));
        Self { kept, shape, clock: now, now: kept.map_or(now, seen), born }
    }

    /// Whether the request would be admitted now, when it would be, or never.
    pub(super) fn room(&self, asked: Demand) -> Room {
        if asked.cost > self.shape.capacity() {
            return Room::Never;
        }
        match first_instant(self.now, |at| self.view(at).fits(asked, at)) {
            at if at == self.now => Room::Now,
            at => Room::After(Span::from_micros(at - self.clock)),
        }
    }

    /// The reading of the limit if nothing is recorded.
    pub(super) fn reading(&self, asked: Demand) -> Reading {
        self.reading_with(self.room(asked), 0, false)
    }

    /// Records the request, which met `room`, and returns the record and the reading after that.
    pub(super) fn recorded(&self, asked: Demand, room: Room) -> (ModelRecord, Reading) {
        let mut log = match self.kept {
            None => ModelLog::empty(self.shape),
            Some(kept) => kept.log.rewritten(&kept.shape, self.shape, self.now, self.born),
        };
        let begins = log.push(self.shape, self.now, asked);
        let mut kept = ModelRecord { shape: self.shape.clone(), log };
        let backoff = self.with(&kept).backoff();
        if backoff > 0 {
            // The delay is recorded as a block, which never ends before there is room.
            let room_at = self.clock + self.with(&kept).room(asked).wait().as_micros();
            kept.log.block(room_at.max(self.now + backoff));
        }
        let after = self.with(&kept);
        let mut reading = after.reading_with(room, backoff, begins);
        // The wait after a refusal includes what the attempt itself has added.
        if self.shape.counts_attempts() || matches!(self.shape, Shape::Attempts(_)) {
            reading.wait = after.room(asked).wait();
        }
        (kept, reading)
    }

    /// The same counter with another record.
    fn with<'b>(&'b self, kept: &'b ModelRecord) -> ModelCounter<'b> {
        ModelCounter { kept: Some(kept), ..*self }
    }

    /// The delay for the attempts counted beyond the limit, at most the time until the reset.
    fn backoff(&self) -> u64 {
        let over = -self.view(self.now).left(self.now);
        match (table(self.shape), usize::try_from(over)) {
            (Some(backoff), Ok(over @ 1..)) => {
                let row = backoff.rows()[over.min(Backoff::ROWS) - 1];
                row.as_micros().min(self.resets_at() - self.now)
            }
            _ => 0,
        }
    }

    fn reading_with(&self, room: Room, backoff: u64, begins: bool) -> Reading {
        let left = self.view(self.now).left(self.now);
        // Only a limit that counts attempts reports a negative number.
        let remaining = if self.shape.counts_attempts() { left } else { left.max(0) };
        Reading {
            room,
            wait: room.wait(),
            remaining: i64::try_from(remaining).expect("counts are below 2⁵³"),
            reset_after: Span::from_micros(match self.resets_at() {
                at if at == self.now => 0,
                at => at - self.clock,
            }),
            backoff: Span::from_micros(backoff),
            attempts: self.view(self.now).tally(begins, self.now),
        }
    }

    /// When no charge so far counts any more; for an idle quota whose period follows the clock,
    /// when that period ends.
    fn resets_at(&self) -> u64 {
        let idle = self.view(self.now).is_fresh(self.now);
        match (self.shape, idle) {
            (Shape::Quota(quota), true) => super::quota::idle_end(quota, self.now),
            _ => first_instant(self.now, |at| self.view(at).is_fresh(at)),
        }
    }

    /// The log of the counter at `at`, and the numbers to read it under.
    fn view(&self, at: u64) -> LogView<'_> {
        match self.kept {
            None => LogView::fresh(self.shape),
            Some(kept) => kept.log.under(&kept.shape, self.shape, at, self.born),
        }
    }
}

fn table(shape: &Shape) -> Option<&Backoff> {
    match shape {
        Shape::Bucket(_) | Shape::Attempts(_) => None,
        Shape::Window(window) => backoff_of(window.counts()),
        Shape::Quota(quota) => backoff_of(quota.counts()),
    }
}

fn backoff_of(counts: &Counts) -> Option<&Backoff> {
    match counts {
        Counts::Attempts(backoff) => backoff.as_ref(),
        Counts::Admitted => None,
    }
}
