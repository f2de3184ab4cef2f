//! A flat table of counters, bounded when it is made.
//!
//! A general concurrent map allocates per key, grows under attack and costs several cache misses.
//! This one is a single block of words, cut into groups of a few entries behind one lock each.
//!
//! ```text
//! group:  │ lock │ tag, words… │ tag, words… │ … │        two or more cache lines
//! ```
//!
//! A key may live in either of two groups, both given by its digest; the tag is the whole digest.
//! With two choices, a table with seven places for four keys finds one for all but a few in a hundred
//! thousand.
//! Nothing is ever moved, and nothing is removed: an entry that no longer counts (a full bucket, an
//! ended period) is taken over by the next key that needs the place, so there is no sweeper.
//!
//! **The protocol.** A key is looked for without a lock. Its group is then locked and the tag is
//! looked at again; if the key has not been found, *both* its groups are locked and searched. So a
//! key is never in two places: to put it anywhere takes both locks. A thread that needs several
//! groups locks them in ascending order, so no two threads wait for each other.

use super::entry::{Epoch, PAIR};
use crate::sync::{AtomicU64, Ordering, wait, zeroed};
use tidegate_core::Timestamp;

/// Words in a cache line pair, the unit groups are aligned to.
const ALIGNMENT: usize = 16;

/// A table whose groups have `WAYS` entries of `WORDS` words each.
#[derive(Debug)]
pub(crate) struct Table<const WORDS: usize, const WAYS: usize> {
    words: Box<[AtomicU64]>,
    /// Where the first group begins, so that groups begin at cache lines.
    base: usize,
    groups: u64,
}

/// Where an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) group: u32,
    pub(crate) way: u8,
}

/// One entry of a bucket or a quota, to be used under the lock of its group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<'t>(&'t [AtomicU64; 1 + PAIR]);

// === impl Table ===

impl<const WORDS: usize, const WAYS: usize> Table<WORDS, WAYS> {
    const ENTRY: usize = 1 + WORDS;
    const STRIDE: usize = (1 + WAYS * Self::ENTRY).next_multiple_of(ALIGNMENT);

    /// A group with this many entries that count is avoided if the key's other group has fewer.
    const CROWDED: usize = WAYS.div_ceil(2);

    /// A table with room for `keys` keys: with seven entries for four of them, because keys do not
    /// spread evenly, and because a key in its first home is found in one look.
    pub(crate) fn new(keys: usize) -> Self {
        let groups = keys.saturating_mul(7).div_ceil(4 * WAYS).clamp(1, u32::MAX as usize);
        let words = zeroed::<AtomicU64>(groups * Self::STRIDE + ALIGNMENT);
        let misaligned = words.as_ptr().addr() / size_of::<AtomicU64>() % ALIGNMENT;
        Self { words, base: (ALIGNMENT - misaligned) % ALIGNMENT, groups: groups as u64 }
    }

    /// The bytes of memory it takes at most.
    pub(crate) fn bytes(&self) -> usize {
        self.words.len() * size_of::<AtomicU64>()
    }

    /// The number of entries that count at `now`.
    pub(crate) fn live(&self, epoch: Epoch, now: Timestamp) -> usize {
        let groups = (0..self.groups).filter_map(|group| u32::try_from(group).ok());
        groups.map(|group| self.crowd(group, epoch, now)).sum()
    }

    /// The two groups of a key; they may be the same.
    pub(crate) fn homes(&self, digest: u64) -> [u32; 2] {
        [self.home(digest), self.second_home(digest)]
    }

    /// Looks for a key without a lock. What it says may be out of date by the time it is used.
    #[inline]
    pub(crate) fn glance(&self, digest: u64) -> Option<Slot> {
        self.find(digest).map(|(slot, _)| slot)
    }

