//! The stored form of a counter, as `lua/` writes it.
//!
//! Two letters, the shape and the version of its form, then little-endian integers: of 64 bits, and
//! for the counts of a grid of 32. The form says how long it is, so states can follow one another.
//!
//! | state | begins | then |
//! |---|---|---|
//! | bucket | `b1` | `r`, `p` and burst it was written under, level in units, when, expiry in ms |
//! | quota | `q1` | start of the period, used, expiry in ms |
//! | ring | `r1` | one byte: how many; expiry in ms, the times |
//! | grid | `g1` | length it was written under, newest time, end of the backoff, expiry in ms, 61 counts |
//! | attempts | `a1` | the head of [`Head`]; the times, oldest first; whose they were, if members follow |

use tidegate_core::{
    Attempt, AttemptsState, Block, BlockScope, Bucket, BucketState, Counts, Grid, Kept, Level,
    QuotaState, Rate, Ring, SUB_COUNTS, Shape, Span, Timestamp, Window, WindowState,
};

use super::servers::Garbled;

/// Why a state is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// No script answers that.
    Garbled,
    /// A log whose times are not in order. The scripts do not go through it, so they pass it on.
    Disorder,
}

/// What an abuse log begins with, in 30 bytes: `a1`, the expiry in ms, the end of the block, the
/// identity of the limit; a byte each: the scope of the block and its level (zeros where there is
/// none), how many attempts follow, and whether their members do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) limit: u64,
    pub(crate) block: Option<Block>,
    count: u8,
    has_members: bool,
}

/// Takes the state of a counter of this shape off the front; `-` is none.
pub(crate) fn read(bytes: &mut &[u8], shape: &Shape) -> Result<Option<Kept>, Flaw> {
    if let Some(rest) = bytes.strip_prefix(b"-") {
        *bytes = rest;
        return Ok(None);
    }
    let kept = match (&chunk::<2>(bytes)?, shape) {
        (b"b1", Shape::Bucket(_)) => bucket(bytes)?,
        (b"q1", Shape::Quota(_)) => quota(bytes)?,
        (b"r1", Shape::Window(window)) => ring(bytes, window)?,
        (b"g1", Shape::Window(window)) => grid(bytes, window)?,
        (b"a1", Shape::Attempts(_)) => attempts(bytes)?,
        _ => return Err(Flaw::Garbled),
    };
    Ok(Some(kept))
}

// === impl Head ===

impl Head {
    /// How long it is.
    pub(crate) const SIZE: usize = 30;

    /// Reads a head by itself.
    pub(crate) fn read(mut bytes: &[u8]) -> Result<Self, Garbled> {
        match &chunk::<2>(&mut bytes)? {
            b"a1" => Self::after_tag(&mut bytes),
            _ => Err(Garbled),
        }
    }

    fn after_tag(bytes: &mut &[u8]) -> Result<Self, Garbled> {
        let (_expiry, until, limit) = (word(bytes)?, time(bytes)?, word(bytes)?);
        let [scope, level, count, members] = chunk(bytes)?;
        let block = block(until, scope, level)?;
        match (count, members) {
            (0..=100, 0 | 1) => Ok(Self { limit, block, count, has_members: members == 1 }),
            _ => Err(Garbled),
        }
    }
}

/// A block by itself: its end, its scope and its level.
pub(crate) fn block_of(mut bytes: &[u8]) -> Result<Option<Block>, Garbled> {
    let (until, [scope, level]) = (time(&mut bytes)?, chunk(&mut bytes)?);
    if bytes.is_empty() { block(until, scope, level) } else { Err(Garbled) }
}

/// A block as it is stored, or none.
fn block(until: Timestamp, scope: u8, level: u8) -> Result<Option<Block>, Garbled> {
    match (BlockScope::from_code(scope), Level::from_number(level)) {
        (Some(scope), Some(level)) => Ok(Some(Block { until, scope, level: Some(level) })),
        (Some(scope), None) if level == 0 => Ok(Some(Block { until, scope, level: None })),
        (None, None) if scope == 0 && level == 0 && until == Timestamp::ZERO => Ok(None),
        _ => Err(Garbled),
    }
}

