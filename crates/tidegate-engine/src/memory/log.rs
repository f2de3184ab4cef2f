//! Abuse logs: how their entries look, and one charge on one of them.
//!
//! ```text
//! word 0, 1   as every entry; the amount is how many attempts, and the scope and level of the block
//! word 2      until when it is blocked
//! word 3      the limit, so that blocks can be listed
//! word 4 …    times of attempts, oldest first; where members are counted, each followed by its member
//! ```
//!
//! A middle log has the same form with fewer words. A log of up to four attempts and no block,
//! which most are, has a shorter form:
//!
//! ```text
//! word 0, 1   as every entry, with the time of the last attempt; the amount is how many there are, and
//!             how much earlier the one before it was
//! word 2, 3   of two attempts or one: their members, the last attempt's first; zero where none are counted.
//!             Of more, which have no members: the times of the oldest
//! ```

use tidegate_core::{
    Attempt, Attempts, AttemptsState, Block, BlockScope, Level, MAX_BLOCK_AT, MAX_DISTINCT,
    Reading, Room, Stale, Timestamp,
};

use super::entry::{EntryHead, Epoch, PAIR};
use super::logs::LogShelf;
use super::shelf::Place;
use super::sketch::{Cell, Owner, StoredWords};
use super::step::{Here, On, ShapeStep};
use super::table::Slot;

/// Words of a long abuse log.
pub(crate) const LOG: usize = FIRST + MAX_BLOCK_AT as usize;
/// Words of a middle abuse log: enough for the times of 22 attempts, or of 11 with their members.
pub(crate) const MIDDLE: usize = FIRST + MIDDLE_LOG;
/// Words of attempts in a middle log.
pub(crate) const MIDDLE_LOG: usize = 22;
/// Words of a short abuse log.
pub(crate) const SHORT: usize = PAIR + SHORT_WITH_MEMBERS;
/// Attempts in a short log without members; with members it holds [`SHORT_WITH_MEMBERS`].
pub(crate) const SHORT_LOG: usize = 2 * SHORT_WITH_MEMBERS;
pub(crate) const SHORT_WITH_MEMBERS: usize = 2;

const UNTIL: usize = PAIR;
const LIMIT: usize = PAIR + 1;
const FIRST: usize = PAIR + 2;

/// The bits of a log's amount at which its parts begin, after the number of attempts: whether they
/// have members, then the scope and the level of the block.
const PAIRS: u32 = 8;
const SCOPE: u32 = 9;
const LEVEL: u32 = 12;
/// The bit of a short log's amount at which the time between its last two attempts begins, after
/// the number of attempts.
const EARLIER: u32 = 3;

// === impl On ===

impl ShapeStep for On<'_, LogShelf, Attempts> {
    fn room(&self, here: Here<'_>) -> Result<Room, Stale> {
        Ok(self.numbers.room(self.state(here).as_ref(), here.charge.member(), here.now))
    }

    fn look(&self, here: Here<'_>) -> Result<Reading, Stale> {
        Ok(self.numbers.look(self.state(here).as_ref(), here.charge.member(), here.now))
    }

    fn take(&self, here: Here<'_>) -> Result<Reading, Stale> {
        let (state, member) = (self.state(here), here.charge.member());
        let (state, reading) = match here.place {
            Place::Cell(_) => self.numbers.take_shared(state.as_ref(), member, here.now),
            Place::Entry(_) | Place::Newcomer(..) | Place::Moving(..) => {
                self.numbers.take(state.as_ref(), member, here.now)
            }
        };
        self.write(here, &state);
        Ok(reading)
    }

    fn give_back(&self, here: Here<'_>, taken_at: Timestamp) -> u64 {
        let member = here.charge.member();
        self.change(here, |state| self.numbers.give_back(&state, member, taken_at, here.now))
    }

    /// Takes an attempt out of a cell that it shares with those of other keys, if it is there:
    /// exactly the one made at `taken_at`, because a later one may be another key's. Without this,
    /// clients that get in would use up what a cell lets through, and keep out everybody else in
    /// it.
    fn give_back_shared(&self, here: Here<'_>, taken_at: Timestamp) -> u64 {
        let readable = self.shelf.load(here.place, here.charge, here.epoch, |_| Default::default());
        let member = here.charge.member();
        let is_it = |attempt: &Attempt| attempt.at == taken_at && attempt.member == member;
        match readable.is_some_and(|state| state.attempts().iter().any(is_it)) {
            true => self.give_back(here, taken_at),
            false => 0,
        }
    }

    fn forgive(&self, here: Here<'_>) -> u64 {
        self.change(here, AttemptsState::forgiven)
    }

    /// A log stays in a cell that counts, because the block that it would begin with is not its
    /// own; and in one that another limit has written, which does not tell how long it counts for
    /// this one.
    fn stays_in(&self, cell: Cell, here: Here<'_>) -> bool {
        let sketch = self.shelf.sketch();
        let kept = || sketch.load(cell, Owner::of(here.charge));
        sketch.counts(cell, here.epoch, here.now) || matches!(kept(), StoredWords::Unreadable(_))
    }
}