    /// Looks for a key as [`glance`](Self::glance) does, and returns the lock of its group and its
    /// entry of two words as well.
    #[inline(always)]
    pub(crate) fn sight(&self, digest: u64) -> Option<(Slot, &AtomicU64, Entry<'_>)> {
        let (slot, group) = self.find(digest)?;
        Some((slot, &group[0], Entry(group[Self::tag(slot.way)..].first_chunk()?)))
    }

    /// Whether a locked slot still belongs to the key.
    #[inline]
    pub(crate) fn is_at(&self, slot: Slot, digest: u64) -> bool {
        self.group(slot.group)[Self::tag(slot.way)].load(Ordering::Relaxed) == digest
    }

    /// A place for a key that is not in the table and both of whose groups are locked: one never
    /// used, or the one that has been free the longest. Places in `taken` are not free.
    pub(crate) fn free(
        &self,
        digest: u64,
        taken: &[Slot],
        epoch: Epoch,
        now: Timestamp,
    ) -> Option<Slot> {
        let [first, second] = self.homes(digest);
        let crowds = [first, second].map(|home| self.crowd(home, epoch, now));
        let prefer_second = crowds[1] < crowds[0];
        let order = if prefer_second { [second, first] } else { [first, second] };
        let fresh = |home| self.longest_fresh(home, taken, epoch, now);
        match order.map(fresh) {
            // While neither group is crowded, the place that has been free the longest; of equals
            // the one in the first group, where a key is found more quickly.
            [Some(one), Some(other)] if crowds[0].max(crowds[1]) < Self::CROWDED => {
                let first_one = if prefer_second { [other, one] } else { [one, other] };
                first_one.into_iter().min_by_key(|(fresh_at, _)| *fresh_at).map(|(_, slot)| slot)
            }
            [Some((_, slot)), _] | [None, Some((_, slot))] => Some(slot),
            [None, None] => None,
        }
    }

    /// The words of a locked entry.
    #[inline]
    pub(crate) fn load(&self, slot: Slot) -> [u64; WORDS] {
        let words = &self.group(slot.group)[Self::tag(slot.way) + 1..][..WORDS];
        core::array::from_fn(|word| words[word].load(Ordering::Relaxed))
    }

    /// Writes a locked entry, which belongs to the key from now on.
    #[inline]
    pub(crate) fn store(&self, slot: Slot, digest: u64, words: [u64; WORDS]) {
        let entry = &self.group(slot.group)[Self::tag(slot.way)..][..Self::ENTRY];
        entry[0].store(digest, Ordering::Relaxed);
        for (place, word) in entry[1..].iter().zip(words) {
            place.store(word, Ordering::Relaxed);
        }
    }

    /// Empties a locked entry, as if it had never been used.
    pub(crate) fn empty(&self, slot: Slot) {
        self.store(slot, 0, [0; WORDS]);
    }

    /// How many groups there are, for walking over all of them.
    pub(crate) fn groups(&self) -> u32 {
        u32::try_from(self.groups).unwrap_or(u32::MAX)
    }

    /// The entries of a locked group that do not count at `now`.
    pub(crate) fn fresh(
        &self,
        group: u32,
        epoch: Epoch,
        now: Timestamp,
    ) -> impl Iterator<Item = Slot> {
        let words = self.group(group);
        let fresh = Self::ways().filter(move |way| Self::fresh_at(words, *way, epoch) <= now);
        fresh.map(move |way| Slot { group, way })
    }

    /// The entries of a locked group, each with the digest of its key; zero if it has none.
    pub(crate) fn tags(&self, group: u32) -> impl Iterator<Item = (Slot, u64)> {
        Self::ways().map(move |way| {
            let tag = self.group(group)[Self::tag(way)].load(Ordering::Relaxed);
            (Slot { group, way }, tag)
        })
    }

    /// The lock of a group.
    #[inline]
    pub(crate) fn lock(&self, group: u32) -> &AtomicU64 {
        &self.group(group)[0]
    }

