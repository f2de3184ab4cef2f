//! Windows in a store, in both forms: how state that was written under other numbers is read; their bytes;
//! and how long they are kept.

use super::Kept;
use crate::record::bytes::{chunk, form, number, time};
use crate::record::expiry::{covering, slack};
use crate::record::{Flaw, Record};
use crate::shape::{Counts, EXACT_WINDOW, Grid, Ring, SUB_COUNTS, Window, WindowState};
use crate::time::{Span, Timestamp};

/// The state as these numbers see it; see [`Window::inherit`].
pub(super) fn state(window: &Window, kept: Option<&Kept>) -> Option<WindowState> {
    match kept {
        Some(Kept::Window(state, old)) if window != old => Some(window.inherit(old, state)),
        Some(Kept::Window(state, _)) => Some((**state).clone()),
        _ => None,
    }
}

pub(super) fn read(bytes: &mut &[u8], letter: u8, wanted: &Window) -> Result<Record, Flaw> {
    if letter == b'r' { ring(bytes, wanted) } else { grid(bytes, wanted) }
}

fn ring(bytes: &mut &[u8], wanted: &Window) -> Result<Record, Flaw> {
    chunk::<2>(bytes)?;
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
    chunk::<2>(bytes)?;
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

/// The window that a state of this form and length was written under: the wanted one, or a stand-in
/// with that form and length, which are all that matters when the state is read.
fn under(wanted: &Window, per: Span, exact: bool) -> Result<Window, Flaw> {
    if per == wanted.per() && exact == wanted.is_exact() {
        return Ok(wanted.clone());
    }
    let count = if exact { 1 } else { Window::MAX_COUNT };
    Window::try_new(count, per, Counts::Admitted).map_err(|_| Flaw::Garbled)
}

pub(super) fn write(state: &WindowState, window: &Window, expires_at_ms: u64) -> Vec<u8> {
    match state {
        WindowState::Ring(ring) => {
            let count = u8::try_from(ring.times().len()).unwrap_or(u8::MAX);
            let times = ring.times().map(Timestamp::as_micros);
            form(b"r1", [count], core::iter::once(expires_at_ms).chain(times))
        }
        WindowState::Grid(grid) => {
            let (last, until) = (grid.last.as_micros(), grid.until.as_micros());
            let words = [window.per().as_micros(), last, until, expires_at_ms];
            let mut bytes = form(b"g1", [], words);
            bytes.extend(grid.counts.iter().flat_map(|count| count.to_le_bytes()));
            bytes
        }
    }
}

pub(super) fn expires_at_ms(
    window: &Window,
    before: Option<&Kept>,
    state: &WindowState,
    stored: Option<u64>,
) -> u64 {
    let left_at = last_left_at(window, before, state).as_micros().div_ceil(1_000);
    let slack = slack(window.per()).div_ceil(1_000);
    covering(stored, left_at * 1_000, left_at + slack)
}

/// When the last charge has left the window. After something was given back, the state before counts,
/// too: it costs nothing to keep the counter as long as if nothing had been given back.
fn last_left_at(window: &Window, before: Option<&Kept>, after: &WindowState) -> Timestamp {
    match after {
        WindowState::Grid(grid) => grid.left_at(window.per()),
        WindowState::Ring(ring) => {
            let before = match state(window, before) {
                Some(WindowState::Ring(before)) => before.last(),
                _ => None,
            };
            ring.last().max(before).unwrap_or(Timestamp::ZERO).after(window.per())
        }
    }
}
