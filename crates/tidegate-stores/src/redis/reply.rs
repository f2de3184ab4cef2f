//! The answer of a script: the time, what was done, and every state as it was found.
//!
//! ```text
//! nonce +12 1794752623 478029 <state><state>…      admitted, the first and second charge written
//! nonce -   1794752623 478029 <state>-…            refused; nothing kept for the second
//! nonce before 1794752623 478029                   a ticket that was settled already; also `late`
//! nonce + 1794752623 478029 <block>                an amendment, and whether it changed anything
//! nonce corrupt 2   nonce version 1   nonce stale 1 1794752623478029
//! ```

use tidegate_core::{Amended, Block, Flaw, MAX_LIMITS, Record, Shape, StoreError, Timestamp};

use super::args::Nonce;
use super::servers::Garbled;

/// The answer of a script, taken apart.
#[derive(Debug)]
pub(crate) enum Reply {
    /// The script has done what was asked for, or refused it.
    Done(Done),
    /// The ticket was settled before.
    Before,
    /// The ticket is too old to be settled.
    Late,
    /// The call failed. The error has the place of its charge, counted from zero.
    Failed(StoreError),
}

/// What a script has found and done.
#[derive(Debug)]
pub(crate) struct Done {
    /// The time of the server.
    pub(crate) now: Timestamp,
    /// Whether the batch was admitted.
    pub(crate) admitted: bool,
    /// Which charges were written: one bit for each place.
    pub(crate) writes: u16,
    /// The record that was found for each charge.
    pub(crate) found: Vec<Option<Record>>,
}

/// The letters that stand for the places of charges.
const MARKS: [u8; MAX_LIMITS] = *b"123456789abc";

/// The letter of a place, counted from one as Lua does.
pub(super) fn mark(place: usize) -> char {
    let mark = place.checked_sub(1).and_then(|index| MARKS.get(index));
    mark.map_or('?', |mark| char::from(*mark))
}

// === impl Reply ===

impl Reply {
    /// Reads the answer to a call with this nonce, about counters of these shapes.
    pub(crate) fn read<'s>(
        bytes: &[u8],
        nonce: Nonce,
        shapes: impl Iterator<Item = &'s Shape>,
    ) -> Result<Self, Garbled> {
        let mut rest = bytes.strip_prefix(&nonce).ok_or(Garbled)?;
        let what = word(&mut rest)?;
        match what {
            b"corrupt" => Ok(Self::Failed(StoreError::Corrupt { charge: place(&mut rest)? })),
            b"version" => Ok(Self::Failed(StoreError::Version { charge: place(&mut rest)? })),
            b"stale" => {
                let charge = place(&mut rest)?;
                let now = Timestamp::from_micros(number(&mut rest)?);
                Ok(Self::Failed(StoreError::Stale { charge, now }))
            }
            b"before" => Ok(Self::Before),
            b"late" => Ok(Self::Late),
            _ => Done::read(what, rest, shapes),
        }
    }
}

// === impl Done ===

impl Done {
    fn read<'s>(
        what: &[u8],
        mut rest: &[u8],
        shapes: impl Iterator<Item = &'s Shape>,
    ) -> Result<Reply, Garbled> {
        let (sign, places) = what.split_first().ok_or(Garbled)?;
        let admitted = match sign {
            b'+' => true,
            b'-' => false,
            _ => return Err(Garbled),
        };
        let mut writes = 0;
        for place in places {
            writes |= 1 << MARKS.iter().position(|mark| mark == place).ok_or(Garbled)?;
        }
        let now = time(&mut rest)?;
        let mut found = Vec::with_capacity(MAX_LIMITS);
        for (charge, shape) in shapes.enumerate() {
            match record(&mut rest, shape) {
                Ok(record) => found.push(record),
                Err(Flaw::Garbled | Flaw::Version) => return Err(Garbled),
                // This is known only now, after the script has run: what it wrote is written.
                Err(Flaw::Disorder) if admitted || writes != 0 => {
                    return Ok(Reply::Failed(StoreError::Timeout));
                }
                Err(Flaw::Disorder) => return Ok(Reply::Failed(StoreError::Corrupt { charge })),
            }
        }
        if !rest.is_empty() {
            return Err(Garbled);
        }
        Ok(Reply::Done(Self { now, admitted, writes, found }))
    }
}

