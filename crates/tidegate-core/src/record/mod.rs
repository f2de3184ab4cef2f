//! The stored form of a counter: a few bytes, and the time until which a store keeps them.
//!
//! Every store that outlives a process writes counters down. Were each to choose its own bytes, each
//! would forget another check, and an expiry that is a millisecond short is a free burst. So there is
//! one form, one set of checks and one rule for the expiry; the scripts of the Redis store write the
//! same bytes, and tests hold them to it.
//!
//! A record begins with two letters: its form, and the version of that form. Little-endian integers
//! follow, of 64 bits unless the table says otherwise. The form says how long a record is, so records
//! can follow one another.
//!
//! | state | begins | then |
//! |---|---|---|
//! | bucket | `b1` | `r`, `p` and burst it was written under, level in units, time of that level, expiry in ms |
//! | quota | `q1` | start of the period, units used, expiry in ms |
//! | window, exact | `r1` | one byte: how many times follow; expiry in ms, the times, oldest first |
//! | window, counted | `g1` | length it was written under, newest time, end of the backoff, expiry in ms, 61 counts of 32 bits |
//! | attempts | `a1` | the rest of the [`Head`]; the times, oldest first; then their members, if there are any |
//!
//! ```
//! use tidegate_core::{Bucket, BucketState, Kept, Rate, Record, Shape, Timestamp};
//!
//! let bucket = Bucket::try_new(Rate::per_second(3)?, 5)?;
//! let last = Timestamp::from_micros(1_800_000_000_000_000);
//! let kept = Kept::Bucket(BucketState { level: 2_000_000, last }, bucket);
//! let record = Record { kept, limit: 0, expires_at_ms: 1_800_000_002_000 };
//!
//! let bytes = record.encode();
//! assert_eq!((&bytes[..2], bytes.len()), (&b"b1"[..], 50));
//! assert_eq!(Record::decode(&bytes, Some(&Shape::Bucket(bucket)))?, Some(record));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod expiry;
mod read;
#[cfg(test)]
mod tests;

use crate::amendment::Listed;
use crate::block::{Block, Level};
use crate::kept::Kept;
use crate::shape::{AttemptsState, Shape, WindowState};
use crate::store::StoreError;
use crate::time::Timestamp;

/// One counter as a store keeps it: its state, and when the store may forget it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The state, with the numbers it was written under.
    pub kept: Kept,
    /// The [identity](crate::Limit::id) of the limit, for the list of blocks. Only records of attempts
    /// carry it; in all others it is zero.
    pub limit: u64,
    /// The millisecond since the Unix epoch, on the store's clock, from which on the store may forget
    /// the counter.
    pub expires_at_ms: u64,
}

/// Why bytes are no record that this version can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    /// The bytes are cut off, too many, or hold a number that no counter can have.
    #[error("the stored counter is garbled")]
    Garbled,
    /// The attempts of an abuse log are not in order. The scripts of the Redis store do not go through
    /// the whole log, so this flaw alone can be in what they answer.
    #[error("the attempts of the stored abuse log are out of order")]
    Disorder,
    /// A later version wrote the record, and may still be running.
    #[error("a later version wrote the stored counter")]
    Version,
}

/// The first 30 bytes of a record of attempts, which are all that the list of blocks has to read: `a1`,
/// the expiry in ms, the end of the block, the identity of the limit; then a byte each for the scope
/// and the level of the block (zeros without a block), the number of attempts that follow (100 at
/// most), and whether their members follow too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The identity of the limit.
    pub limit: u64,
    /// The last block, which may have ended.
    pub block: Option<Block>,
    expires_at_ms: u64,
    count: u8,
    has_members: bool,
}

// === impl Record ===

impl Record {
    /// Reads the record of a counter of this shape, and checks every number in it. `None` if it is a
    /// record of another shape, which is as good as none.
    ///
    /// Without a shape only attempts are read: that is all there is to know about a counter from the
    /// list of blocks.
    ///
    /// # Errors
    ///
    /// [`Flaw`] if the bytes cannot be read.
    pub fn decode(mut bytes: &[u8], shape: Option<&Shape>) -> Result<Option<Self>, Flaw> {
        let record = Self::take_from(&mut bytes, shape)?;
        if record.is_some() && !bytes.is_empty() { Err(Flaw::Garbled) } else { Ok(record) }
    }

