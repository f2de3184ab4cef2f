//! Memory that clients can make a listener keep (threats T12, T34, T35).
//!
//! A bound for each connection is none for all of them: ten thousand connections with a few megabytes
//! each are more than a machine has. So what is kept for clients, the heads of HTTP/2 streams, bodies of
//! which a part has come, and answers that nobody takes, is counted in bytes: for the process, and for
//! each connection, so that one client cannot use up what there is for all.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// The bytes that all connections hold together: those of one listener, or of several that share them
/// ([`Serve::beside`](super::Serve::beside)).
#[derive(Debug)]
pub struct Memory {
    pools: [Pool; MemoryUse::ALL.len()],
}

/// The bytes that all connections hold for one use.
#[derive(Debug)]
struct Pool {
    /// The most bytes that all connections may hold.
    most: usize,
    used: AtomicUsize,
    /// How often a connection asked for more than was left.
    refused: AtomicU64,
}

/// The use that bytes are held for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemoryUse {
    /// Heads of requests: of HTTP/2 as many as were advertised to their client, of HTTP/1 one while it
    /// comes in parts, until its request is answered.
    Heads,
    /// Bodies of which a part has come.
    Bodies,
    /// Answers that have not been taken.
    Answers,
}

tidegate_core::names!(MemoryUse { Heads: "heads", Bodies: "bodies", Answers: "answers" });

/// The part of the memory that connections of a listener may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MemoryAllowance {
    /// As much as there is for everybody.
    Ordinary,
    /// A sixteenth on top of it, so that operators find some when everybody else has used up the rest.
    Beside,
}

/// The bytes that one connection holds.
#[derive(Debug)]
pub struct Share {
    memory: Arc<Memory>,
    allowance: MemoryAllowance,
    used: [AtomicUsize; MemoryUse::ALL.len()],
}

/// Some bytes of a [`Share`]; given back when this is dropped.
#[derive(Debug)]
pub struct HeldBytes {
    share: Arc<Share>,
    kind: MemoryUse,
    bytes: usize,
}

/// The part of the memory of one kind that one connection may hold: an eighth.
const OF_ONE: usize = 8;

/// The part of the memory for heads that is kept for heads that come in parts: a quarter. Streams that
/// are merely advertised do not use it up.
const IN_PARTS: usize = 4;

/// The part of the memory left for streams that one connection may reserve beforehand: a sixteenth, so
/// that the last ones to come still find some.
const OF_HEADS: usize = 16;

/// The part of the memory that a [`MemoryAllowance::Beside`] has on top: a sixteenth.
const ON_TOP: usize = 16;

// === impl Memory ===

impl Memory {
    pub(super) fn new(heads: usize, bodies: usize, answers: usize) -> Arc<Self> {
        let pool = |most| Pool { most, used: AtomicUsize::new(0), refused: AtomicU64::new(0) };
        Arc::new(Self { pools: [heads, bodies, answers].map(pool) })
    }

    /// The share of a new connection.
    #[must_use]
    pub fn share(self: &Arc<Self>) -> Arc<Share> {
        self.share_in(MemoryAllowance::Ordinary)
    }

    /// The share of a new connection of a listener with this room.
    pub(super) fn share_in(self: &Arc<Self>, allowance: MemoryAllowance) -> Arc<Share> {
        Arc::new(Share { memory: Arc::clone(self), allowance, used: Default::default() })
    }

    /// How many bytes are held for this use.
    #[must_use]
    pub fn used(&self, kind: MemoryUse) -> usize {
        self.pools[kind as usize].used.load(Relaxed)
    }

    /// How often a connection asked for more than was left for this use.
    #[must_use]
    pub fn refused(&self, kind: MemoryUse) -> u64 {
        self.pools[kind as usize].refused.load(Relaxed)
    }
}

// === impl Share ===

impl Share {
    /// Holds some bytes, if the connection and the process have them left. A refusal is counted.
    #[must_use]
    pub fn hold(self: &Arc<Self>, kind: MemoryUse, bytes: usize) -> Option<HeldBytes> {
        let (pool, used) = (&self.memory.pools[kind as usize], &self.used[kind as usize]);
        let most = match self.allowance {
            MemoryAllowance::Ordinary => pool.most,
            MemoryAllowance::Beside => pool.most.saturating_add(pool.most / ON_TOP),
        };
        if take(used, bytes, pool.most / OF_ONE) {
            if take(&pool.used, bytes, most) {
                return Some(HeldBytes { share: Arc::clone(self), kind, bytes });
            }
            used.fetch_sub(bytes, Relaxed);
        }
        pool.refused.fetch_add(1, Relaxed);
        None
    }

