//! When the store is asked again: after five minutes, the last two of them healthy, and without any
//! request.

use super::lane::{PolicyLane, Stand};
use super::{Holds, SECOND, holds};
use crate::sim::trace::{OpKind, Truth};

/// Least time for which local caps decide.
const STAY: u64 = 300 * SECOND;
/// Time for which all probes have to be good.
const HEALTHY: u64 = 120 * SECOND;
/// Least number of probes within [`HEALTHY`].
const PROBES: usize = 12;
/// Longest gap between two probes.
const GAP: u64 = 10 * SECOND;
/// Interval between two probes while the store is not asked.
const EVERY: u64 = 5 * SECOND;
/// How much later than at the earliest time the store may be asked again.
const LATE: u64 = 10 * SECOND;

/// The health of the store over the last two minutes, according to its probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProbedHealth {
    Good,
    /// Good by one reading of the definition and not by the other: the last probe was some time
    /// ago.
    Nearly,
    Bad,
}

/// While the store is not asked, nothing is sent to it but probes.
pub(super) fn p19_p52_p63_only_probes_are_sent(lane: &PolicyLane, kind: OpKind) -> Holds {
    let (stand, probe) = (lane.stand, kind == OpKind::Probe);
    holds!(lane.asks() || probe, "P52", "{kind:?} is sent while the policy is {stand:?}");
    Ok(())
}

/// While the store is not asked, probes are at least five seconds apart. One that was due at the
/// very instant at which the store ceased to be asked had begun before.
pub(super) fn p52_probes_keep_their_distance(lane: &PolicyLane, at: u64) -> Holds {
    let apart = lane.last_probe.map(|last| at - last);
    let far = apart.is_none_or(|apart| apart + lane.slack >= EVERY);
    holds!(
        lane.asks() || begun_before(lane, at) || far,
        "P52",
        "a probe {apart:?} µs after the last one"
    );
    Ok(())
}

/// Whether a probe that is sent now had begun before the store ceased to be asked at this same
/// instant: otherwise the next one is due five seconds later.
pub(super) fn begun_before(lane: &PolicyLane, at: u64) -> bool {
    !lane.asks() && lane.halted_at.is_some_and(|halted| at <= halted + lane.slack)
}

/// Checks how long local caps have decided, at the time they cease to.
pub(super) fn p53_a_stay_lasts_five_minutes(lane: &PolicyLane, at: u64) -> Holds {
    let Stand::Degraded(since, _) = lane.stand else { return Ok(()) };
    let stayed = at - since;
    holds!(stayed + lane.slack >= STAY, "P53", "local caps have decided for {stayed} µs only");
    Ok(())
}

/// Checks that a store that is asked again had been healthy for long enough.
pub(super) fn p54_p64_health_was_sustained(lane: &PolicyLane, at: u64) -> Holds {
    let health = health(lane, at);
    holds!(health != ProbedHealth::Bad, "P54", "asked again at {at} with probes {:?}", lane.probes);
    Ok(())
}

/// Checks that a store that is not asked again after a backoff of ten minutes had not been healthy
/// for long enough.
pub(super) fn p64_health_was_not_sustained(lane: &PolicyLane, at: u64) -> Holds {
    let health = health(lane, at);
    holds!(
        health != ProbedHealth::Good,
        "P64",
        "not asked again at {at} with probes {:?}",
        lane.probes
    );
    Ok(())
}

/// A store that is well is asked again, even without any traffic.
pub(super) fn p55_a_healthy_store_is_asked_again(lane: &PolicyLane, now: u64) -> Holds {
    let Stand::Degraded(since, _) = lane.stand else { return Ok(()) };
    if lane.truth != Truth::Good {
        return Ok(());
    }
    let healthy = lane.truth_since.max(lane.in_force_since);
    let latest = (since + STAY).max(healthy + HEALTHY) + LATE + lane.law.deadline;
    holds!(
        now <= latest + lane.slack,
        "P55",
        "local caps decide since {since}, all is well since {healthy}, and it is {now}"
    );
    Ok(())
}

/// The health of the store by the definition.
fn health(lane: &PolicyLane, at: u64) -> ProbedHealth {
    let from = at.saturating_sub(HEALTHY);
    let recent = || lane.probes.iter().filter(|(ended, _)| *ended >= from);
    let ends = recent().map(|(ended, _)| *ended);
    let steps = ends.clone().zip(ends.clone().skip(1).chain([at]));
    let gapless = steps.fold(true, |so_far, (one, next)| so_far && next - one <= GAP);
    let all_good = recent().all(|(_, good)| *good) && recent().count() >= PROBES;
    // Good over the whole span: the last probe before the span was good too, and not long before.
    let first = ends.clone().next().unwrap_or(at);
    let before = lane.probes.iter().rev().find(|(ended, _)| *ended <= from);
    let begun = before.is_some_and(|(ended, good)| *good && first - ended <= GAP);
    if !(gapless && all_good && begun) {
        return ProbedHealth::Bad;
    }
    let last = lane.probes.back().map_or(at, |(ended, _)| *ended);
    let from_last = last.saturating_sub(HEALTHY);
    let since = lane.probes.iter().rev().take_while(|(_, good)| *good);
    match since.last() {
        Some((since, _)) if *since <= from_last => ProbedHealth::Good,
        _ => ProbedHealth::Nearly,
    }
}

/// Forgets probes that no longer matter.
pub(super) fn forget(lane: &mut PolicyLane, now: u64) {
    while lane.probes.len() > 1 && now - lane.probes[0].0 > 2 * HEALTHY {
        lane.probes.pop_front();
    }
}
