//! How long a policy without caps of its own stays closed: for the first half hour of an outage.

use tidegate_core::{Alarm, Mode};

use super::lane::{PolicyLane, Stand};
use super::{FallbackKind, Holds, SECOND, holds};
use crate::sim::trace::RequestAnswer;

/// How long a policy without caps of its own is closed, and how long a store has to be trusted for
/// an outage to be over.
const HALF_AN_HOUR: u64 = 1_800 * SECOND;

/// The times of the last outage at which the store ceased to be trusted, or was trusted again.
#[derive(Clone, Debug, Default)]
pub(super) struct OutageTimes {
    changes: Vec<(u64, bool)>,
    /// When the end of the closure was signalled.
    told: Option<u64>,
}

// === impl OutageTimes ===

impl OutageTimes {
    /// Takes note that the store is trusted from now on, or is not.
    pub(super) fn changed(&mut self, at: u64, trusted: bool) {
        if !trusted && self.is_over(at) {
            *self = Self::default();
        }
        if !trusted || !self.changes.is_empty() {
            self.changes.push((at, trusted));
        }
    }

    /// Whether the outage is over, so that a trip would begin another one.
    pub(super) fn is_over(&self, at: u64) -> bool {
        match self.changes.last() {
            None => true,
            Some((since, trusted)) => *trusted && at - since > HALF_AN_HOUR,
        }
    }

    /// When the closure of closed policies ends.
    fn ends(&self) -> u64 {
        self.changes.first().map_or(0, |(began, _)| began + HALF_AN_HOUR)
    }
}

/// `auth` and `admin` answer that they are unavailable in the first half hour of an outage and not
/// a moment longer. Requests that pass after that carry the critical condition, which was signalled
/// before. The wait in an answer never goes beyond that half hour.
pub(super) fn a35_closed_is_bounded(lane: &PolicyLane, at: u64, answer: &RequestAnswer) -> Holds {
    let Stand::Degraded(..) = lane.stand else { return Ok(()) };
    let (ends, mode, alarm) = (lane.outage.ends(), answer.mode, answer.alarm);
    if lane.law.kind != FallbackKind::Closed {
        holds!(alarm != Some(Alarm::Reopened), "A35", "reopened, and never was closed");
        return Ok(());
    }
    if mode == Mode::FailClosed {
        holds!(at < ends + lane.slack, "A35", "closed at {at}, and {ends} is its end");
        let wait = answer.wait.unwrap_or(u64::MAX);
        holds!(at + wait <= ends + lane.slack, "A35", "told to wait {wait} until after {ends}");
        return Ok(());
    }
    holds!(at + lane.slack >= ends, "A35", "open at {at}, and closed until {ends}");
    let expected = Some(Alarm::Reopened);
    holds!(alarm == expected, "A35", "open with the alarm {alarm:?}");
    holds!(lane.outage.told.is_some(), "A35", "open, and nobody was told");
    Ok(())
}

/// Whether a policy is closed at `at`; `None` if `at` is too close to the end to say.
pub(super) fn is_closed(lane: &PolicyLane, at: u64) -> Option<bool> {
    let stays = matches!(lane.stand, Stand::Degraded(..)) && lane.law.kind == FallbackKind::Closed;
    let ends = lane.outage.ends();
    match stays {
        false => Some(false),
        true if at.abs_diff(ends) < lane.slack => None,
        true => Some(at < ends),
    }
}

/// The end of a closure is signalled once in an outage, when its half hour is over.
pub(super) fn a35_the_end_of_a_closure_is_told_once(
    lane: &mut PolicyLane,
    at: u64,
    since: u64,
    epoch: u64,
) -> Holds {
    let stays = matches!(lane.stand, Stand::Degraded(..));
    holds!(stays && lane.law.kind == FallbackKind::Closed, "A35", "nothing was closed");
    let (ends, told) = (lane.outage.ends(), lane.outage.told.replace(at));
    holds!(told.is_none(), "A35", "told at {told:?} already");
    holds!(at + lane.slack >= ends, "A35", "told at {at}, and {ends} is its end");
    let began = since.abs_diff(ends - HALF_AN_HOUR);
    holds!(began <= lane.slack, "A35", "an outage since {since} that ends at {ends}");
    holds!(epoch == lane.epoch, "A35", "told of stay {epoch}, and this is {}", lane.epoch);
    Ok(())
}
