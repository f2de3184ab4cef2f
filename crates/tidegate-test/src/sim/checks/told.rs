//! What observers and hosts are told: every change once, immediately, and nothing else.

use tidegate_core::{Cause, Mode, Signal, Standing, Transition};

use super::lane::{Expected, PolicyLane, Stand};
use super::{Holds, SECOND, breaker, guard, holds, outage, recovery};

/// Interval between two signals that local caps still decide.
const PROLONGED: u64 = 1_800 * SECOND;

impl PolicyLane {
    /// Every signal that was due has been given.
    pub(super) fn p79_everything_is_told(&self) -> Holds {
        let missing = &self.expected;
        holds!(missing.is_empty(), "P79", "{missing:?} should have followed and did not");
        Ok(())
    }
}

/// A signal carries the time at which it was given.
pub(super) fn p59_times_are_those_of_the_node(
    lane: &PolicyLane,
    at: u64,
    signal: &Signal,
) -> Holds {
    let told = signal.at().as_micros();
    holds!(told.abs_diff(at) <= lane.slack, "P59", "told at {at} as of {told}");
    Ok(())
}

/// The first failure in a while is signalled, with the mode in which its request is decided.
pub(super) fn p22_the_first_failure_is_told(lane: &mut PolicyLane, mode: Mode) -> Holds {
    let primary = lane.primary();
    holds!(lane.expects(Expected::Suspected), "P22", "suspected without a first failure");
    holds!(mode == primary, "P22", "suspected in {mode:?}, and the policy is {primary:?}");
    Ok(())
}

/// The end of a suspicion is signalled when the store has answered again, and only then.
pub(super) fn p79_an_end_of_suspicion_is_told(lane: &mut PolicyLane, at: u64) -> Holds {
    holds!(lane.expects(Expected::Cleared), "P79", "cleared at {at}, and nothing was answered");
    Ok(())
}

/// Observers are told of each decision once, before it is answered.
pub(super) fn p22_each_decision_is_told_once(lane: &PolicyLane) -> Holds {
    let before = lane.observed;
    holds!(before.is_none(), "P22", "{before:?} was told and nobody answered with it");
    Ok(())
}

/// A store that refuses us is signalled at once, and at most once a minute.
pub(super) fn p79_refusals_are_told_once_a_minute(lane: &mut PolicyLane, at: u64) -> Holds {
    holds!(lane.expects(Expected::Refused), "P79", "a refusal told at {at} without one");
    Ok(())
}

/// While local caps go on deciding, that is signalled every half hour.
pub(super) fn p79_long_stays_are_told(lane: &mut PolicyLane, at: u64, epoch: u64) -> Holds {
    let Stand::Degraded(since, tell) = lane.stand else {
        holds!(false, "P79", "a long stay told at {at} without a stay");
        return Ok(());
    };
    holds!(at + lane.slack >= tell, "P79", "told at {at}, and {tell} is when it is due");
    holds!(epoch == lane.epoch, "P79", "told of stay {epoch}, and this is {}", lane.epoch);
    lane.stand = Stand::Degraded(since, at + PROLONGED);
    Ok(())
}

/// The half-hourly signal of a long stay is not missing.
pub(super) fn p79_long_stays_are_told_in_time(lane: &PolicyLane, now: u64) -> Holds {
    let Stand::Degraded(_, tell) = lane.stand else { return Ok(()) };
    let due = tell.max(lane.in_force_since);
    holds!(now <= due + lane.slack, "P79", "a long stay was to be told at {due}");
    Ok(())
}

/// Checks a change of mode, and takes note of it.
pub(super) fn changed(lane: &mut PolicyLane, at: u64, transition: &Transition) -> Holds {
    p01_p79_transitions_join(lane, transition)?;
    lane.suspected = false;
    let stand = match transition.cause {
        Cause::Proven => {
            let expected = Expected::Proven;
            breaker::p48_p49_p50_p51_p58_trips_have_their_cause(lane, expected)?;
            Stand::Normal
        }
        Cause::Tripped => {
            let expected = Expected::Tripped;
            guard::p56_p61_p65_entries_are_few(lane, at)?;
            breaker::p48_p49_p50_p51_p58_trips_have_their_cause(lane, expected)?;
            Stand::Degraded(at, at + PROLONGED)
        }
        Cause::Flapped => {
            guard::p64_backoffs_are_apart(lane, at)?;
            p61_p62_a_violation_is_told_once(lane)?;
            Stand::Backoff(at)
        }
        Cause::Recovered => {
            recovery::p53_a_stay_lasts_five_minutes(lane, at)?;
            recovery::p54_p64_health_was_sustained(lane, at)?;
            Stand::Normal
        }
        Cause::BackoffOver => {
            guard::p61_p63_a_backoff_lasts_ten_minutes(lane, at)?;
            recovery::p54_p64_health_was_sustained(lane, at)?;
            Stand::Normal
        }
        Cause::BackoffOverUnhealthy => {
            guard::p61_p63_a_backoff_lasts_ten_minutes(lane, at)?;
            recovery::p64_health_was_not_sustained(lane, at)?;
            Stand::Degraded(at, at + PROLONGED)
        }
    };
    enter(lane, at, stand, transition);
    Ok(())
}

