//! Attempts as a full list: every attempt ever made, and every block that ever began.
//!
//! The core keeps the newest few and knows which one has to leave. Here they are counted anew each
//! time, in the window that ends at the instant in question, and a block that has begun stays in
//! the list whatever comes after it.

use tidegate_core::{Attempts, Block, BlockScope, Ladder, Level, Tally, Threshold, Timestamp};

const HOUR: u64 = 3_600_000_000;

/// How long blocks last from L1 to L6, in seconds.
const LASTS: [u64; 6] = [15, 60, 300, 1_800, 21_600, 86_400];

/// Everything recorded for one key.
#[derive(Clone, Debug, Default)]
pub(super) struct AttemptsLog {
    tries: Vec<Try>,
    /// Index of the first try that is reported, and that is carried over to other numbers. Older
    /// tries can never matter again under the numbers in force; they are not kept for other numbers
    /// either.
    known: usize,
    blocks: Vec<Block>,
}

/// One attempt; `member` says whose, or is 0 where members are not told apart.
#[derive(Clone, Copy, Debug)]
struct Try {
    at: u64,
    member: u64,
}

// === impl AttemptsLog ===

impl AttemptsLog {
    /// The time of the newest attempt.
    pub(super) fn seen(&self, _: &Attempts) -> u64 {
        self.tries.last().map_or(0, |one| one.at)
    }

    /// Whether one more attempt of `member` passes at `at`: under no block, below both thresholds.
    pub(super) fn fits(&self, numbers: &Attempts, member: u64, at: u64) -> bool {
        self.holding(at).is_none() && self.reached(numbers, member, at).is_none()
    }

    /// How many more attempts pass before one is refused.
    pub(super) fn left(&self, numbers: &Attempts, at: u64) -> i128 {
        let left = |threshold: &Threshold| {
            let passing = usize::from(threshold.block_at) - 1;
            passing.saturating_sub(self.count(threshold, None, at)) as i128
        };
        match self.holding(at) {
            Some(_) => 0,
            None => thresholds(numbers).map(|(_, threshold)| left(threshold)).min().unwrap_or(0),
        }
    }

    /// Whether no attempt counts and no block holds. The earlier blocks that a ladder remembers do
    /// not matter here, as they do not change how many attempts are left.
    pub(super) fn is_fresh(&self, numbers: &Attempts, at: u64) -> bool {
        let counts = |threshold: &Threshold| self.count(threshold, None, at) > 0;
        self.holding(at).is_none() && !thresholds(numbers).any(|(_, threshold)| counts(threshold))
    }

    /// The reported counts and the block. Only the attempts from `known` on are counted.
    pub(super) fn tally(&self, numbers: &Attempts, begins: bool, at: u64) -> Tally {
        let known = Self { tries: self.tries[self.known..].to_vec(), ..Self::default() };
        let told = |threshold: &Threshold| {
            u16::try_from(known.count(threshold, None, at)).expect("few are known")
        };
        Tally {
            temp: told(numbers.temp()),
            long: numbers.long().map_or(0, told),
            block: self.holding(at),
            begins,
        }
    }

    /// Records an attempt, and returns whether it begins a block.
    pub(super) fn record(&mut self, numbers: &Attempts, member: u64, at: u64) -> bool {
        match (numbers.ladder(), self.reached(numbers, member, at)) {
            // On a ladder, attempts refused during a block leave no trace.
            (Some(_), _) if self.holding(at).is_some() => false,
            (Some(ladder), Some(_)) => {
                let level = self.next_level(ladder, at);
                let lasts = LASTS[usize::from(level.get()) - 1] * 1_000_000;
                (self.tries, self.known) = (Vec::new(), 0);
                self.begin(BlockScope::Temp, Some(level), at + lasts);
                true
            }
            // With two windows, attempts refused during a long block leave no trace either.
            (None, _) if self.holding(at).is_some_and(|held| held.scope == BlockScope::Long) => {
                false
            }
            (_, reached) => {
                self.push(numbers, Try { at, member });
                reached.is_some_and(|(scope, threshold)| self.refuse(scope, threshold, at))
            }
        }
    }

    /// The log as it continues under other numbers.
    pub(super) fn rewritten(&self) -> Self {
        let tries = self.tries[self.known..].to_vec();
        Self { tries, known: 0, blocks: self.blocks.clone() }
    }

    /// The block that holds at `at`: of several, the one that ends last.
    pub(super) fn holding(&self, at: u64) -> Option<Block> {
        let holds = |block: &&Block| block.until.as_micros() > at;
        self.blocks.iter().filter(holds).max_by_key(|block| block.until).copied()
    }

