//! Reading a record: nothing in it is believed before it has been checked.

use super::{Flaw, Head, Record, expiry};
use crate::block::{Block, BlockScope, Level};
use crate::kept::Kept;
use crate::shape::{
    Attempt, AttemptsState, Bucket, BucketState, Counts, EXACT_WINDOW, Grid, Kind, MAX_BLOCK_AT,
    QuotaState, Rate, Ring, SUB_COUNTS, Shape, Window, WindowState,
};
use crate::time::{MAX_EXACT, Span, Timestamp};

/// The digit of the version that this module reads and writes.
const VERSION: u8 = b'1';

pub(super) fn record(bytes: &mut &[u8], shape: Option<&Shape>) -> Result<Option<Record>, Flaw> {
    let [letter, version] = *bytes.first_chunk().ok_or(Flaw::Garbled)?;
    let kind = match letter {
        b'b' => Kind::Bucket,
        b'q' => Kind::Quota,
        b'r' | b'g' => Kind::Window,
        b'a' => Kind::Attempts,
        _ => return Err(Flaw::Garbled),
    };
    match version {
        VERSION => {}
        b'2'..=b'9' => return Err(Flaw::Version),
        _ => return Err(Flaw::Garbled),
    }
    if kind != shape.map_or(Kind::Attempts, Shape::kind) {
        return Ok(None);
    }
    match shape {
        Some(Shape::Bucket(wanted)) => bucket(bytes, wanted),
        Some(Shape::Quota(_)) => quota(bytes),
        Some(Shape::Window(wanted)) if letter == b'r' => ring(bytes, wanted),
        Some(Shape::Window(wanted)) => grid(bytes, wanted),
        Some(Shape::Attempts(_)) | None => attempts(bytes),
    }
    .map(Some)
}

pub(super) fn head(bytes: &mut &[u8]) -> Result<Head, Flaw> {
    match &chunk(bytes)? {
        b"a1" => {}
        [b'a', b'2'..=b'9'] => return Err(Flaw::Version),
        _ => return Err(Flaw::Garbled),
    }
    let (expires_at_ms, until, limit) = (number(bytes)?, number(bytes)?, word(bytes)?);
    let [scope, level, count, members] = chunk(bytes)?;
    let block = Block::restored(until, scope, level).ok_or(Flaw::Garbled)?;
    if u16::from(count) > MAX_BLOCK_AT || members > 1 {
        return Err(Flaw::Garbled);
    }
    Ok(Head { limit, block, expires_at_ms, count, has_members: members == 1 })
}

fn bucket(bytes: &mut &[u8], wanted: &Bucket) -> Result<Record, Flaw> {
    letters(bytes)?;
    let [r, p, burst] = [number(bytes)?, number(bytes)?, number(bytes)?];
    let state = BucketState { level: number(bytes)?, last: time(bytes)? };
    let rate = Rate::try_new(r, Span::from_micros(p)).map_err(|_| Flaw::Garbled)?;
    let bucket = Bucket::try_new(rate, burst).map_err(|_| Flaw::Garbled)?;
    // In lowest terms, or the level would be in other units; and never more than fits.
    if bucket.units_per_token() != p || state.level > burst * p {
        return Err(Flaw::Garbled);
    }
    let numbers =
        |bucket: &Bucket| (bucket.units_per_micro(), bucket.units_per_token(), bucket.burst());
    let under = if numbers(&bucket) == numbers(wanted) { *wanted } else { bucket };
    Ok(Record { kept: Kept::Bucket(state, under), limit: 0, expires_at_ms: number(bytes)? })
}

fn quota(bytes: &mut &[u8]) -> Result<Record, Flaw> {
    letters(bytes)?;
    let (start, used, expires_at_ms) = (time(bytes)?, number(bytes)?, number(bytes)?);
    let state = QuotaState { start, used, end: expiry::end_of_quota(start, expires_at_ms) };
    Ok(Record { kept: Kept::Quota(state), limit: 0, expires_at_ms })
}

fn ring(bytes: &mut &[u8], wanted: &Window) -> Result<Record, Flaw> {
    letters(bytes)?;
    let [count] = chunk(bytes)?;
    let expires_at_ms = number(bytes)?;
    let times = (0..count).map(|_| time(bytes)).collect::<Result<Vec<_>, _>>()?;
    if times.len() > EXACT_WINDOW || !times.is_sorted() {
        return Err(Flaw::Garbled);
    }
    let ring = WindowState::Ring(Ring::from_iter(times));
    let kept = Kept::Window(Box::new(ring), under(wanted, wanted.per(), true)?);
    Ok(Record { kept, limit: 0, expires_at_ms })
}

