//! What an entry of the table looks like in memory.
//!
//! Two words hold a bucket or a quota: when, under which numbers, how much, and how soon it can be
//! forgotten.
//!
//! ```text
//! word 0   anchor: µs since the store began (50 bits) │ stamp of the numbers (14)
//! word 1   amount: level or used (53 bits)            │ life after the anchor (11)
//! ```
//!
//! The last field lets any thread see that an entry can be forgotten, without knowing whose it is
//! or what its numbers were. It is a small floating-point number rounded up, so an entry may be
//! kept a thirty-second longer than it must, and is never forgotten too early.
//!
//! A window has the same two words, with its form in place of the amount, and its times or counts
//! after them.

use tidegate_core::{
    BucketState, EXACT_WINDOW, Grid, QuotaState, Ring, SUB_COUNTS, Span, Timestamp, WindowState,
};

/// Words of a bucket or a quota.
pub(crate) const PAIR: usize = 2;
/// Words of a window: the head and the times of a [`Ring`], or the end of the backoff and the
/// counts of a [`Grid`], two to a word.
pub(crate) const WIDE: usize = PAIR + EXACT_WINDOW;

const STAMP_BITS: u32 = 14;
const LIFE_BITS: u32 = 11;
const MANTISSA_BITS: u32 = 5;
/// The longest time since the store began that an entry can name: over 35 years.
const MAX_ANCHOR: u64 = (1 << (64 - STAMP_BITS)) - 1;
/// Marks a window that is kept as a grid; otherwise the amount is the length of the ring.
const GRID: u64 = 1 << 32;

/// When the store began. Entries keep times as spans since then.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Epoch(pub(crate) Timestamp);

/// The two words every entry begins with, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EntryHead {
    pub(crate) anchor: Timestamp,
    pub(crate) stamp: u16,
    pub(crate) amount: u64,
}

// === impl Epoch ===

impl Epoch {
    /// `now` within the times that entries can keep: not before the store began.
    pub(crate) fn clamp(self, now: Timestamp) -> Timestamp {
        now.max(self.0).min(self.0.after(Span::from_micros(MAX_ANCHOR)))
    }

    /// Packs a head; `fresh_at` is when the entry can be forgotten.
    #[inline]
    pub(crate) fn pack(self, head: EntryHead, fresh_at: Timestamp) -> [u64; PAIR] {
        // The period of a quota may have begun before the store did.
        self.pack_living(head, fresh_at.since(head.anchor.max(self.0)))
    }

    /// Packs the head of an entry that can be forgotten `life` after its anchor.
    #[inline]
    pub(crate) fn pack_living(self, head: EntryHead, life: Span) -> [u64; PAIR] {
        let anchor = head.anchor.since(self.0).as_micros().min(MAX_ANCHOR);
        let life = shorten(life.as_micros());
        [anchor << STAMP_BITS | u64::from(head.stamp), head.amount << LIFE_BITS | life]
    }

    #[inline]
    pub(crate) fn unpack(self, words: [u64; PAIR]) -> EntryHead {
        let stamp = words[0] & ((1 << STAMP_BITS) - 1);
        EntryHead {
            anchor: self.0.after(Span::from_micros(words[0] >> STAMP_BITS)),
            stamp: u16::try_from(stamp).unwrap_or_default(),
            amount: words[1] >> LIFE_BITS,
        }
    }

    /// When the entry can be forgotten, at the latest.
    #[inline]
    pub(crate) fn fresh_at(self, words: [u64; PAIR]) -> Timestamp {
        let life = lengthen(words[1] & ((1 << LIFE_BITS) - 1));
        self.0.after(Span::from_micros((words[0] >> STAMP_BITS).saturating_add(life)))
    }

    pub(crate) fn pack_window(
        self,
        state: &WindowState,
        stamp: u16,
        fresh_at: Timestamp,
    ) -> [u64; WIDE] {
        let mut words = [0; WIDE];
        let (anchor, amount) = match state {
            WindowState::Ring(ring) => {
                for (word, time) in words[PAIR..].iter_mut().zip(ring.times()) {
                    *word = time.as_micros();
                }
                (ring.last().unwrap_or(self.0), ring.times().len() as u64)
            }
            WindowState::Grid(grid) => {
                words[PAIR] = grid.until.as_micros();
                for (word, pair) in words[PAIR + 1..].iter_mut().zip(grid.counts.chunks(2)) {
                    let high = pair.get(1).copied().unwrap_or_default();
                    *word = u64::from(pair[0]) | u64::from(high) << 32;
                }
                (grid.last, GRID)
            }
        };
        words[..PAIR].copy_from_slice(&self.pack(EntryHead { anchor, stamp, amount }, fresh_at));
        words
    }

    pub(crate) fn unpack_window(self, words: &[u64; WIDE]) -> (EntryHead, WindowState) {
        let head @ EntryHead { anchor, amount, .. } = self.unpack([words[0], words[1]]);
        if amount != GRID {
            let len = usize::try_from(amount).unwrap_or(EXACT_WINDOW).min(EXACT_WINDOW);
            let times = words[PAIR..PAIR + len].iter().copied().map(Timestamp::from_micros);
            return (head, WindowState::Ring(times.collect::<Ring>()));
        }
        let mut counts = [0; SUB_COUNTS];
        for (pair, word) in counts.chunks_mut(2).zip(&words[PAIR + 1..]) {
            for (count, half) in pair.iter_mut().zip([*word & u64::from(u32::MAX), *word >> 32]) {
                *count = u32::try_from(half).unwrap_or(u32::MAX);
            }
        }
        let until = Timestamp::from_micros(words[PAIR]);
        (head, WindowState::Grid(Grid { last: anchor, until, counts }))
    }
}

// === impl EntryHead ===

impl EntryHead {
    #[inline]
    pub(crate) const fn bucket(self) -> BucketState {
        BucketState { level: self.amount, last: self.anchor }
    }

    /// The state of a quota that was written under the numbers in force, which tell when its period
    /// ends.
    #[inline]
    pub(crate) const fn quota(self) -> QuotaState {
        QuotaState { start: self.anchor, used: self.amount, end: Timestamp::ZERO }
    }
}

/// The code of the smallest number `mantissa · 2^exponent` that is not below `micros`.
#[inline]
fn shorten(micros: u64) -> u64 {
    if micros < 1 << MANTISSA_BITS {
        return micros;
    }
    let shift = u64::BITS - micros.leading_zeros() - (MANTISSA_BITS + 1);
    let mantissa = ((micros - 1) >> shift) + 1;
    // A mantissa that rounds up to the next power of two carries into the exponent by itself.
    (u64::from(shift) << MANTISSA_BITS) + mantissa
}

#[inline]
fn lengthen(code: u64) -> u64 {
    let exponent = code >> MANTISSA_BITS;
    if exponent == 0 {
        return code;
    }
    let mantissa = code & ((1 << MANTISSA_BITS) - 1) | 1 << MANTISSA_BITS;
    mantissa << (exponent - 1)
}

#[cfg(test)]
mod tests;