    /// Blocks the key, as an operator does, unless a block lasts as long already.
    pub(super) fn block(&mut self, at: u64, lasts: u64, level: Option<Level>) {
        let at = self.tries.last().map_or(at, |newest| newest.at.max(at));
        let until = at + lasts;
        let level = level.max(Level::from_number(self.standing(at)));
        let longer = self.blocks.iter().all(|block| block.until.as_micros() < until);
        if longer {
            self.begin(BlockScope::Operator, level, until);
        }
    }

    /// Lifts the block, as an operator does. If the last block has no level, all blocks are
    /// forgotten.
    pub(super) fn unblock(&mut self, at: u64) {
        (self.tries, self.known) = (Vec::new(), 0);
        if self.blocks.last().is_some_and(|block| block.level.is_none()) {
            self.blocks.clear();
        }
        for block in &mut self.blocks {
            block.until = block.until.min(Timestamp::from_micros(at));
        }
    }

    /// With two windows: begins a block, unless one holds that this one may not replace. Only a
    /// block of the long window may replace another, once, and only if it ends later.
    fn refuse(&mut self, scope: BlockScope, threshold: &Threshold, at: u64) -> bool {
        let until = at + threshold.block.as_micros();
        let begins = match self.holding(at) {
            None => true,
            Some(held) => {
                scope == BlockScope::Long
                    && held.scope != BlockScope::Long
                    && held.until.as_micros() < until
            }
        };
        if begins {
            self.begin(scope, None, until);
        }
        begins
    }

    fn begin(&mut self, scope: BlockScope, level: Option<Level>, until: u64) {
        self.blocks.push(Block { until: Timestamp::from_micros(until), scope, level });
    }

    /// The level of the last block, lowered by one for each hour since its end.
    fn standing(&self, at: u64) -> u8 {
        let last = self.blocks.last().and_then(|block| Some((block.level?, block.until)));
        let (mut standing, mut hour) = match last {
            Some((level, until)) => (level.get(), until.as_micros() + HOUR),
            None => (0, u64::MAX),
        };
        while standing > 0 && hour <= at {
            (standing, hour) = (standing - 1, hour + HOUR);
        }
        standing
    }

    /// The level of the next block: one above [`Self::standing`], within the bounds of the ladder.
    fn next_level(&self, ladder: &Ladder, at: u64) -> Level {
        let level = (self.standing(at) + 1).max(ladder.from().get()).min(ladder.to().get());
        Level::from_number(level).expect("a level between two levels")
    }

    /// The threshold that one more attempt of `member` would reach; the long one, if it reaches
    /// both.
    fn reached<'n>(
        &self,
        numbers: &'n Attempts,
        member: u64,
        at: u64,
    ) -> Option<(BlockScope, &'n Threshold)> {
        thresholds(numbers).find(|(_, threshold)| {
            self.count(threshold, Some(member), at) + 1 >= usize::from(threshold.block_at)
        })
    }

    /// How many attempts count in the window that ends at `at`, each member once, leaving out the
    /// attempts of the member `beside`.
    fn count(&self, threshold: &Threshold, beside: Option<u64>, at: u64) -> usize {
        let window = threshold.per.as_micros();
        let counts = |one: &&Try| one.at + window > at;
        let others = |one: &&Try| one.member == 0 || Some(one.member) != beside;
        distinct(self.tries.iter().filter(counts).filter(others)).count()
    }

    /// Adds an attempt. From now on, at most the newest attempts that the largest window can count
    /// are known under other numbers.
    fn push(&mut self, numbers: &Attempts, one: Try) {
        self.tries.push(one);
        let most = usize::from(numbers.long().unwrap_or(numbers.temp()).block_at);
        let places = 0..self.tries.len();
        let newest = places.rev().filter(|place| {
            let one = self.tries[*place];
            one.member == 0
                || self.tries[place + 1..].iter().all(|later| later.member != one.member)
        });
        let oldest = newest.take(most).last().unwrap_or(0);
        self.known = self.known.max(oldest);
    }
}

/// The thresholds of both windows, the long one first.
fn thresholds(numbers: &Attempts) -> impl Iterator<Item = (BlockScope, &Threshold)> {
    let long = numbers.long().map(|long| (BlockScope::Long, long));
    long.into_iter().chain([(BlockScope::Temp, numbers.temp())])
}

/// The tries with only the first of each member's.
fn distinct<'t>(tries: impl Iterator<Item = &'t Try>) -> impl Iterator<Item = &'t Try> {
    let mut seen = Vec::new();
    tries.filter(move |one| {
        let new = one.member == 0 || !seen.contains(&one.member);
        seen.push(one.member);
        new
    })
}