impl On<'_, LogShelf, Attempts> {
    fn change(
        &self,
        here: Here<'_>,
        change: impl FnOnce(AttemptsState) -> (AttemptsState, u64),
    ) -> u64 {
        let Some(state) = self.state(here) else { return 0 };
        let (state, units) = change(state);
        self.write(here, &state);
        units
    }

    /// Moves the attempts of an outgrown entry into a cell, as if all of them were made now, and
    /// empties the entry. No block holds in that entry.
    pub(crate) fn pour(&self, here: Here<'_>, from: Slot) {
        let mut all = self.state(here).map_or_else(Vec::new, |state| state.attempts().to_vec());
        let at = all.last().map_or(here.now, |last| last.at.max(here.now));
        let outgrown = self.shelf.read(from, here.epoch);
        all.extend(outgrown.attempts().iter().map(|attempt| Attempt { at, ..*attempt }));
        let too_many = all.len().saturating_sub(usize::from(self.numbers.keeps()));
        // The attempts are in order, as they have to be.
        let state = AttemptsState::restored(all.into_iter().skip(too_many), None);
        self.write(here, &state.unwrap_or_else(|| self.numbers.exhausted(at)));
        self.shelf.empty(from);
    }

    pub(crate) fn write(&self, here: Here<'_>, state: &AttemptsState) {
        let fresh_at = self.numbers.fresh_at(state);
        self.shelf.store(here.place, here.charge, state, fresh_at, (here.epoch, here.now));
    }

    /// The state of a log. It needs no conversion to other numbers: when attempts were made is a
    /// fact.
    pub(crate) fn state(&self, here: Here<'_>) -> Option<AttemptsState> {
        self.shelf.load(here.place, here.charge, here.epoch, |at| self.numbers.exhausted(at))
    }
}

// === impl Epoch ===

impl Epoch {
    pub(crate) fn pack_log(
        self,
        state: &AttemptsState,
        stamp: u16,
        limit: u64,
        fresh_at: Timestamp,
        now: Timestamp,
    ) -> [u64; LOG] {
        let mut words = [0; LOG];
        let attempts = state.attempts();
        // If there are more attempts than fit with their members, a reload has made the limit count
        // every attempt: it does not matter any more whose they were.
        let pairs = attempts.len() <= usize::from(MAX_DISTINCT)
            && attempts.iter().any(|attempt| attempt.member != 0);
        let mut amount = attempts.len() as u64 | u64::from(pairs) << PAIRS;
        if let Some(block) = state.block() {
            let level = block.level.map_or(0, Level::get);
            amount |= u64::from(block.scope.code()) << SCOPE | u64::from(level) << LEVEL;
            words[UNTIL] = block.until.as_micros();
        }
        let anchor = attempts.last().map_or(now, |newest| newest.at);
        words[..PAIR].copy_from_slice(&self.pack(EntryHead { anchor, stamp, amount }, fresh_at));
        words[LIMIT] = limit;
        let places = words[FIRST..].chunks_mut(if pairs { 2 } else { 1 });
        for (place, attempt) in places.zip(attempts) {
            for (word, part) in place.iter_mut().zip([attempt.at.as_micros(), attempt.member]) {
                *word = part;
            }
        }
        words
    }