fn attempts(bytes: &mut &[u8]) -> Result<Kept, Flaw> {
    let head = Head::after_tag(bytes)?;
    let each = |_| time(bytes).map(|at| Attempt { at, member: 0 });
    let mut log = (0..head.count).map(each).collect::<Result<Vec<_>, _>>()?;
    if head.has_members {
        for attempt in &mut log {
            attempt.member = word(bytes)?;
        }
    }
    let state = AttemptsState::restored(log, head.block).ok_or(Flaw::Disorder)?;
    Ok(Kept::Attempts(Box::new(state)))
}

fn bucket(bytes: &mut &[u8]) -> Result<Kept, Garbled> {
    let (r, p, burst) = (word(bytes)?, word(bytes)?, word(bytes)?);
    let state = BucketState { level: word(bytes)?, last: time(bytes)? };
    let _expiry = word(bytes)?;
    let rate = Rate::try_new(r, Span::from_micros(p)).map_err(|_| Garbled)?;
    let bucket = Bucket::try_new(rate, burst).map_err(|_| Garbled)?;
    // In lowest terms, or the level would be in other units.
    if bucket.units_per_token() == p { Ok(Kept::Bucket(state, bucket)) } else { Err(Garbled) }
}

fn quota(bytes: &mut &[u8]) -> Result<Kept, Garbled> {
    let (start, used, expiry) = (time(bytes)?, word(bytes)?, word(bytes)?);
    // Kept for a minute longer than its period (`SLACK` of the scripts).
    let end = expiry.saturating_mul(1_000).saturating_sub(60_000_000);
    Ok(Kept::Quota(QuotaState { start, used, end: Timestamp::from_micros(end) }))
}

fn ring(bytes: &mut &[u8], window: &Window) -> Result<Kept, Garbled> {
    let [count] = chunk(bytes)?;
    let _expiry = word(bytes)?;
    let times = (0..count).map(|_| time(bytes)).collect::<Result<Vec<_>, _>>()?;
    let ring = WindowState::Ring(Ring::from_iter(times));
    Ok(Kept::Window(Box::new(ring), under(window, window.per(), true)?))
}

fn grid(bytes: &mut &[u8], window: &Window) -> Result<Kept, Garbled> {
    let per = Span::from_micros(word(bytes)?);
    let (last, until) = (time(bytes)?, time(bytes)?);
    let _expiry = word(bytes)?;
    let mut counts = [0; SUB_COUNTS];
    for count in &mut counts {
        *count = u32::from_le_bytes(chunk(bytes)?);
    }
    let grid = WindowState::Grid(Grid { last, until, counts });
    Ok(Kept::Window(Box::new(grid), under(window, per, false)?))
}

/// The window that a state of this form and length was written under: the same, or one that differs
/// in what matters when it is read.
fn under(window: &Window, per: Span, exact: bool) -> Result<Window, Garbled> {
    if per == window.per() && exact == window.is_exact() {
        return Ok(window.clone());
    }
    let count = if exact { 1 } else { Window::MAX_COUNT };
    Window::try_new(count, per, Counts::Admitted).map_err(|_| Garbled)
}

// === impl Flaw ===

impl From<Garbled> for Flaw {
    fn from(Garbled: Garbled) -> Self {
        Self::Garbled
    }
}

fn time(bytes: &mut &[u8]) -> Result<Timestamp, Garbled> {
    word(bytes).map(Timestamp::from_micros)
}

fn word(bytes: &mut &[u8]) -> Result<u64, Garbled> {
    chunk(bytes).map(u64::from_le_bytes)
}

fn chunk<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N], Garbled> {
    let (chunk, rest) = bytes.split_first_chunk().ok_or(Garbled)?;
    *bytes = rest;
    Ok(*chunk)
}