    /// The second group of a key. Multiplying by the golden ratio makes it independent of the
    /// first.
    #[inline]
    fn second_home(&self, digest: u64) -> u32 {
        self.home(digest.rotate_left(32).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    #[inline]
    fn home(&self, digest: u64) -> u32 {
        let product = u128::from(digest) * u128::from(self.groups);
        #[expect(clippy::cast_possible_truncation, reason = "below the number of groups, a u32")]
        let home = (product >> 64) as u32;
        home
    }

    #[inline]
    fn group(&self, group: u32) -> &[AtomicU64] {
        let start = self.base + group as usize * Self::STRIDE;
        &self.words[start..start + Self::STRIDE]
    }

    #[inline]
    const fn tag(way: u8) -> usize {
        1 + way as usize * Self::ENTRY
    }

    /// Where a key is, and the words of its group.
    #[inline]
    fn find(&self, digest: u64) -> Option<(Slot, &[AtomicU64])> {
        let first = self.find_in(self.home(digest), digest);
        first.or_else(|| self.find_in(self.second_home(digest), digest))
    }

    #[inline]
    fn find_in(&self, group: u32, digest: u64) -> Option<(Slot, &[AtomicU64])> {
        let words = self.group(group);
        for way in Self::ways() {
            if words[Self::tag(way)].load(Ordering::Relaxed) == digest {
                return Some((Slot { group, way }, words));
            }
        }
        None
    }

    /// How many entries of a group count at `now`.
    fn crowd(&self, group: u32, epoch: Epoch, now: Timestamp) -> usize {
        let words = self.group(group);
        Self::ways().filter(|way| Self::fresh_at(words, *way, epoch) > now).count()
    }

    /// The place in a group that can be taken and has been free the longest, and since when.
    fn longest_fresh(
        &self,
        group: u32,
        taken: &[Slot],
        epoch: Epoch,
        now: Timestamp,
    ) -> Option<(Timestamp, Slot)> {
        let words = self.group(group);
        Self::ways()
            .map(|way| (Self::fresh_at(words, way, epoch), Slot { group, way }))
            .filter(|(fresh_at, slot)| *fresh_at <= now && !taken.contains(slot))
            .min_by_key(|(fresh_at, _)| *fresh_at)
    }

    /// When an entry can be taken over; at once if it was never used.
    fn fresh_at(group: &[AtomicU64], way: u8, epoch: Epoch) -> Timestamp {
        let word = |word: usize| group[Self::tag(way) + word].load(Ordering::Relaxed);
        if word(0) == 0 {
            return Timestamp::ZERO;
        }
        let head: [u64; PAIR] = [word(1), word(2)];
        epoch.fresh_at(head)
    }

    fn ways() -> core::ops::Range<u8> {
        const { assert!(WAYS < 256 && WORDS >= PAIR) };
        #[expect(clippy::cast_possible_truncation, reason = "checked in the line above")]
        let ways = WAYS as u8;
        0..ways
    }
}

// === impl Entry ===

impl Entry<'_> {
    #[inline]
    pub(crate) fn tag(self) -> u64 {
        self.0[0].load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn load(self) -> [u64; PAIR] {
        [self.0[1].load(Ordering::Relaxed), self.0[2].load(Ordering::Relaxed)]
    }

    #[inline]
    pub(crate) fn store(self, words: [u64; PAIR]) {
        self.0[1].store(words[0], Ordering::Relaxed);
        self.0[2].store(words[1], Ordering::Relaxed);
    }
}

/// Takes a lock, waiting as long as it must: locks are held for well under a microsecond, and
/// never across anything that can block.
#[inline]
pub(crate) fn acquire(lock: &AtomicU64) {
    let mut attempt = 0;
    while lock.compare_exchange_weak(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
        wait(attempt);
        attempt = attempt.wrapping_add(1);
    }
}

/// Takes a lock if nobody holds it.
pub(crate) fn try_acquire(lock: &AtomicU64) -> bool {
    lock.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
}

/// Gives a lock back.
#[inline]
pub(crate) fn release(lock: &AtomicU64) {
    lock.store(0, Ordering::Release);
}
