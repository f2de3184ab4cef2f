//! The stored form of a counter: a few bytes, and the time until which a store keeps them.
//!
//! Every store that outlives a process writes counters down. Were each to choose its own bytes, each
//! would forget another check, and an expiry that is a millisecond short is a free burst. So there is
//! one form, one set of checks and one rule for the expiry; the scripts of the Redis store write the
//! same bytes, and tests hold them to it.
//!
//! A record begins with two letters: its form, and the version of that form. Little-endian integers
//! follow, of 64 bits unless the table says otherwise. The form says how long a record is, so records
//! can follow one another. What follows the letters of each form is in the table of `kept/mod.rs`,
//! beside the states themselves, and so is what is particular to a shape; this module has what is the
//! same for all of them.
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

pub(crate) mod bytes;
pub(crate) mod expiry;
#[cfg(test)]
mod tests;

use crate::amendment::Listed;
use crate::block::Block;
use crate::kept::Kept;
use crate::shape::{Shape, ShapeKind};
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

/// The digit of the version that this module reads and writes.
const VERSION: u8 = b'1';

// === impl Record ===

impl Record {
    /// Reads the record of a counter of this shape, and checks every number in it. `None` if it is a
    /// record of another shape, which is as good as none.
    ///
    /// Without a shape only attempts are read: a counter from the list of blocks has no other kind of
    /// record.
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
        let [letter, version] = *bytes.first_chunk().ok_or(Flaw::Garbled)?;
        let kind = Kept::kind_of(letter).ok_or(Flaw::Garbled)?;
        match version {
            VERSION => {}
            b'2'..=b'9' => return Err(Flaw::Version),
            _ => return Err(Flaw::Garbled),
        }
        if kind != shape.map_or(ShapeKind::Attempts, Shape::kind) {
            return Ok(None);
        }
        Kept::read(bytes, letter, shape).map(Some)
    }

    /// The bytes of the record.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        self.kept.write(self.limit, self.expires_at_ms)
    }

    /// The block of the counter that holds at `now`, if there is one.
    #[must_use]
    pub fn block(&self, now: Timestamp) -> Option<Block> {
        self.kept.log()?.block().filter(|block| block.holds(now))
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
