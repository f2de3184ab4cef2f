//! Blocks: refusals that end, and the ladder on which they grow longer.
//!
//! A limit that only counts lets a patient attacker come back the moment there is room. A block keeps
//! him out for longer each time: the next one is a [`Level`] higher if it begins within an hour of
//! the end of the one before, and every hour without a block takes one level off again. Nothing that
//! happens during a block makes it longer, so hammering at a locked door locks nobody out, and nothing
//! but its end or an operator makes it shorter.

use core::fmt;

use crate::time::{MAX_EXACT, Span, Timestamp};

/// A timed refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// When it ends.
    pub until: Timestamp,
    /// What it came from.
    pub scope: BlockScope,
    /// Its step of the ladder, if it is on one.
    pub level: Option<Level>,
}

/// What a block came from: which of the two windows was full, or who said so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BlockScope {
    /// Too many attempts in the short window.
    Temp,
    /// Too many in the long one.
    Long,
    /// Somebody asked for it.
    Operator,
}

/// One step of a [`Ladder`], from L1 to L6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Level {
    /// 15 seconds.
    L1 = 1,
    /// A minute.
    L2,
    /// Five minutes.
    L3,
    /// Half an hour.
    L4,
    /// Six hours.
    L5,
    /// A day.
    L6,
}

/// The levels one limit uses: blocks begin on the first, and rise no higher than the last.
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

/// A ladder that leads nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a ladder from {from} to {to} has no step: the first level is above the last")]
pub struct LadderError {
    /// The first level.
    pub from: Level,
    /// The last.
    pub to: Level,
}

// === impl Block ===

impl Block {
    /// Whether it holds at `now`.
    #[must_use]
    #[inline]
    pub fn holds(&self, now: Timestamp) -> bool {
        // At the end of time, where `until` is now and stays so, it holds too.
        now < self.until || self.until == Timestamp::MAX
    }

    /// What is left of its level at `now`: each whole hour since its end has taken one off.
    #[must_use]
    pub fn standing(&self, now: Timestamp) -> Option<Level> {
        let hours = now.since(self.until).as_micros() / Level::DECAY.as_micros();
        let hours = u8::try_from(hours).unwrap_or(u8::MAX);
        Level::from_number(self.level?.get().saturating_sub(hours))
    }

    /// When nothing is left of it that a later block could be higher for: one hour for each level.
    #[must_use]
    pub fn forgotten_at(&self) -> Timestamp {
        match self.level {
            None => self.until,
            Some(level) => self.until.after(hours(u64::from(level.get()))),
        }
    }

    /// A block from the three numbers it is stored as: its end in microseconds, the
    /// [code](BlockScope::code) of its scope, and the number of its level or zero. `Some(None)` for
    /// three zeros, which are no block; `None` for numbers that no block has.
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

impl BlockScope {
    /// Every scope.
    pub const ALL: [Self; 3] = [Self::Temp, Self::Long, Self::Operator];

    /// The name used in answers and metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Temp => "temp",
            Self::Long => "long",
            Self::Operator => "operator",
        }
    }

    /// The number it is stored as; never zero.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Temp => 1,
            Self::Long => 2,
            Self::Operator => 3,
        }
    }

    /// The scope stored as this number.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.code() == code)
    }
}

// === impl Level ===

impl Level {
    /// Every level, the lowest first.
    pub const ALL: [Self; 6] = [Self::L1, Self::L2, Self::L3, Self::L4, Self::L5, Self::L6];

    /// How long after its end a block's level goes down by one, and by one again. Stores are told it with
    /// each charge.
    pub const DECAY: Span = Span::HOUR;

    /// Its number, 1 to 6.
    #[must_use]
    pub const fn get(self) -> u8 {
        self as u8
    }

    /// The level of this number.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.get() == number)
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
    /// The levels from `from` to `to`.
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

    /// Where blocks begin.
    #[must_use]
    pub const fn from(&self) -> Level {
        self.from
    }

    /// Where they rise to.
    #[must_use]
    pub const fn to(&self) -> Level {
        self.to
    }

    /// The level of a block that begins at `now`, given the level and the end of the one before. Each
    /// whole hour since has taken one level off.
    #[must_use]
    pub fn next(&self, last: Option<(Level, Timestamp)>, now: Timestamp) -> Level {
        let standing = last.map_or(0, |(level, ended)| {
            let hours = now.since(ended).as_micros() / Level::DECAY.as_micros();
            u64::from(level.get()).saturating_sub(hours)
        });
        let next = u8::try_from(standing + 1).unwrap_or(u8::MAX);
        let next = next.clamp(self.from.get(), self.to.get());
        Level::from_number(next).unwrap_or(self.to)
    }

    /// When a block of this ladder has no bearing on the next one any more.
    pub(crate) fn forgets(&self, block: &Block) -> Timestamp {
        let Some(level) = block.level else { return block.until };
        // With so much taken off, the next level is the first one again.
        let above = (level.get() + 1).saturating_sub(self.from.get());
        block.until.after(hours(u64::from(above)))
    }
}

impl Default for Ladder {
    /// All six levels.
    fn default() -> Self {
        Self { from: Level::L1, to: Level::L6 }
    }
}

const fn hours(count: u64) -> Span {
    Span::from_micros(Level::DECAY.as_micros() * count)
}
