//! When a store may forget a counter.
//!
//! Forgetting must change no decision, so a counter is kept until it equals one that was never used.
//! It is kept a little longer than that, a minute at most: then the next charge usually finds an
//! expiry that still covers what has to be remembered, and leaves it as it is; and a clock that is set
//! back by less than a minute finds the counter again.

use super::Record;
use crate::charge::Charge;
use crate::kept::{Kept, of_window};
use crate::shape::{AttemptsState, Shape, Window, WindowState};
use crate::time::{Span, Timestamp};

/// How much longer than necessary a counter is kept, at most.
const SLACK: Span = Span::MINUTE;

/// The end of the period of a quota that began at `start` and whose record expires then, rounded down to
/// the millisecond. Whether a record has the slack of a long period or of a short one cannot be mistaken.
pub(super) fn end_of_quota(start: Timestamp, expires_at_ms: u64) -> Timestamp {
    let expiry = expires_at_ms.saturating_mul(1_000);
    let is_long = expiry.saturating_sub(start.as_micros()) >= 90_000_000;
    let slack = if is_long { SLACK } else { Span::SECOND };
    Timestamp::from_micros(expiry.saturating_sub(slack.as_micros()))
}

/// The slack of a quota whose period is so long, in µs: a minute, or a second where it is shorter than a
/// minute. A millisecond may be missing, which is lost where the end is read from the expiry.
fn quota_slack(length: Span) -> u64 {
    let is_long = length.as_micros() >= SLACK.as_micros() - 1_000;
    if is_long { SLACK.as_micros() } else { Span::SECOND.as_micros() }
}

// === impl Record ===

impl Record {
    /// The record of a counter that a charge or a move leaves in this state at `now`, where `before`
    /// was found. An expiry that still covers what has to be remembered stays; otherwise it is set
    /// anew, with slack.
    #[must_use]
    pub fn left_by(charge: &Charge<'_>, before: Option<&Self>, kept: Kept, now: Timestamp) -> Self {
        let stored = before.filter(|before| before.has_form_of(&kept));
        let stored = stored.map(|before| before.expires_at_ms);
        let expires_at_ms = match (charge.shape(), &kept) {
            (Shape::Bucket(bucket), Kept::Bucket(state, _)) => {
                let full_at = bucket.fresh_at(*state).as_micros();
                let fills = bucket.burst() * bucket.units_per_token();
                let fills = Span::from_micros(fills.div_ceil(bucket.units_per_micro()));
                covering(stored, full_at, (full_at + slack(fills)) / 1_000 + 1)
            }
            // Never longer: the expiry of a quota is what tells the end of its period.
            (Shape::Quota(_), Kept::Quota(state)) => {
                (state.end.as_micros() + quota_slack(state.end.since(state.start))) / 1_000
            }
            (Shape::Window(window), Kept::Window(state, _)) => {
                let before = before.map(|before| &before.kept);
                let left_at = last_left_at(window, before, state).as_micros().div_ceil(1_000);
                let slack = slack(window.per()).div_ceil(1_000);
                covering(stored, left_at * 1_000, left_at + slack)
            }
            (Shape::Attempts(attempts), Kept::Attempts(state)) => {
                let fresh_at = attempts.fresh_at(state).as_micros().div_ceil(1_000);
                let slack = slack(attempts.longest()).div_ceil(1_000);
                let renewed = (fresh_at + slack).max(now.as_micros() / 1_000 + 1);
                covering(stored, fresh_at * 1_000, renewed)
            }
            // A charge leaves a state of its own shape; another one may be forgotten at once.
            _ => now.as_micros() / 1_000 + 1,
        };
        let limit = match kept {
            Kept::Attempts(_) => charge.limit().id(),
            Kept::Bucket(..) | Kept::Window(..) | Kept::Quota(_) => 0,
        };
        Self { kept, limit, expires_at_ms }
    }

    /// The record of an abuse log that an operator leaves in this state at `now`, where `before` was
    /// found. It is kept as long as the log had to be, the block holds and its level counts.
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

    /// Whether the bytes of `kept` would differ from those of this record in what has changed and
    /// nothing else: then the expiry may stay.
    fn has_form_of(&self, kept: &Kept) -> bool {
        match (&self.kept, kept) {
            (Kept::Bucket(_, old), Kept::Bucket(_, new)) => {
                (old.units_per_micro(), old.units_per_token(), old.burst())
                    == (new.units_per_micro(), new.units_per_token(), new.burst())
            }
            (Kept::Window(old, _), Kept::Window(new, _)) => {
                matches!(**old, WindowState::Ring(_)) == matches!(**new, WindowState::Ring(_))
            }
            (Kept::Quota(_), Kept::Quota(_)) | (Kept::Attempts(_), Kept::Attempts(_)) => true,
            _ => false,
        }
    }
}

/// When the last charge has left the window. After something was given back that is judged by what was
/// there before: it costs nothing to keep the counter as long as if nothing had been given back.
fn last_left_at(window: &Window, before: Option<&Kept>, after: &WindowState) -> Timestamp {
    match after {
        WindowState::Grid(grid) => grid.left_at(window.per()),
        WindowState::Ring(ring) => {
            let before = match of_window(window, before) {
                Some(WindowState::Ring(before)) => before.last(),
                _ => None,
            };
            ring.last().max(before).unwrap_or(Timestamp::ZERO).after(window.per())
        }
    }
}

/// The stored expiry in ms if it covers `until`, in µs; otherwise the renewed one.
fn covering(stored: Option<u64>, until: u64, renewed: u64) -> u64 {
    stored.filter(|stored| until <= stored.saturating_mul(1_000)).unwrap_or(renewed)
}

/// The slack of a counter that is fresh again after this long, in µs.
fn slack(fresh_after: Span) -> u64 {
    fresh_after.min(SLACK).as_micros()
}
