//! When the store is asked again: after five minutes, with two healthy ones behind it, and by itself.

use super::lane::{Lane, Stand};
use super::{Holds, SECOND, holds};
use crate::sim::trace::{OpKind, Truth};

/// How long local caps decide at least.
const STAY: u64 = 300 * SECOND;
/// For how long probes have to be good …
const HEALTHY: u64 = 120 * SECOND;
/// … so many of them …
const PROBES: usize = 12;
/// … with no more than this between them.
const GAP: u64 = 10 * SECOND;
/// From one probe to the next.
const EVERY: u64 = 5 * SECOND;
/// How much later than it could be it may be.
const LATE: u64 = 10 * SECOND;

/// What the probes say about the last two minutes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Health {
    Good,
    /// Good by one reading and not by the other: the last probe is some time ago.
    Nearly,
    Bad,
}

/// While the store is not asked, nothing is sent to it but probes.
pub(super) fn p19_p52_p63_only_probes_are_sent(lane: &Lane, kind: OpKind) -> Holds {
    let (stand, probe) = (lane.stand, kind == OpKind::Probe);
    holds!(lane.asks() || probe, "P52", "{kind:?} is sent while the policy is {stand:?}");
    Ok(())
}

/// And those not more often than every five seconds. One that was due at the very instant at which the
/// store ceased to be asked had begun before.
pub(super) fn p52_probes_keep_their_distance(lane: &Lane, at: u64) -> Holds {
    let apart = lane.last_probe.map(|last| at - last);
    let far = apart.is_none_or(|apart| apart + lane.slack >= EVERY);
    holds!(
        lane.asks() || begun_before(lane, at) || far,
        "P52",
        "a probe {apart:?} µs after the last one"
    );
    Ok(())
}

/// Whether a probe that is sent now was begun before the store ceased to be asked, which was now too: the
/// next one is due five seconds later.
pub(super) fn begun_before(lane: &Lane, at: u64) -> bool {
    !lane.asks() && lane.halted_at.is_some_and(|halted| at <= halted + lane.slack)
}

/// Local caps do not decide any more.
pub(super) fn p53_a_stay_lasts_five_minutes(lane: &Lane, at: u64) -> Holds {
    let Stand::Degraded(since, _) = lane.stand else { return Ok(()) };
    let stayed = at - since;
    holds!(stayed + lane.slack >= STAY, "P53", "local caps have decided for {stayed} µs only");
    Ok(())
}

/// The store is asked again.
pub(super) fn p54_p64_health_was_sustained(lane: &Lane, at: u64) -> Holds {
    let health = health(lane, at);
    holds!(health != Health::Bad, "P54", "asked again at {at} with probes {:?}", lane.probes);
    Ok(())
}

/// It is not, although nothing passed for ten minutes.
pub(super) fn p64_health_was_not_sustained(lane: &Lane, at: u64) -> Holds {
    let health = health(lane, at);
    holds!(health != Health::Good, "P64", "not asked again at {at} with probes {:?}", lane.probes);
    Ok(())
}

/// A store that is well is asked again, with no traffic at all.
pub(super) fn p55_a_healthy_store_is_asked_again(lane: &Lane, now: u64) -> Holds {
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

/// What the probes say, by the definition.
fn health(lane: &Lane, at: u64) -> Health {
    let from = at.saturating_sub(HEALTHY);
    let recent = || lane.probes.iter().filter(|(ended, _)| *ended >= from);
    let ends = recent().map(|(ended, _)| *ended);
    let steps = ends.clone().zip(ends.clone().skip(1).chain([at]));
    let gapless = steps.fold(true, |so_far, (one, next)| so_far && next - one <= GAP);
    let all_good = recent().all(|(_, good)| *good) && recent().count() >= PROBES;
    // Good over the whole of it: the last one before it was, and was not long before.
    let first = ends.clone().next().unwrap_or(at);
    let before = lane.probes.iter().rev().find(|(ended, _)| *ended <= from);
    let begun = before.is_some_and(|(ended, good)| *good && first - ended <= GAP);
    if !(gapless && all_good && begun) {
        return Health::Bad;
    }
    let last = lane.probes.back().map_or(at, |(ended, _)| *ended);
    let from_last = last.saturating_sub(HEALTHY);
    let since = lane.probes.iter().rev().take_while(|(_, good)| *good);
    match since.last() {
        Some((since, _)) if *since <= from_last => Health::Good,
        _ => Health::Nearly,
    }
}

/// Forgets probes that matter no more.
pub(super) fn forget(lane: &mut Lane, now: u64) {
    while lane.probes.len() > 1 && now - lane.probes[0].0 > 2 * HEALTHY {
        lane.probes.pop_front();
    }
}