/// Reads the answer to an amendment: what was done, the time, and the last block.
pub(crate) fn amended(bytes: &[u8], nonce: Nonce) -> Result<Result<Amended, StoreError>, Garbled> {
    let mut rest = bytes.strip_prefix(&nonce).ok_or(Garbled)?;
    let changed = match word(&mut rest)? {
        b"+" => true,
        b"-" => false,
        b"corrupt" => return Ok(Err(StoreError::Corrupt { charge: place(&mut rest)? })),
        b"version" => return Ok(Err(StoreError::Version { charge: place(&mut rest)? })),
        _ => return Err(Garbled),
    };
    let at = time(&mut rest)?;
    let block = block_of(rest)?.filter(|block| block.holds(at));
    Ok(Ok(Amended { changed, block, at }))
}

/// Takes the record of a counter of this shape off the front of an answer.
///
/// # Errors
///
/// [`Flaw::Disorder`] for an abuse log whose times are not in order: the scripts do not go through it,
/// so they pass it on. Every other flaw is [`Flaw::Garbled`]: the scripts have checked the rest.
fn record(bytes: &mut &[u8], shape: &Shape) -> Result<Option<Record>, Flaw> {
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
fn block_of(bytes: &[u8]) -> Result<Option<Block>, Garbled> {
    let (until, rest) = bytes.split_first_chunk().ok_or(Garbled)?;
    let [scope, level] = *rest else { return Err(Garbled) };
    Block::restored(u64::from_le_bytes(*until), scope, level).ok_or(Garbled)
}

/// Reads a time: seconds and microseconds, each followed by a space.
fn time(rest: &mut &[u8]) -> Result<Timestamp, Garbled> {
    let (seconds, micros) = (number(rest)?, number(rest)?);
    let now = seconds.checked_mul(1_000_000).and_then(|now| now.checked_add(micros));
    now.map(Timestamp::from_micros).ok_or(Garbled)
}

/// Reads the bytes before the next space.
fn word<'b>(rest: &mut &'b [u8]) -> Result<&'b [u8], Garbled> {
    let end = rest.iter().position(|byte| *byte == b' ').ok_or(Garbled)?;
    let (word, after) = (&rest[..end], &rest[end + 1..]);
    *rest = after;
    Ok(word)
}

fn number(rest: &mut &[u8]) -> Result<u64, Garbled> {
    let word = word(rest)?;
    if word.is_empty() || !word.iter().all(u8::is_ascii_digit) {
        return Err(Garbled);
    }
    str::from_utf8(word).ok().and_then(|word| word.parse().ok()).ok_or(Garbled)
}

/// Reads the place of a charge. Lua counts places from one, and the result counts from zero.
pub(super) fn place(rest: &mut &[u8]) -> Result<usize, Garbled> {
    usize::try_from(number(rest)?).ok().and_then(|place| place.checked_sub(1)).ok_or(Garbled)
}

#[cfg(test)]
mod tests {
    //! P68: whatever comes back, it is an answer or it is garbled.

    use proptest::prelude::*;
    use tidegate_core::{
        Attempts, BlockScope, Bucket, Counts, Kept, Ladder, Level, Period, Quota, Rate, Span,
        Window,
    };

    use super::*;

    fn shapes() -> [Shape; 5] {
        let window = |count| Window::try_new(count, Span::MINUTE, Counts::Admitted).unwrap();
        let period = Period::Fixed(Span::DAY);
        [
            Shape::Bucket(Bucket::try_new(Rate::per_second(3).unwrap(), 5).unwrap()),
            Shape::Window(window(5)),
            Shape::Window(window(500)),
            Shape::Quota(Quota::try_new(9, period, Counts::Admitted).unwrap()),
            Shape::Attempts(Attempts::climbing(5, Span::MINUTE, Ladder::default()).unwrap()),
        ]
    }

    /// An abuse log under a block, with members.
    fn log(times: [u64; 2]) -> Vec<u8> {
        let head = [b"a1".to_vec(), words(&[9, 77, u64::MAX]), vec![1, 3, 2, 1]].concat();
        [head, words(&times), words(&[11, 12])].concat()
    }

