//! Abuse logs as plain data.

use tidegate_core::{Attempts, Ladder, Level, Shape, Span, Threshold};

/// The threshold of a window: the attempt from which on it refuses, its length, and its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowPlan {
    /// The attempt that is refused.
    pub block_at: u16,
    /// The length of the window, in microseconds.
    pub per: u64,
    /// The length of the block, in microseconds; on a ladder it depends on the level.
    pub block: u64,
}

/// How an abuse log blocks once its window is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MannerPlan {
    /// A block of fixed length.
    Temp,
    /// A second, long window with a block of its own. It is made longer and larger than the first
    /// if it is not.
    Dual(WindowPlan),
    /// Blocks on a ladder between these two levels, 1 to 6.
    Ladder(u8, u8),
}

// === impl WindowPlan ===

impl WindowPlan {
    fn build(self, most: u16) -> Threshold {
        let (per, block) = (Span::from_micros(self.per), Span::from_micros(self.block));
        Threshold { block_at: self.block_at.clamp(2, most), per, block }
    }

    /// The shape of the abuse log, with no `block_at` above `most`.
    pub(super) fn shape(self, manner: MannerPlan, most: u16) -> Shape {
        let temp = self.build(most);
        let attempts = match manner {
            MannerPlan::Temp => Attempts::try_new(temp, None),
            MannerPlan::Dual(long) => {
                let (temp, mut long) = (self.build(most - 1), long.build(most));
                long.block_at = long.block_at.max(temp.block_at + 1);
                long.per = long.per.max(Span::from_micros(temp.per.as_micros() + 1));
                Attempts::try_new(temp, Some(long))
            }
            MannerPlan::Ladder(from, to) => {
                let level = |number| Level::from_number(number).expect("levels are 1 to 6");
                let ladder = Ladder::try_new(level(from.min(to)), level(from.max(to)));
                Attempts::climbing(temp.block_at, temp.per, ladder.expect("the lower one first"))
            }
        };
        Shape::Attempts(attempts.expect("planned attempts are within range"))
    }
}
