//! Reads counters in the answers of scripts: records of the core, one after another, `-` where there is
//! none.

use tidegate_core::{Block, Flaw, Record, Shape};

use super::servers::Garbled;

/// Takes the record of a counter of this shape off the front of an answer.
///
/// # Errors
///
/// [`Flaw::Disorder`] for an abuse log whose times are not in order: the scripts do not go through it,
/// so they pass it on. Every other flaw is [`Flaw::Garbled`]: the scripts have checked the rest.
pub(crate) fn read(bytes: &mut &[u8], shape: &Shape) -> Result<Option<Record>, Flaw> {
    if let Some(rest) = bytes.strip_prefix(b"-") {
        *bytes = rest;
        return Ok(None);
    }
    match Record::take_from(bytes, Some(shape)) {
        Ok(Some(record)) => Ok(Some(record)),
        Err(Flaw::Disorder) => Err(Flaw::Disorder),
        Ok(None) | Err(Flaw::Garbled | Flaw::Version) => Err(Flaw::Garbled),
    }
}

/// Reads a block by itself: its end, its scope and its level.
pub(crate) fn block_of(bytes: &[u8]) -> Result<Option<Block>, Garbled> {
    let (until, rest) = bytes.split_first_chunk().ok_or(Garbled)?;
    let [scope, level] = *rest else { return Err(Garbled) };
    Block::restored(u64::from_le_bytes(*until), scope, level).ok_or(Garbled)
}