    fn words(numbers: &[u64]) -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
    }

    /// An answer with a state of each form.
    fn answer() -> Vec<u8> {
        let grid = [words(&[60_000_000, 5, 0, 9]), vec![0; 4 * 61]].concat();
        [
            b"7777+12 1794752623 478029 b1".to_vec(),
            words(&[3, 1_000_000, 5, 12, 34, 56]),
            b"r1\x02".to_vec(),
            words(&[9, 3, 4]),
            b"g1".to_vec(),
            grid,
            b"-".to_vec(),
            log([3, 4]),
        ]
        .concat()
    }

    fn read(bytes: &[u8]) -> Result<Reply, Garbled> {
        Reply::read(bytes, *b"7777", shapes().iter())
    }

    #[test]
    fn an_answer_is_taken_apart() {
        let Ok(Reply::Done(done)) = read(&answer()) else { panic!("it is an answer") };
        assert_eq!((done.admitted, done.writes), (true, 0b11));
        assert_eq!(done.now, Timestamp::from_micros(1_794_752_623_478_029));
        let found = done.found.iter().map(Option::is_some).collect::<Vec<_>>();
        assert_eq!(found, [true, true, true, false, true]);
        let Some(Kept::Attempts(state)) = done.found[4].as_ref().map(|found| &found.kept) else {
            panic!("it is a log")
        };
        let members = state.attempts().iter().map(|attempt| attempt.member);
        assert_eq!(members.collect::<Vec<_>>(), [11, 12]);
        let block = state.block().unwrap();
        assert_eq!((block.scope, block.level), (BlockScope::Temp, Some(Level::L3)));
        assert_eq!(block.until, Timestamp::from_micros(77));
    }

    #[test]
    fn a_log_that_is_not_in_order_is_corrupt_and_what_was_written_is_not_denied() {
        let failed = |what: &[u8]| {
            let log = log([4, 3]);
            let bytes = [b"7777".as_slice(), what, b" 1 1 ".as_slice(), &log].concat();
            match Reply::read(&bytes, *b"7777", shapes()[4..].iter()) {
                Ok(Reply::Failed(error)) => error,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(failed(b"-"), StoreError::Corrupt { charge: 0 });
        assert_eq!(failed(b"+1"), StoreError::Timeout);
        assert_eq!(failed(b"-1"), StoreError::Timeout);
        assert_eq!(failed(b"+"), StoreError::Timeout, "a settlement");
    }

    #[test]
    fn every_place_has_a_letter_of_its_own() {
        let letters: String = (1..=MAX_LIMITS).map(mark).collect();
        assert_eq!(letters, "123456789abc");
        for (index, letter) in letters.chars().enumerate() {
            let bytes = format!("7777-{letter} 1 1 ");
            match Reply::read(bytes.as_bytes(), *b"7777", [].iter()) {
                Ok(Reply::Done(done)) => assert_eq!(done.writes, 1 << index),
                other => panic!("{other:?}"),
            }
        }
        for letter in ['0', 'd', '?', 'A'] {
            let bytes = format!("7777-{letter} 1 1 ");
            assert!(Reply::read(bytes.as_bytes(), *b"7777", [].iter()).is_err(), "{letter}");
        }
    }

    #[test]
    fn t44_the_answer_to_another_call_is_none() {
        let mut bytes = answer();
        bytes[0] ^= 1;
        assert_eq!(read(&bytes).err(), Some(Garbled));
    }

    #[test]
    fn failures_name_their_charge_from_zero() {
        let failed = |text: &[u8]| match read(text) {
            Ok(Reply::Failed(error)) => error,
            other => panic!("{other:?}"),
        };
        assert_eq!(failed(b"7777corrupt 2 "), StoreError::Corrupt { charge: 1 });
        assert_eq!(failed(b"7777version 1 "), StoreError::Version { charge: 0 });
        let now = Timestamp::from_micros(5);
        assert_eq!(failed(b"7777stale 3 5 "), StoreError::Stale { charge: 2, now });
        assert!(read(b"7777corrupt 0 ").is_err(), "Lua counts from one");
    }

    proptest! {
        #[test]
        fn p68_any_bytes_are_an_answer_or_garbled(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
            let _ = read(&bytes);
            let _ = read(&[b"7777".as_slice(), &bytes].concat());
            let _ = read(&[b"7777+1 1 1 ".as_slice(), &bytes].concat());
        }

        #[test]
        fn p68_an_answer_with_a_byte_changed_is_an_answer_or_garbled(
            place: prop::sample::Index, byte: u8, cut: prop::sample::Index,
        ) {
            let mut bytes = answer();
            let place = place.index(bytes.len());
            bytes[place] = byte;
            let _ = read(&bytes);
            bytes.truncate(cut.index(bytes.len()));
            prop_assert!(read(&bytes).is_err(), "what is cut off is no answer");
        }
    }
}