    /// Takes a record off the front of bytes in which something may follow it, as
    /// [`decode`](Self::decode) would read it. A record of another shape stays where it is.
    ///
    /// # Errors
    ///
    /// [`Flaw`] if the bytes do not begin with a record.
    pub fn take_from(bytes: &mut &[u8], shape: Option<&Shape>) -> Result<Option<Self>, Flaw> {
        read::record(bytes, shape)
    }

    /// The bytes of the record.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        match &self.kept {
            Kept::Bucket(state, bucket) => {
                let under = [bucket.units_per_micro(), bucket.units_per_token(), bucket.burst()];
                let state = [state.level, state.last.as_micros(), self.expires_at_ms];
                form(b"b1", [], under.into_iter().chain(state))
            }
            Kept::Quota(state) => {
                form(b"q1", [], [state.start.as_micros(), state.used, self.expires_at_ms])
            }
            Kept::Window(state, window) => match &**state {
                WindowState::Ring(ring) => {
                    let count = u8::try_from(ring.times().len()).unwrap_or(u8::MAX);
                    let times = ring.times().map(Timestamp::as_micros);
                    form(b"r1", [count], core::iter::once(self.expires_at_ms).chain(times))
                }
                WindowState::Grid(grid) => {
                    let (last, until) = (grid.last.as_micros(), grid.until.as_micros());
                    let words = [window.per().as_micros(), last, until, self.expires_at_ms];
                    let mut bytes = form(b"g1", [], words);
                    bytes.extend(grid.counts.iter().flat_map(|count| count.to_le_bytes()));
                    bytes
                }
            },
            Kept::Attempts(state) => self.encode_attempts(state),
        }
    }

    fn encode_attempts(&self, state: &AttemptsState) -> Vec<u8> {
        let attempts = state.attempts();
        let has_members = attempts.iter().any(|attempt| attempt.member != 0);
        let (until, scope, level) = match state.block() {
            Some(Block { until, scope, level }) => {
                (until, scope.code(), level.map_or(0, Level::get))
            }
            None => (Timestamp::ZERO, 0, 0),
        };
        let mut bytes = form(b"a1", [], [self.expires_at_ms, until.as_micros(), self.limit]);
        let count = u8::try_from(attempts.len()).unwrap_or(u8::MAX);
        bytes.extend([scope, level, count, u8::from(has_members)]);
        bytes.extend(attempts.iter().flat_map(|attempt| attempt.at.as_micros().to_le_bytes()));
        if has_members {
            bytes.extend(attempts.iter().flat_map(|attempt| attempt.member.to_le_bytes()));
        }
        bytes
    }

    /// The block that holds at `now`.
    #[must_use]
    pub fn block(&self, now: Timestamp) -> Option<Block> {
        match &self.kept {
            Kept::Attempts(state) => state.block().filter(|block| block.holds(now)),
            Kept::Bucket(..) | Kept::Window(..) | Kept::Quota(_) => None,
        }
    }

    /// The record, kept under this name, as one line of the list of blocks; `None` if no block holds
    /// at `now`.
    #[must_use]
    pub fn listed(&self, name: &str, now: Timestamp) -> Option<Listed> {
        let block = self.block(now)?;
        Some(Listed { key: name.to_owned(), limit: self.limit, block })
    }
}

// === impl Flaw ===

impl Flaw {
    /// The error of a batch whose charge at this place met the flaw.
    #[must_use]
    pub const fn of_charge(self, charge: usize) -> StoreError {
        match self {
            Self::Garbled | Self::Disorder => StoreError::Corrupt { charge },
            Self::Version => StoreError::Version { charge },
        }
    }
}

// === impl Head ===

impl Head {
    /// The number of bytes a head has.
    pub const SIZE: usize = 30;

    /// Reads a head by itself.
    ///
    /// # Errors
    ///
    /// [`Flaw`] if the bytes are no head of this version.
    pub fn decode(mut bytes: &[u8]) -> Result<Self, Flaw> {
        read::head(&mut bytes)
    }
}

/// Two letters, the bytes of `counts`, and the words.
fn form<const N: usize>(
    letters: &[u8; 2],
    counts: [u8; N],
    words: impl IntoIterator<Item = u64>,
) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(64);
    bytes.extend(letters);
    bytes.extend(counts);
    bytes.extend(words.into_iter().flat_map(u64::to_le_bytes));
    bytes
}
