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

use tidegate_core::{
    Bucket, BucketState, Counts, Grid, Kept, QuotaState, Rate, Ring, SUB_COUNTS, Shape, Span,
    Timestamp, Window, WindowState,
};

use super::servers::Garbled;

/// Takes the state of a counter of this shape off the front; `-` is none.
pub(crate) fn read(bytes: &mut &[u8], shape: &Shape) -> Result<Option<Kept>, Garbled> {
    if let Some(rest) = bytes.strip_prefix(b"-") {
        *bytes = rest;
        return Ok(None);
    }
    let kept = match (&chunk::<2>(bytes)?, shape) {
        (b"b1", Shape::Bucket(_)) => bucket(bytes)?,
        (b"q1", Shape::Quota(_)) => quota(bytes)?,
        (b"r1", Shape::Window(window)) => ring(bytes, window)?,
        (b"g1", Shape::Window(window)) => grid(bytes, window)?,
        _ => return Err(Garbled),
    };
    Ok(Some(kept))
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
    let state = QuotaState { start: time(bytes)?, used: word(bytes)? };
    let _expiry = word(bytes)?;
    Ok(Kept::Quota(state))
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
