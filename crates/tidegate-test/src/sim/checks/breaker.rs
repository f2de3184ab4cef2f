//! When the store is no longer asked: after three failures within ten seconds, by the definition.

use super::lane::{Expected, PolicyLane, Sent, Stand};
use super::{Holds, SECOND, guard, holds};
use crate::sim::trace::{StoreOutcome, Truth};

/// Failures that trip the breaker, counted over [`WITHIN`].
const FAILURES: usize = 3;
/// Window of [`FAILURES`]; both ends belong to it.
pub(super) const WITHIN: u64 = 10 * SECOND;
/// Number of unreadable counters within [`WITHIN`] that count as a failure of the store.
const CORRUPT: usize = 3;

/// Takes note of the outcome of a request at the store. An operation that was sent before the store
/// ceased or began to be asked says nothing any more.
pub(super) fn answered(lane: &mut PolicyLane, at: u64, sent: Sent, outcome: StoreOutcome) {
    if sent.generation != lane.generation {
        return;
    }
    match outcome {
        StoreOutcome::Good => prove(lane),
        _ => fail(lane, at, outcome),
    }
}

/// Takes note of the outcome of a probe.
pub(super) fn probed(lane: &mut PolicyLane, at: u64, sent: Sent, outcome: StoreOutcome) -> Holds {
    let good = outcome == StoreOutcome::Good;
    if sent.generation != lane.generation {
        return Ok(());
    }
    if lane.asks() {
        match good {
            true => prove(lane),
            false => fail(lane, at, outcome),
        }
        return Ok(());
    }
    lane.probes.push_back((at, good));
    if outcome == StoreOutcome::Refused {
        expect_refusal(lane, at);
    }
    Ok(())
}

fn prove(lane: &mut PolicyLane) {
    lane.only_bad_since = None;
    match lane.stand {
        Stand::Unproven => lane.expected.push(Expected::Proven),
        Stand::Normal if lane.suspected => {
            lane.suspected = false;
            lane.expected.push(Expected::Cleared);
        }
        _ => {}
    }
}

/// Counts a failure, and notes the signal that has to follow from it.
pub(super) fn fail(lane: &mut PolicyLane, at: u64, outcome: StoreOutcome) {
    if !lane.asks() {
        return;
    }
    match outcome {
        StoreOutcome::Good | StoreOutcome::Stale => return,
        // The store has answered, and is not to blame.
        StoreOutcome::Version | StoreOutcome::Shed => {
            lane.only_bad_since = None;
            return;
        }
        StoreOutcome::Corrupt(counter) => {
            lane.only_bad_since = None;
            if !blames_store(lane, at, counter) {
                return;
            }
        }
        StoreOutcome::Refused => {
            lane.only_bad_since.get_or_insert(at);
            expect_refusal(lane, at);
        }
        StoreOutcome::Failed => {
            lane.only_bad_since.get_or_insert(at);
        }
    }
    let heard = matches!(outcome, StoreOutcome::Failed | StoreOutcome::Refused);
    if heard && lane.stand == Stand::Normal && !lane.suspected {
        lane.suspected = true;
        lane.expected.push(Expected::Suspected);
    }
    count(lane, at);
}

/// Counts a failure of any kind.
pub(super) fn count(lane: &mut PolicyLane, at: u64) {
    lane.failures.retain(|failed| at - failed <= WITHIN);
    lane.failures.push_back(at);
    if lane.failures.len() >= FAILURES {
        lane.expected.push(guard::what_follows(lane, at));
    }
}

/// Whether this is at least the third different counter within ten seconds that cannot be read.
fn blames_store(lane: &mut PolicyLane, at: u64, counter: u64) -> bool {
    lane.corrupt.retain(|(_, seen)| at - seen <= WITHIN);
    let before = lane.corrupt.len();
    lane.corrupt.retain(|(known, _)| *known != counter);
    let new = lane.corrupt.len() == before;
    lane.corrupt.push((counter, at));
    new && lane.corrupt.len() >= CORRUPT
}

fn expect_refusal(lane: &mut PolicyLane, at: u64) {
    if lane.refused_at.is_none_or(|told| at - told >= 60 * SECOND) {
        lane.refused_at = Some(at);
        lane.expected.push(Expected::Refused);
    }
}

/// A policy changes course only for a reason: a trip needs three failures within ten seconds, of
/// this policy on this node, none of them a late answer or somebody else's fault.
pub(super) fn p48_p49_p50_p51_p58_trips_have_their_cause(
    lane: &mut PolicyLane,
    to: Expected,
) -> Holds {
    let failures = lane.failures.len();
    holds!(
        lane.expects(to),
        "P48",
        "{to:?} after {failures} failures that count, which is not what the definition says"
    );
    Ok(())
}

/// If an outage goes on, one request is enough for local caps to take over within ten seconds.
pub(super) fn p57_an_outage_is_noticed_at_any_rate(lane: &PolicyLane, now: u64) -> Holds {
    let Some(since) = lane.only_bad_since.filter(|_| lane.asks()) else { return Ok(()) };
    let bad = lane.truth == Truth::Bad && lane.truth_since <= since;
    let from = since.max(lane.in_force_since);
    let late = now > from + WITHIN + lane.slack;
    holds!(!(bad && late), "P57", "failing since {since}, and the store is still asked at {now}");
    Ok(())
}

/// Number of failures that count at `now`.
pub(super) fn counted(lane: &PolicyLane, now: u64) -> usize {
    lane.failures.iter().filter(|failed| now - **failed <= WITHIN).count()
}
