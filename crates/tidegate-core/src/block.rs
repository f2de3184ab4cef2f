//! Blocks: refusals that end, and the ladder on which they grow longer.
//!
//! A limit that only counts lets a patient attacker come back the moment there is room. A block keeps
//! him out for longer each time: the next one is a [`Level`] higher if it begins within an hour of
//! the end of the one before, and every hour without a block takes one level off again. No attempt
//! during a block on the ladder makes it longer, so hammering at a locked door locks nobody out, and
//! only an operator makes it shorter.

use core::fmt;

use crate::named::names;
use crate::time::{MAX_EXACT, Span, Timestamp};

/// A block: all requests on one counter are refused until it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// When the block ends.
    pub until: Timestamp,
    /// What began the block.
    pub scope: BlockScope,
    /// The step of the ladder that the block is on; `None` if it is on no ladder.
    pub level: Option<Level>,
}

/// What began a block: too many attempts in one of the two windows of an abuse log, or an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BlockScope {
    /// Too many attempts in the short window, or in the only one.
    Temp,
    /// Too many attempts in the long window.
    Long,
    /// An operator asked for the block.
    Operator,
}

/// One step of a [`Ladder`], from L1 to L6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Level {
    /// A block of 15 seconds.
    L1 = 1,
    /// A block of a minute.
    L2,
    /// A block of five minutes.
    L3,
    /// A block of half an hour.
    L4,
    /// A block of six hours.
    L5,
    /// A block of a day.
    L6,
}

/// The block levels that one limit uses: blocks begin on the first, and rise no higher than the last.
///
/// ```
/// use tidegate_core::{Ladder, Level, Span, Timestamp};
///
/// let ladder = Ladder::default();
/// let ended = Timestamp::from_micros(1_000_000);
/// assert_eq!(ladder.next(None, ended), Level::L1);
/// assert_eq!(ladder.next(Some((Level::L2, ended)), ended), Level::L3, "at once");
/// assert_eq!(ladder.next(Some((Level::L2, ended)), ended.after(Span::HOUR)), Level::L2);
/// assert_eq!(ladder.next(Some((Level::L2, ended)), ended.after(Span::DAY)), Level::L1);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ladder {
    from: Level,
    to: Level,
}

/// The error for a ladder whose first level is above its last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a ladder from {from} to {to} has no step: the first level is above the last")]
pub struct LadderError {
    /// The first level.
    pub from: Level,
    /// The last level.
    pub to: Level,
}

// === impl Block ===

impl Block {
    /// Whether the block still holds at `now`.
    #[must_use]
    #[inline]
    pub fn holds(&self, now: Timestamp) -> bool {
        // A block until the last instant holds at that instant, too: time goes no further.
        now < self.until || self.until == Timestamp::MAX
    }

    /// The level that still counts at `now`: each whole hour since the end of the block takes one off.
    #[must_use]
    pub fn standing(&self, now: Timestamp) -> Option<Level> {
        Level::from_number(self.level?.decayed(self.until, now))
    }

    /// When the block no longer raises the level of a later one: an hour per level after its end.
    #[must_use]
    pub fn forgotten_at(&self) -> Timestamp {
        match self.level {
            None => self.until,
            Some(level) => self.until.after(hours(u64::from(level.get()))),
        }
    }

    /// A block from the three numbers it is stored as: its end in microseconds, the
    /// [code](BlockScope::code) of its scope, and the number of its level or zero. `Some(None)` for
    /// three zeros, which stand for no block; `None` for numbers that no block can have.
    #[must_use]
    pub fn restored(until: u64, scope: u8, level: u8) -> Option<Option<Self>> {
        if until > MAX_EXACT {
            return None;
        }
        let until = Timestamp::from_micros(until);
        match (BlockScope::from_code(scope), Level::from_number(level)) {
            (Some(scope), Some(level)) => Some(Some(Self { until, scope, level: Some(level) })),
            (Some(scope), None) if level == 0 => Some(Some(Self { until, scope, level: None })),
            (None, None) if scope == 0 && level == 0 && until == Timestamp::ZERO => Some(None),
            _ => None,
        }
    }
}

// === impl BlockScope ===

names!(BlockScope { Temp: "temp", Long: "long", Operator: "operator" });

impl BlockScope {
    /// The number that the scope is stored as; never zero.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8 + 1
    }

    /// The scope that is stored as this number, if there is one.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.code() == code)
    }
}

// === impl Level ===

impl Level {
    /// Every level, the lowest first.
    pub const ALL: [Self; 6] = [Self::L1, Self::L2, Self::L3, Self::L4, Self::L5, Self::L6];

    /// The level of a block drops by one each time this span has passed since its end. Stores are sent
    /// the span with each charge.
    pub const DECAY: Span = Span::HOUR;

    /// The number of the level, 1 to 6.
    #[must_use]
    pub const fn get(self) -> u8 {
        self as u8
    }

    /// The level with this number; `None` unless it is 1 to 6.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.get() == number)
    }

    /// The number of the level that is left at `now` of a block that ended at `ended`; zero for none.
    fn decayed(self, ended: Timestamp, now: Timestamp) -> u8 {
        let hours = now.since(ended).as_micros() / Self::DECAY.as_micros();
        self.get().saturating_sub(u8::try_from(hours).unwrap_or(u8::MAX))
    }

    /// How long a block of this level lasts.
    #[must_use]
    pub const fn lasts(self) -> Span {
        match self {
            Self::L1 => Span::from_secs(15),
            Self::L2 => Span::MINUTE,
            Self::L3 => Span::from_secs(5 * 60),
            Self::L4 => Span::from_secs(30 * 60),
            Self::L5 => Span::from_secs(6 * 60 * 60),
            Self::L6 => Span::DAY,
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "L{}", self.get())
    }
}

// === impl Ladder ===

impl Ladder {
    /// The ladder of the levels from `from` to `to`.
    ///
    /// # Errors
    ///
    /// If `from` is above `to`.
    pub const fn try_new(from: Level, to: Level) -> Result<Self, LadderError> {
        if from.get() > to.get() {
            return Err(LadderError { from, to });
        }
        Ok(Self { from, to })
    }

    /// The level of a first block.
    #[must_use]
    pub const fn from(&self) -> Level {
        self.from
    }

    /// The highest level that blocks rise to.
    #[must_use]
    pub const fn to(&self) -> Level {
        self.to
    }

    /// The level of a block that begins at `now`, given the level and the end of the block before it.
    /// Each whole hour since that end takes one level off.
    #[must_use]
    pub fn next(&self, last: Option<(Level, Timestamp)>, now: Timestamp) -> Level {
        let standing = last.map_or(0, |(level, ended)| level.decayed(ended, now));
        let next = (standing + 1).clamp(self.from.get(), self.to.get());
        Level::from_number(next).unwrap_or(self.to)
    }

    /// When `block` no longer affects the level of the next block on this ladder.
    pub(crate) fn forgets(&self, block: &Block) -> Timestamp {
        let Some(level) = block.level else { return block.until };
        // After this many hours, the next block begins on the first level again.
        let above = (level.get() + 1).saturating_sub(self.from.get());
        block.until.after(hours(u64::from(above)))
    }
}

impl Default for Ladder {
    /// The ladder of all six levels.
    fn default() -> Self {
        Self { from: Level::L1, to: Level::L6 }
    }
}

const fn hours(count: u64) -> Span {
    Span::from_micros(Level::DECAY.as_micros() * count)
}
