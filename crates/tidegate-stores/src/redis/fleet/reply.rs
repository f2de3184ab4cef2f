//! The answers of a fleet's scripts, read and held to the core's rule.

use tidegate_core::{
    Accord, Agreed, Changed, Cursor, FleetError, FleetStep, MAX_CHANGED, MAX_EXACT, Timestamp,
    agree, is_fleet_name,
};

use crate::redis::args::Nonce;
use crate::redis::servers::Garbled;

/// The length of the bytes of a record.
const RECORD: usize = 51;

/// The answer to a step: a letter, and what belongs to it.
///
/// | letter | means | followed by |
/// |---|---|---|
/// | `k` | the step was applied | the time, the record that it leaves, and the one that was found, if any |
/// | `r` | a record that could not be read was replaced | the same |
/// | `b` | the record cannot be read | its first bytes |
/// | `x` | there is no room | |
/// | `w` | a key is of another type | |
pub(super) fn agreed(
    bytes: &[u8],
    nonce: Nonce,
    step: &FleetStep,
) -> Result<Result<Agreed, FleetError>, Garbled> {
    let (letter, mut rest) = begin(bytes, nonce)?;
    if let b'b' | b'x' | b'w' = letter {
        return failed(letter, rest).map(Err);
    }
    let now = time(&mut rest)?;
    let (left, found) = rest.split_at_checked(RECORD).ok_or(Garbled)?;
    let left = Accord::decode(left).map_err(|_| Garbled)?;
    let found = match (letter, found, Accord::decode(found)) {
        (b'k', [], _) | (b'r', _, Err(FleetError::Corrupt)) => None,
        (b'k', _, Ok(found)) => Some(found),
        _ => return Err(Garbled),
    };
    let agreed = agree(found.as_ref(), step, now);
    if agreed.accord == left { Ok(Ok(agreed)) } else { Err(Garbled) }
}

/// The answer to the question what has changed.
pub(super) fn changed(bytes: &[u8], nonce: Nonce) -> Result<Result<Changed, FleetError>, Garbled> {
    let (letter, mut rest) = begin(bytes, nonce)?;
    match letter {
        b'k' => {}
        b'w' => return failed(letter, rest).map(Err),
        _ => return Err(Garbled),
    }
    let (at, life, change) = (time(&mut rest)?, number(&mut rest)?, number(&mut rest)?);
    let more = match byte(&mut rest)? {
        0 => false,
        1 => true,
        _ => return Err(Garbled),
    };
    let mut changed = Changed { accords: Vec::new(), cursor: Cursor { life, change }, more, at };
    let mut told = 0;
    while !rest.is_empty() {
        told += 1;
        let change = number(&mut rest)?;
        let (name, record) = (byte(&mut rest)?, byte(&mut rest)?);
        let (name, record) = (part(&mut rest, name)?, part(&mut rest, record)?);
        if told > MAX_CHANGED || change <= changed.cursor.change {
            return Err(Garbled);
        }
        changed.cursor.change = change;
        let name = str::from_utf8(name).ok().filter(|name| is_fleet_name(name));
        // A record that is gone, or cannot be read, is left out, so that it keeps nobody from hearing of
        // the others. A node that asks about it is told.
        if let (Some(name), Ok(accord)) = (name, Accord::decode(record)) {
            changed.accords.push((name.to_owned(), accord));
        }
    }
    Ok(Ok(changed))
}

/// The letter of an answer, if it is the answer to this call, and what follows.
fn begin(bytes: &[u8], nonce: Nonce) -> Result<(u8, &[u8]), Garbled> {
    let rest = bytes.strip_prefix(&nonce).ok_or(Garbled)?;
    rest.split_first().map(|(letter, rest)| (*letter, rest)).ok_or(Garbled)
}

fn failed(letter: u8, rest: &[u8]) -> Result<FleetError, Garbled> {
    match (letter, rest) {
        (b'b', bytes) => Accord::decode(bytes).err().ok_or(Garbled),
        (b'x', []) => Ok(FleetError::Full),
        (b'w', []) => Ok(FleetError::Refused),
        _ => Err(Garbled),
    }
}

fn part<'b>(bytes: &mut &'b [u8], length: u8) -> Result<&'b [u8], Garbled> {
    bytes.split_off(..usize::from(length)).ok_or(Garbled)
}

fn byte(bytes: &mut &[u8]) -> Result<u8, Garbled> {
    bytes.split_off_first().copied().ok_or(Garbled)
}

fn number(bytes: &mut &[u8]) -> Result<u64, Garbled> {
    let (word, rest) = bytes.split_first_chunk().ok_or(Garbled)?;
    *bytes = rest;
    Some(u64::from_le_bytes(*word)).filter(|number| *number <= MAX_EXACT).ok_or(Garbled)
}

fn time(bytes: &mut &[u8]) -> Result<Timestamp, Garbled> {
    number(bytes).map(Timestamp::from_micros)
}
