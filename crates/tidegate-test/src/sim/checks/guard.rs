//! What happens if local caps take over too often: nothing passes for ten minutes (a backoff).

use super::lane::{Expected, PolicyLane, Stand};
use super::{Holds, SECOND, holds};

/// Entries into local caps within [`WITHIN`] after which the next trip is a backoff.
const ENTRIES: usize = 3;
/// Window of [`ENTRIES`]; both ends belong to it.
pub(super) const WITHIN: u64 = 1_800 * SECOND;
/// Length of a backoff, in which nothing passes.
pub(super) const BACKOFF: u64 = 600 * SECOND;
/// Least time from the beginning of one backoff to the next: ten minutes of any twenty-five.
const APART: u64 = 1_500 * SECOND;

/// The signal that follows from one failure too many: local caps, or a backoff.
pub(super) fn what_follows(lane: &PolicyLane, at: u64) -> Expected {
    let recent = lane.entries.iter().filter(|entered| at - **entered <= WITHIN).count();
    if recent >= ENTRIES { Expected::Flapped } else { Expected::Tripped }
}

/// Checks that local caps, which have just taken over, have not done so too often.
pub(super) fn p56_p61_p65_entries_are_few(lane: &mut PolicyLane, at: u64) -> Holds {
    lane.entries.retain(|entered| at - entered <= WITHIN);
    lane.entries.push(at);
    let entries = lane.entries.len();
    holds!(entries <= ENTRIES, "P56", "entered {entries} times within half an hour");
    Ok(())
}

/// Checks that a backoff that begins now is far enough from the last one.
pub(super) fn p64_backoffs_are_apart(lane: &mut PolicyLane, at: u64) -> Holds {
    let apart = lane.last_flap.map(|last| at - last);
    holds!(
        apart.is_none_or(|apart| apart + lane.slack >= APART),
        "P64",
        "nothing passes again {apart:?} µs after the last time that began"
    );
    lane.last_flap = Some(at);
    Ok(())
}

/// Checks the length of a backoff that ends now, after which the count of entries begins anew.
pub(super) fn p61_p63_a_backoff_lasts_ten_minutes(lane: &mut PolicyLane, at: u64) -> Holds {
    let Stand::Backoff(since) = lane.stand else { return Ok(()) };
    let lasted = at - since;
    holds!(lasted + lane.slack >= BACKOFF, "P61", "a backoff of {lasted} µs");
    lane.entries.clear();
    Ok(())
}

/// Checks that a backoff does not go on for too long.
pub(super) fn p61_a_backoff_ends_in_time(lane: &PolicyLane, now: u64) -> Holds {
    let Stand::Backoff(since) = lane.stand else { return Ok(()) };
    let end = (since + BACKOFF).max(lane.in_force_since);
    holds!(now <= end + lane.slack, "P61", "a backoff since {since} goes on at {now}");
    Ok(())
}

/// A request that is refused during a backoff is told exactly how long it still lasts.
pub(super) fn p15_the_wait_is_what_remains(lane: &PolicyLane, at: u64, wait: Option<u64>) -> Holds {
    let Stand::Backoff(since) = lane.stand else { return Ok(()) };
    let remains = (since + BACKOFF).saturating_sub(at);
    let told = wait.unwrap_or(0);
    holds!(
        told > 0 && told.abs_diff(remains) <= lane.slack,
        "P15",
        "told to wait {told} µs where {remains} remain"
    );
    Ok(())
}
