//! Quotas in a store: their bytes, and how long they are kept.
//!
//! The end of the period is not among the bytes of a quota: the expiry tells it.

use super::Kept;
use crate::record::bytes::{chunk, form, number, time};
use crate::record::expiry::SLACK;
use crate::record::{Flaw, Record};
use crate::shape::QuotaState;
use crate::time::{Span, Timestamp};

pub(super) fn state(kept: Option<&Kept>) -> Option<QuotaState> {
    match kept {
        Some(Kept::Quota(state)) => Some(*state),
        _ => None,
    }
}

pub(super) fn read(bytes: &mut &[u8]) -> Result<Record, Flaw> {
    chunk::<2>(bytes)?;
    let (start, used, expires_at_ms) = (time(bytes)?, number(bytes)?, number(bytes)?);
    let state = QuotaState { start, used, end: end(start, expires_at_ms) };
    Ok(Record { kept: Kept::Quota(state), limit: 0, expires_at_ms })
}

pub(super) fn write(state: &QuotaState, expires_at_ms: u64) -> Vec<u8> {
    form(b"q1", [], [state.start.as_micros(), state.used, expires_at_ms])
}

/// The expiry of a quota, in ms. It is never longer, because the end of the period is read from it.
pub(super) fn expires_at_ms(state: &QuotaState) -> u64 {
    (state.end.as_micros() + slack(state.end.since(state.start))) / 1_000
}

/// The end of the period that began at `start` and whose record expires at `expires_at_ms`, rounded down
/// to the millisecond. The time between both tells the slack of a long period from that of a short one.
fn end(start: Timestamp, expires_at_ms: u64) -> Timestamp {
    let expiry = expires_at_ms.saturating_mul(1_000);
    let is_long = expiry.saturating_sub(start.as_micros()) >= 90_000_000;
    let slack = if is_long { SLACK } else { Span::SECOND };
    Timestamp::from_micros(expiry.saturating_sub(slack.as_micros()))
}

/// The slack, in µs, of a quota with a period of this length: a minute, or a second if the period is
/// shorter than a minute. The length may lack a millisecond, which is lost when the end of the period is
/// read from the expiry.
fn slack(length: Span) -> u64 {
    let is_long = length.as_micros() >= SLACK.as_micros() - 1_000;
    if is_long { SLACK.as_micros() } else { Span::SECOND.as_micros() }
}