fn grid(bytes: &mut &[u8], wanted: &Window) -> Result<Record, Flaw> {
    letters(bytes)?;
    let per = Span::from_micros(number(bytes)?);
    let (last, until, expires_at_ms) = (time(bytes)?, time(bytes)?, number(bytes)?);
    let mut counts = [0; SUB_COUNTS];
    for count in &mut counts {
        *count = u32::from_le_bytes(chunk(bytes)?);
    }
    if counts.iter().map(|&count| u64::from(count)).sum::<u64>() > u64::from(u32::MAX) {
        return Err(Flaw::Garbled);
    }
    let grid = WindowState::Grid(Grid { last, until, counts });
    let kept = Kept::Window(Box::new(grid), under(wanted, per, false)?);
    Ok(Record { kept, limit: 0, expires_at_ms })
}

/// The window that a state of this form and length was written under: the wanted one, or one that
/// differs from it only in what matters when the state is read.
fn under(wanted: &Window, per: Span, exact: bool) -> Result<Window, Flaw> {
    if per == wanted.per() && exact == wanted.is_exact() {
        return Ok(wanted.clone());
    }
    let count = if exact { 1 } else { Window::MAX_COUNT };
    Window::try_new(count, per, Counts::Admitted).map_err(|_| Flaw::Garbled)
}

fn attempts(bytes: &mut &[u8]) -> Result<Record, Flaw> {
    let Head { limit, block, expires_at_ms, count, has_members } = head(bytes)?;
    // A time beyond the exact range counts as disorder: the Redis scripts check only the newest.
    let at = |word| (word <= MAX_EXACT).then(|| Timestamp::from_micros(word));
    let times = (0..count).map(|_| word(bytes)).collect::<Result<Vec<_>, _>>()?;
    let mut members = vec![0; times.len()];
    if has_members {
        for member in &mut members {
            *member = word(bytes)?;
        }
    }
    let log = times.into_iter().zip(&members);
    let log = log.map(|(word, &member)| Some(Attempt { at: at(word)?, member }));
    let log = log.collect::<Option<Vec<_>>>().ok_or(Flaw::Disorder)?;
    // Of a member only the newest attempt is kept.
    members.retain(|member| *member != 0);
    members.sort_unstable();
    if members.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(Flaw::Disorder);
    }
    let state = AttemptsState::restored(log, block).ok_or(Flaw::Disorder)?;
    Ok(Record { kept: Kept::Attempts(Box::new(state)), limit, expires_at_ms })
}

// === impl Block ===

impl Block {
    /// A block from the three numbers it is stored as: its end in microseconds, the
    /// [code](BlockScope::code) of its scope, and the number of its level or zero. `Some(None)` for
    /// three zeros, which are no block; `None` for numbers that no block has.
    #[must_use]
    pub fn restored(until: u64, scope: u8, level: u8) -> Option<Option<Self>> {
        if until > MAX_EXACT {
            return None;
        }
        let until = Timestamp::from_micros(until);
        match (BlockScope::from_code(scope), Level::from_number(level)) {
            (Some(scope), Some(level)) => Some(Some(Self { until, scope, level: Some(level) })),
            (Some(scope), None) if level == 0 => Some(Some(Self { until, scope, level: None })),
            (None, None) if scope == 0 && level == 0 && until == Timestamp::ZERO => Some(None),
            _ => None,
        }
    }
}

fn letters(bytes: &mut &[u8]) -> Result<[u8; 2], Flaw> {
    chunk(bytes)
}

fn time(bytes: &mut &[u8]) -> Result<Timestamp, Flaw> {
    number(bytes).map(Timestamp::from_micros)
}

/// A number that arithmetic is exact for.
fn number(bytes: &mut &[u8]) -> Result<u64, Flaw> {
    word(bytes).and_then(|word| if word <= MAX_EXACT { Ok(word) } else { Err(Flaw::Garbled) })
}

fn word(bytes: &mut &[u8]) -> Result<u64, Flaw> {
    chunk(bytes).map(u64::from_le_bytes)
}

fn chunk<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N], Flaw> {
    let (chunk, rest) = bytes.split_first_chunk().ok_or(Flaw::Garbled)?;
    *bytes = rest;
    Ok(*chunk)
}
