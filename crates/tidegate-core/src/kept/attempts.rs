//! Abuse logs in a store: their bytes, of which the list of blocks reads only the first, and how long they
//! are kept.

use super::Kept;
use crate::block::{Block, Level};
use crate::record::bytes::{chunk, form, number, word};
use crate::record::expiry::{covering, slack};
use crate::record::{Flaw, Record};
use crate::shape::{Attempt, Attempts, AttemptsState, MAX_BLOCK_AT};
use crate::time::{MAX_EXACT, Timestamp};

/// The first 30 bytes of a record of attempts, which are all that the list of blocks has to read: `a1`,
/// the expiry in ms, the end of the block, the identity of the limit; then a byte each for the scope
/// and the level of the block (zeros without a block), the number of attempts that follow (100 at
/// most), and whether their members follow too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttemptsHead {
    /// The identity of the limit.
    pub limit: u64,
    /// The last block, which may have ended.
    pub block: Option<Block>,
    expires_at_ms: u64,
    count: u8,
    has_members: bool,
}

pub(super) fn read(bytes: &mut &[u8]) -> Result<Record, Flaw> {
    let AttemptsHead { limit, block, expires_at_ms, count, has_members } = head(bytes)?;
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
    // Only the newest attempt of each member is kept, so no member is there twice.
    members.retain(|member| *member != 0);
    members.sort_unstable();
    if members.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(Flaw::Disorder);
    }
    let state = AttemptsState::restored(log, block).ok_or(Flaw::Disorder)?;
    Ok(Record { kept: Kept::Attempts(Box::new(state)), limit, expires_at_ms })
}

fn head(bytes: &mut &[u8]) -> Result<AttemptsHead, Flaw> {
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
    Ok(AttemptsHead { limit, block, expires_at_ms, count, has_members: members == 1 })
}

pub(super) fn write(state: &AttemptsState, limit: u64, expires_at_ms: u64) -> Vec<u8> {
    let attempts = state.attempts();
    let has_members = attempts.iter().any(|attempt| attempt.member != 0);
    let (until, scope, level) = match state.block() {
        Some(Block { until, scope, level }) => (until, scope.code(), level.map_or(0, Level::get)),
        None => (Timestamp::ZERO, 0, 0),
    };
    let mut bytes = form(b"a1", [], [expires_at_ms, until.as_micros(), limit]);
    let count = u8::try_from(attempts.len()).unwrap_or(u8::MAX);
    bytes.extend([scope, level, count, u8::from(has_members)]);
    bytes.extend(attempts.iter().flat_map(|attempt| attempt.at.as_micros().to_le_bytes()));
    if has_members {
        bytes.extend(attempts.iter().flat_map(|attempt| attempt.member.to_le_bytes()));
    }
    bytes
}

pub(super) fn expires_at_ms(
    attempts: &Attempts,
    state: &AttemptsState,
    stored: Option<u64>,
    now: Timestamp,
) -> u64 {
    let fresh_at = attempts.fresh_at(state).as_micros().div_ceil(1_000);
    let slack = slack(attempts.longest()).div_ceil(1_000);
    let renewed = (fresh_at + slack).max(now.as_micros() / 1_000 + 1);
    covering(stored, fresh_at * 1_000, renewed)
}

// === impl AttemptsHead ===

impl AttemptsHead {
    /// The number of bytes a head has.
    pub const SIZE: usize = 30;

    /// Reads a head by itself.
    ///
    /// # Errors
    ///
    /// [`Flaw`] if the bytes are no head of this version.
    pub fn decode(mut bytes: &[u8]) -> Result<Self, Flaw> {
        head(&mut bytes)
    }
}