    /// How many streams may be advertised to an HTTP/2 client, at most `wanted` and at least one, with the
    /// bytes held for their heads. If there is no room for any, the one stream has to find some when its
    /// head comes in parts, as a head of HTTP/1 has.
    pub(super) fn streams(self: &Arc<Self>, wanted: u32, head: usize) -> (u32, Option<HeldBytes>) {
        let pool = &self.memory.pools[MemoryUse::Heads as usize];
        let most = pool.most - pool.most / IN_PARTS;
        let left = most.saturating_sub(pool.used.load(Relaxed)) / OF_HEADS;
        let room = u32::try_from(left / head.max(1)).unwrap_or(u32::MAX);
        let streams = wanted.min(room);
        if streams == 0 {
            return (1, None);
        }
        let bytes = usize::try_from(streams).unwrap_or(usize::MAX).saturating_mul(head);
        match self.hold(MemoryUse::Heads, bytes) {
            Some(held) => (streams, Some(held)),
            None => (1, None),
        }
    }

    /// The most bytes that one answer is counted with: an eighth of what its connection may hold, so that
    /// a single one is never too large.
    pub(super) fn most_of_an_answer(&self) -> usize {
        self.memory.pools[MemoryUse::Answers as usize].most / OF_ONE / OF_ONE
    }
}

/// Adds `bytes` to `used` unless that would be more than `most`.
fn take(used: &AtomicUsize, bytes: usize, most: usize) -> bool {
    let room = |used: usize| used.checked_add(bytes).filter(|sum| *sum <= most);
    used.fetch_update(Relaxed, Relaxed, room).is_ok()
}

// === impl HeldBytes ===

impl Drop for HeldBytes {
    fn drop(&mut self) {
        self.share.used[self.kind as usize].fetch_sub(self.bytes, Relaxed);
        self.share.memory.pools[self.kind as usize].used.fetch_sub(self.bytes, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    //! What is left for whom.

    use super::*;

    #[test]
    fn t12_one_connection_holds_an_eighth_at_most_and_all_of_them_what_there_is() {
        let memory = Memory::new(0, 800, 0);
        let shares: Vec<_> = (0..9).map(|_| memory.share()).collect();
        let mut held = Vec::new();
        for share in &shares[..8] {
            held.push(share.hold(MemoryUse::Bodies, 100).unwrap());
            assert!(share.hold(MemoryUse::Bodies, 1).is_none(), "one connection has its eighth");
        }
        assert_eq!((memory.used(MemoryUse::Bodies), memory.refused(MemoryUse::Bodies)), (800, 8));
        assert!(shares[8].hold(MemoryUse::Bodies, 1).is_none(), "nothing is left for a ninth");
        held.pop();
        assert!(shares[8].hold(MemoryUse::Bodies, 100).is_some(), "what is given back is free");
        assert_eq!(memory.used(MemoryUse::Bodies), 700, "and again, once that is dropped");
        drop(held);
        assert_eq!(memory.used(MemoryUse::Bodies), 0);
    }

    #[test]
    fn t12_operators_find_room_when_everybody_else_has_used_up_theirs() {
        let memory = Memory::new(0, 0, 1_600);
        let held: Vec<_> =
            (0..8).map(|_| memory.share().hold(MemoryUse::Answers, 200).unwrap()).collect();
        assert!(memory.share().hold(MemoryUse::Answers, 1).is_none());
        let operator = memory.share_in(MemoryAllowance::Beside);
        let answer = operator.hold(MemoryUse::Answers, 100).unwrap();
        assert!(operator.hold(MemoryUse::Answers, 1).is_none(), "and no more than a sixteenth");
        assert_eq!(memory.used(MemoryUse::Answers), 1_700, "counted with the others");
        drop((held, answer));
        assert_eq!(memory.used(MemoryUse::Answers), 0);
    }

    #[test]
    fn a_number_beyond_all_memory_is_refused_and_changes_nothing() {
        let memory = Memory::new(0, 800, 0);
        let share = memory.share();
        let one = share.hold(MemoryUse::Bodies, 1).unwrap();
        assert!(share.hold(MemoryUse::Bodies, usize::MAX).is_none());
        assert_eq!((memory.used(MemoryUse::Bodies), one.bytes), (1, 1));
    }

    #[test]
    fn t35_fewer_streams_are_advertised_the_less_room_is_left() {
        let memory = Memory::new(64 << 20, 0, 0);
        let mut advertised = Vec::new();
        let mut held = Vec::new();
        for _ in 0..2_000 {
            let (streams, more) = memory.share().streams(128, 16 << 10);
            advertised.push(streams);
            held.push(more);
        }
        assert_eq!(advertised[..8], [128; 8], "while there is plenty, what was asked for");
        assert!(advertised.is_sorted_by(|a, b| a >= b));
        assert_eq!(advertised[1_999], 1, "nobody is left without");
        assert!(memory.used(MemoryUse::Heads) <= 48 << 20, "a quarter is for heads in parts");
        let in_parts: Vec<_> =
            (0..1_500).filter_map(|_| memory.share().hold(MemoryUse::Heads, 16 << 10)).collect();
        assert!(in_parts.len() >= 1_024, "{}", in_parts.len());
        assert!(memory.used(MemoryUse::Heads) <= 64 << 20);
        drop(in_parts);
        drop(held);
        assert_eq!(memory.used(MemoryUse::Heads), 0);
        assert_eq!(memory.share().streams(20, 16 << 10).0, 20, "who wants few gets few");
    }
}