/// Updates the records after a change of mode.
fn enter(lane: &mut PolicyLane, at: u64, stand: Stand, transition: &Transition) {
    let asked = lane.asks();
    lane.stand = stand;
    (lane.mode, lane.epoch) = (transition.to, transition.epoch);
    if asked != lane.asks() {
        lane.outage.changed(at, lane.asks());
        lane.generation += 1;
        lane.halted_at = asked.then_some(at);
        lane.failures.clear();
        lane.corrupt.clear();
        lane.only_bad_since = None;
        lane.probes.clear();
    }
    recovery::forget(lane, at);
}

/// A policy that trips too often gives one critical signal.
fn p61_p62_a_violation_is_told_once(lane: &mut PolicyLane) -> Holds {
    let entries = lane.entries.len();
    holds!(lane.expects(Expected::Flapped), "P61", "nothing passes after {entries} entries");
    Ok(())
}

/// Each change begins in the mode in which the last one ended, and its cause fits both of its
/// modes.
fn p01_p79_transitions_join(lane: &PolicyLane, transition: &Transition) -> Holds {
    let Transition { from, to, cause, epoch, .. } = *transition;
    let (mode, primary) = (lane.mode, lane.primary());
    holds!(from == mode, "P79", "from {from:?}, and it was {mode:?}");
    let asked = if lane.stand == Stand::Unproven { primary } else { Mode::Normal };
    let (whence, whither) = match cause {
        Cause::Proven => (primary, Mode::Normal),
        Cause::Tripped => (asked, Mode::Degraded),
        Cause::Flapped => (asked, Mode::FailClosed),
        Cause::Recovered => (Mode::Degraded, Mode::Normal),
        Cause::BackoffOver => (Mode::FailClosed, Mode::Normal),
        Cause::BackoffOverUnhealthy => (Mode::FailClosed, Mode::Degraded),
    };
    holds!((from, to) == (whence, whither), "P01", "{cause:?} from {from:?} to {to:?}");
    let expected = lane.epoch + u64::from(cause == Cause::Tripped);
    holds!(epoch == expected, "P79", "stay {epoch} where {expected} comes next");
    Ok(())
}

/// A host that asks how the policy stands gets what the signals have said.
pub(super) fn p80_the_host_sees_what_was_told(
    lane: &PolicyLane,
    at: u64,
    said: &Standing,
) -> Holds {
    let closed = outage::is_closed(lane, at);
    let mode = match closed {
        Some(true) => Mode::FailClosed,
        _ if lane.suspected => lane.primary(),
        _ => lane.mode,
    };
    let agrees = said.mode == mode || closed.is_none() && said.mode == Mode::FailClosed;
    holds!(agrees, "P80", "stands {:?}, told {mode:?}", said.mode);
    holds!(said.epoch == lane.epoch, "P80", "stay {}, told {}", said.epoch, lane.epoch);
    let failures = breaker::counted(lane, at);
    holds!(said.failures == failures, "P80", "{} failures, seen {failures}", said.failures);
    let since = match lane.stand {
        Stand::Degraded(since, _) => Some(since),
        _ => None,
    };
    let said_since = said.degraded_since.map(tidegate_core::Timestamp::as_micros);
    holds!(said_since == since, "P80", "since {said_since:?}, told {since:?}");
    let denies = match lane.stand {
        Stand::Backoff(since) => Some((since + guard::BACKOFF).saturating_sub(at)),
        _ => None,
    };
    let said_denies = said.denies_for.map(tidegate_core::Span::as_micros);
    holds!(said_denies == denies, "P80", "denies for {said_denies:?}, told {denies:?}");
    Ok(())
}
