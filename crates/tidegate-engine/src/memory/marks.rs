//! Which keys have been counted in a cell: perhaps too many of them, never too few.
//!
//! A key that gets a place has to begin with the state of its cell if it was counted there, and
//! must not if it was not: cells are full in a flood, and clients from elsewhere would be refused
//! in their own places. So keys that are counted in cells are marked in a Bloom filter, which may
//! take a key in a thousand for another.
//!
//! The filter has two halves. When one half is full of marks, and no mark in the other counts any
//! more, the other is cleared and takes the next marks.

use tidegate_core::Timestamp;

use crate::sync::{AtomicU64, Ordering, zeroed};

/// A filter for the keys of one shape.
#[derive(Debug)]
pub(crate) struct Marks {
    /// Both halves.
    words: Box<[AtomicU64]>,
    /// How often the halves have changed places; for each half, how many marks are in it and until when
    /// any of them counts; whether somebody is clearing.
    state: Box<[AtomicU64]>,
    /// The marks after which a half is full.
    most: u64,
}

const TURN: usize = 0;
const COUNT: usize = 1;
const UNTIL: usize = 3;
const CLEARING: usize = 5;

/// Bits of a half for each key that the table was made for; [`EACH`] of them mark a key.
const BITS: usize = 16;
const EACH: u32 = 6;

// === impl Marks ===

impl Marks {
    pub(crate) fn new(keys: usize) -> Self {
        let half = (keys * BITS / 64).max(16);
        let most = half as u64 * 64 / BITS as u64;
        Self { words: zeroed(2 * half), state: zeroed(CLEARING + 1), most }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.words.len() * size_of::<AtomicU64>()
    }

    /// Marks a key that is counted in a cell until `until`.
    pub(crate) fn mark(&self, digest: u64, until: Timestamp, now: Timestamp) {
        loop {
            let turn = self.state[TURN].load(Ordering::SeqCst);
            let half = Self::half(turn);
            self.state[UNTIL + half].fetch_max(until.as_micros(), Ordering::SeqCst);
            let mut is_new = false;
            for (word, bit) in self.places(half, digest) {
                is_new |= self.words[word].fetch_or(bit, Ordering::SeqCst) & bit == 0;
            }
            let count = self.state[COUNT + half].fetch_add(u64::from(is_new), Ordering::Relaxed);
            if count >= self.most {
                self.turn(turn, now);
            }
            // If the halves have changed, the mark may be in one that was cleared meanwhile.
            if self.state[TURN].load(Ordering::SeqCst) == turn {
                return;
            }
        }
    }

    /// Whether a key may have been counted in a cell.
    #[inline]
    pub(crate) fn has(&self, digest: u64) -> bool {
        (0..2).any(|half| {
            let is_set =
                |(word, bit): (usize, u64)| self.words[word].load(Ordering::SeqCst) & bit != 0;
            self.places(half, digest).all(is_set)
        })
    }

    /// Clears the other half and goes on there, if no mark in it counts any more.
    fn turn(&self, turn: u64, now: Timestamp) {
        let other = Self::half(turn + 1);
        let over = self.state[UNTIL + other].load(Ordering::SeqCst) <= now.as_micros();
        let clearing = &self.state[CLEARING];
        if !over || clearing.swap(1, Ordering::SeqCst) == 1 {
            return;
        }
        if self.state[TURN].load(Ordering::SeqCst) == turn {
            let half = self.words.len() / 2;
            for word in &self.words[other * half..(other + 1) * half] {
                word.store(0, Ordering::SeqCst);
            }
            self.state[COUNT + other].store(0, Ordering::SeqCst);
            self.state[TURN].store(turn + 1, Ordering::SeqCst);
        }
        clearing.store(0, Ordering::SeqCst);
    }

    const fn half(turn: u64) -> usize {
        (turn & 1) as usize
    }

    fn places(&self, half: usize, digest: u64) -> impl Iterator<Item = (usize, u64)> {
        let words = self.words.len() / 2;
        let mixed = digest.wrapping_mul(0xA076_1D64_78BD_642F);
        let step = (mixed >> 17) | 1;
        (0..u64::from(EACH)).map(move |nth| {
            let place = mixed.wrapping_add(step.wrapping_mul(nth).rotate_left(29));
            let word = (u128::from(place) * words as u128) >> 64;
            (half * words + usize::try_from(word).unwrap_or_default(), 1 << (place & 63))
        })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    //! No mark is lost while it counts, and few keys are taken for marked ones.

    use super::*;

    fn key(number: u64) -> u64 {
        number.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5555
    }

    #[test]
    fn a_key_that_counts_is_marked_however_many_come_after_it() {
        let marks = Marks::new(1_000);
        let at = Timestamp::from_micros;
        for number in 0..100_000 {
            marks.mark(key(number), at(number + 700), at(number));
            for earlier in number.saturating_sub(699)..=number {
                assert!(marks.has(key(earlier)), "{earlier} at {number}");
            }
        }
    }

    #[test]
    fn few_keys_are_taken_for_others() {
        let marks = Marks::new(10_000);
        let at = Timestamp::from_micros;
        (0..10_000).for_each(|number| marks.mark(key(number), at(9), at(0)));
        let taken = (10_000..110_000).filter(|number| marks.has(key(*number))).count();
        assert!(taken < 500, "{taken} of 100,000");
    }

    #[test]
    fn a_half_in_which_something_counts_is_not_cleared() {
        let marks = Marks::new(1_000);
        let at = Timestamp::from_micros;
        marks.mark(key(0), at(u64::MAX), at(0));
        (1..20_000).for_each(|number| marks.mark(key(number), at(number), at(number)));
        assert!(marks.has(key(0)));
    }
}
