//! The bytes of records: the pieces that all forms are written and read in.

use super::Flaw;
use crate::time::{MAX_EXACT, Timestamp};

/// The bytes of a record: two letters, the bytes of `counts`, and the words in little-endian order.
pub(crate) fn form<const N: usize>(
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

/// Reads a time, which must be in the range that arithmetic is exact for.
pub(crate) fn time(bytes: &mut &[u8]) -> Result<Timestamp, Flaw> {
    number(bytes).map(Timestamp::from_micros)
}

/// Reads a number, which must be in the range that arithmetic is exact for.
pub(crate) fn number(bytes: &mut &[u8]) -> Result<u64, Flaw> {
    word(bytes).and_then(|word| if word <= MAX_EXACT { Ok(word) } else { Err(Flaw::Garbled) })
}

/// Reads 64 bits, of any value.
pub(crate) fn word(bytes: &mut &[u8]) -> Result<u64, Flaw> {
    chunk(bytes).map(u64::from_le_bytes)
}

/// Reads the next `N` bytes.
pub(crate) fn chunk<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N], Flaw> {
    let (chunk, rest) = bytes.split_first_chunk().ok_or(Flaw::Garbled)?;
    *bytes = rest;
    Ok(*chunk)
}
