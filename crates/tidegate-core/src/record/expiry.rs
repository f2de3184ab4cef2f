//! When a store may forget a counter.
//!
//! Forgetting must change no decision, so a counter is kept until it equals one that was never used.
//! It is kept a little longer than that, a minute at most: then the next charge usually finds an
//! expiry that still covers what has to be remembered, and leaves it as it is; and a clock that is set
//! back by less than a minute finds the counter again.

use super::Record;
use crate::charge::Charge;
use crate::kept::Kept;
use crate::shape::AttemptsState;
use crate::time::{Span, Timestamp};

/// How much longer than necessary a counter is kept, at most.
pub(crate) const SLACK: Span = Span::MINUTE;

// === impl Record ===

impl Record {
    /// The record of a counter that a charge or a move leaves in this state at `now`, where `before`
    /// was found. An expiry that still covers what has to be remembered stays; otherwise it is set
    /// anew, with slack.
    #[must_use]
    pub fn left_by(charge: &Charge<'_>, before: Option<&Self>, kept: Kept, now: Timestamp) -> Self {
        let stored = before.filter(|before| before.kept.has_form_of(&kept));
        let stored = stored.map(|before| before.expires_at_ms);
        let before = before.map(|before| &before.kept);
        let expires_at_ms = kept.expires_at_ms(charge.shape(), before, stored, now);
        let limit = kept.log().map_or(0, |_| charge.limit().id());
        Self { kept, limit, expires_at_ms }
    }

    /// The record of an abuse log that an operator leaves in this state at `now`, where `before` was
    /// found. It is kept for as long as the log had to be kept, the block holds, and its level counts.
    #[must_use]
    pub fn amended(
        limit: u64,
        before: Option<&Self>,
        state: Box<AttemptsState>,
        now: Timestamp,
    ) -> Self {
        let stored = before.map(|before| before.expires_at_ms);
        let until = state.block().map_or(0, |block| block.forgotten_at().as_micros());
        let expires_at_ms = covering(stored, until, until.max(now.as_micros()) / 1_000 + 1);
        Self { kept: Kept::Attempts(state), limit, expires_at_ms }
    }
}

/// The `stored` expiry in ms if it covers `until`, in µs; otherwise the `renewed` one, in ms.
pub(crate) fn covering(stored: Option<u64>, until: u64, renewed: u64) -> u64 {
    stored.filter(|stored| until <= stored.saturating_mul(1_000)).unwrap_or(renewed)
}

/// The slack, in µs, of a counter that is fresh again after `fresh_after`.
pub(crate) fn slack(fresh_after: Span) -> u64 {
    fresh_after.min(SLACK).as_micros()
}
