//! Buckets in a store: how state that was written under other numbers is read; their bytes; and how long
//! they are kept.

use super::Kept;
use crate::cost::Cost;
use crate::record::bytes::{chunk, form, number, time};
use crate::record::expiry::{covering, slack};
use crate::record::{Flaw, Record};
use crate::shape::{Bucket, BucketState, Rate, Reading};
use crate::time::{Span, Timestamp};

pub(super) fn look(bucket: &Bucket, kept: Option<&Kept>, cost: Cost, now: Timestamp) -> Reading {
    match kept {
        Some(Kept::Bucket(state, old)) if bucket != old => {
            bucket.look_inherited(old, *state, cost, now)
        }
        Some(Kept::Bucket(state, _)) => bucket.look(Some(*state), cost, now),
        _ => bucket.look(None, cost, now),
    }
}

/// The state as these numbers see it; see [`Bucket::inherit`].
pub(super) fn state(bucket: &Bucket, kept: Option<&Kept>, now: Timestamp) -> Option<BucketState> {
    match kept {
        Some(Kept::Bucket(state, old)) if bucket != old => bucket.inherit(old, *state, now),
        Some(Kept::Bucket(state, _)) => Some(*state),
        _ => None,
    }
}

pub(super) fn read(bytes: &mut &[u8], wanted: &Bucket) -> Result<Record, Flaw> {
    chunk::<2>(bytes)?;
    let [r, p, burst] = [number(bytes)?, number(bytes)?, number(bytes)?];
    let state = BucketState { level: number(bytes)?, last: time(bytes)? };
    let rate = Rate::try_new(r, Span::from_micros(p)).map_err(|_| Flaw::Garbled)?;
    let bucket = Bucket::try_new(rate, burst).map_err(|_| Flaw::Garbled)?;
    // The rate is in lowest terms, or the level would be in other units; and the level is one that fits.
    if bucket.units_per_token() != p || state.level > burst * p {
        return Err(Flaw::Garbled);
    }
    let under = if numbers(&bucket) == numbers(wanted) { *wanted } else { bucket };
    Ok(Record { kept: Kept::Bucket(state, under), limit: 0, expires_at_ms: number(bytes)? })
}

pub(super) fn write(state: &BucketState, bucket: &Bucket, expires_at_ms: u64) -> Vec<u8> {
    let state = [state.level, state.last.as_micros(), expires_at_ms];
    form(b"b1", [], numbers(bucket).into_iter().chain(state))
}

pub(super) fn expires_at_ms(bucket: &Bucket, state: BucketState, stored: Option<u64>) -> u64 {
    let full_at = bucket.fresh_at(state).as_micros();
    let fills = bucket.burst() * bucket.units_per_token();
    let fills = Span::from_micros(fills.div_ceil(bucket.units_per_micro()));
    covering(stored, full_at, (full_at + slack(fills)) / 1_000 + 1)
}

/// The numbers of a bucket that are written beside its state.
pub(super) const fn numbers(bucket: &Bucket) -> [u64; 3] {
    [bucket.units_per_micro(), bucket.units_per_token(), bucket.burst()]
}