    /// How many attempts a log holds, and in how many words each.
    pub(crate) fn held(self, words: &[u64; LOG]) -> (usize, usize) {
        let amount = self.unpack([words[0], words[1]]).amount;
        let width = if amount >> PAIRS & 1 == 1 { 2 } else { 1 };
        (usize::try_from(amount & 0xFF).unwrap_or_default(), width)
    }

    pub(crate) fn unpack_log(self, words: &[u64; LOG]) -> AttemptsState {
        let amount = self.unpack([words[0], words[1]]).amount;
        let (count, width) = self.held(words);
        let attempts = words[FIRST..].chunks(width).take(count).map(|place| Attempt {
            at: Timestamp::from_micros(place[0]),
            member: place.get(1).copied().unwrap_or_default(),
        });
        // The attempts were packed in order.
        AttemptsState::restored(attempts, block_of(words, amount)).unwrap_or_default()
    }

    /// Packs a log that fits a short entry; anything beyond that would be lost.
    pub(crate) fn pack_short(
        self,
        state: &AttemptsState,
        stamp: u16,
        fresh_at: Timestamp,
        now: Timestamp,
    ) -> [u64; SHORT] {
        let attempts = state.attempts();
        debug_assert!(attempts.len() <= SHORT_LOG && state.block().is_none(), "{state:?}");
        let last = attempts.last().copied().unwrap_or(Attempt { at: now, member: 0 });
        let before = attempts.iter().nth_back(1).copied().unwrap_or(last);
        let earlier = last.at.since(before.at).as_micros();
        let amount = earlier << EARLIER | attempts.len() as u64;
        let rest = match attempts {
            [first, second, _, _] => [first, second].map(|attempt| attempt.at.as_micros()),
            [first, _, _] => [first.at.as_micros(), 0],
            _ => [last.member, before.member],
        };
        let [anchor, amount] = self.pack(EntryHead { anchor: last.at, stamp, amount }, fresh_at);
        [anchor, amount, rest[0], rest[1]]
    }

    pub(crate) fn unpack_short(self, words: &[u64; SHORT]) -> AttemptsState {
        let EntryHead { anchor, amount, .. } = self.unpack([words[0], words[1]]);
        let (held, rest) = (self.held_in_short(words), [words[2], words[3]]);
        let at = Timestamp::from_micros;
        let before = at(anchor.as_micros().saturating_sub(amount >> EARLIER));
        let members = if held <= SHORT_WITH_MEMBERS { rest } else { [0; 2] };
        let newest = [(before, members[1]), (anchor, members[0])];
        let newest = newest.map(|(at, member)| Attempt { at, member });
        let oldest = rest.map(|micros| Attempt { at: at(micros), member: 0 });
        let oldest = oldest.into_iter().take(held.saturating_sub(newest.len()));
        let newest = newest.into_iter().skip(newest.len().saturating_sub(held));
        AttemptsState::restored(oldest.chain(newest), None).unwrap_or_default()
    }

    /// How many attempts a short log holds.
    pub(crate) fn held_in_short(self, words: &[u64; SHORT]) -> usize {
        let amount = self.unpack([words[0], words[1]]).amount;
        usize::try_from(amount & ((1 << EARLIER) - 1)).unwrap_or_default()
    }

    /// The limit an abuse log belongs to, and its last block.
    pub(crate) fn unpack_block(self, words: &[u64; LOG]) -> (u64, Option<Block>) {
        let amount = self.unpack([words[0], words[1]]).amount;
        (words[LIMIT], block_of(words, amount))
    }
}

fn block_of(words: &[u64; LOG], amount: u64) -> Option<Block> {
    let part = |from: u32| u8::try_from(amount >> from & 7).unwrap_or_default();
    Some(Block {
        until: Timestamp::from_micros(words[UNTIL]),
        scope: BlockScope::from_code(part(SCOPE))?,
        level: Level::from_number(part(LEVEL)),
    })
}
