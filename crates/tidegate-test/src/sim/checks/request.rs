//! The checks of one request: whether and how often it asks the store, its mode, and its time.

use tidegate_core::{Alarm, Level, Mode};

use super::lane::{PolicyLane, Sent, Stand};
use super::{FallbackKind, Holds, SECOND, guard, holds, outage};
use crate::sim::trace::{OpKind, RequestAnswer, SimClient, StoreErrand, StoreOutcome};

/// How much longer than the store's deadline an answer may take, in microseconds.
const EXTRA: u64 = 50_000;

/// How often a request may be sent again with other calendar periods: for all limits at once, and
/// for each by itself.
const STALE: usize = 5;

/// The state of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    at: u64,
    pub(super) who: SimClient,
    pub(super) counted: bool,
    /// How the policy stood when the request came in.
    stand: Stand,
    progress: Progress,
    /// How many times the store has asked for other calendar periods.
    stale: usize,
}

/// How far a request has come with the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// The store has not been asked.
    New,
    /// The store is being asked.
    Asked,
    /// The store needs other calendar periods, and may be asked again.
    Stale,
    /// This counter could not be read and may be created anew.
    Corrupt(u64),
    /// This counter is being created anew.
    Anew(u64),
    /// This counter has been created anew, and the store may be asked once more.
    AskAgain(u64),
    /// The store is being asked once more, after this counter was created anew.
    AskedAgain(u64),
    /// The store has answered.
    Answered,
    /// The store has answered, after a counter was created anew.
    AnsweredAnew,
    /// The request has failed at the store, with this outcome.
    Failed(StoreOutcome),
}

// === impl Request ===

impl Request {
    pub(super) const fn new(at: u64, who: SimClient, counted: bool, stand: Stand) -> Self {
        Self { at, who, counted, stand, progress: Progress::New, stale: 0 }
    }
}

/// The store is asked once for a decision. It may be asked again with the calendar periods that it
/// needs; a counter that cannot be read is created anew, and then the store is asked once more.
/// After any other failure nothing follows.
pub(super) fn p12_p16_one_call_for_one_decision(
    lane: &mut PolicyLane,
    by: StoreErrand,
    kind: OpKind,
) -> Holds {
    let StoreErrand::Request(number) = by else { return Ok(()) };
    let Some(request) = lane.requests.get_mut(&number) else { return Ok(()) };
    let before = request.progress;
    request.progress = match (before, kind) {
        (Progress::New | Progress::Stale, OpKind::Charge | OpKind::Peek) => Progress::Asked,
        (Progress::Corrupt(counter), OpKind::Amend) => Progress::Anew(counter),
        (Progress::AskAgain(counter), OpKind::Charge) => Progress::AskedAgain(counter),
        _ => {
            holds!(false, "P12", "{kind:?} for a request that is {before:?}");
            before
        }
    };
    let stale = request.stale;
    holds!(stale <= STALE, "P12", "other calendar periods are sent for the {stale}th time");
    Ok(())
}

/// Takes note of the store's answer. Returns the outcome that it means for the store, once that is
/// known.
pub(super) fn answered(
    lane: &mut PolicyLane,
    at: u64,
    number: u32,
    sent: Sent,
    outcome: StoreOutcome,
) -> Option<StoreOutcome> {
    let deadline = lane.law.deadline;
    let request = lane.requests.get_mut(&number)?;
    request.stale += usize::from(outcome == StoreOutcome::Stale);
    let late = at - request.at >= deadline;
    let (progress, input) = match (request.progress, outcome) {
        // All calls together have taken longer than the deadline: the store is not in time.
        (_, StoreOutcome::Stale) if late => {
            (Progress::Failed(StoreOutcome::Failed), Some(StoreOutcome::Failed))
        }
        (Progress::Asked, StoreOutcome::Stale) => (Progress::Stale, None),
        (Progress::AskedAgain(counter), StoreOutcome::Stale) => (Progress::AskAgain(counter), None),
        (Progress::Asked, StoreOutcome::Good) => (Progress::Answered, Some(StoreOutcome::Good)),
        (Progress::Asked, StoreOutcome::Corrupt(counter)) if sent.kind == OpKind::Charge => {
            (Progress::Corrupt(counter), None)
        }
        (Progress::Anew(_), StoreOutcome::Good) if late => {
            (Progress::Failed(StoreOutcome::Failed), Some(StoreOutcome::Failed))
        }
        (Progress::Anew(counter), StoreOutcome::Good) => (Progress::AskAgain(counter), None),
        (Progress::AskedAgain(counter), StoreOutcome::Good) => {
            (Progress::AnsweredAnew, Some(StoreOutcome::Corrupt(counter)))
        }
        // The unreadable counter is what failed the request.
        (Progress::Anew(counter) | Progress::AskedAgain(counter), StoreOutcome::Shed) => {
            (Progress::Failed(StoreOutcome::Corrupt(counter)), Some(StoreOutcome::Corrupt(counter)))
        }
        (_, failed) => (Progress::Failed(failed), Some(failed)),
    };
    request.progress = progress;
    input
}

/// The client has gone, or was turned away without a decision: that must happen in time, too.
pub(super) fn gone(lane: &mut PolicyLane, at: u64, number: u32) -> Holds {
    match lane.requests.remove(&number) {
        Some(request) => p09_decisions_come_in_time(lane, &request, at),
        None => Ok(()),
    }
}

/// Checks a request that has been decided.
pub(super) fn decided(
    lane: &mut PolicyLane,
    at: u64,
    number: u32,
    answer: &RequestAnswer,
) -> Holds {
    let Some(request) = lane.requests.remove(&number) else { return Ok(()) };
    p09_decisions_come_in_time(lane, &request, at)?;
    p22_the_decision_is_the_one_observed(lane, &request, answer)?;
    p01_p08_a31_one_mode(lane, &request, answer)?;
    p10_p11_p13_closed_is_closed(lane, &request, answer)?;
    p14_closed_is_not_for_ever(lane, &request, answer)?;
    p41_levels_are_low(answer)?;
    if request.progress == Progress::New {
        outage::a35_closed_is_bounded(lane, at, answer)?;
    }
    if matches!(lane.stand, Stand::Backoff(_)) && request.progress == Progress::New {
        p62_denials_carry_the_alarm(answer)?;
        return guard::p15_the_wait_is_what_remains(lane, at, answer.wait);
    }
    if answer.mode == Mode::Normal {
        if request.counted {
            lane.blocks.learn(at, &answer.counters);
        }
        return Ok(());
    }
    let local = request.progress == Progress::New;
    let by_caps = match lane.law.kind {
        FallbackKind::Login | FallbackKind::Otp | FallbackKind::Spend { .. } => local,
        FallbackKind::Guarded | FallbackKind::Ceilings { .. } | FallbackKind::Outbound { .. } => {
            true
        }
        FallbackKind::Closed => local && answer.mode == Mode::Degraded,
    };
    if !by_caps {
        return Ok(());
    }
    lane.blocks.p47_known_blocks_hold_until_they_end(at, answer, lane.slack)?;
    if answer.block.is_some() && answer.left.is_none() {
        return Ok(());
    }
    lane.caps.decided(at, &request.who, request.counted, answer)
}

/// Every request is decided within its deadline and a little more.
fn p09_decisions_come_in_time(lane: &PolicyLane, request: &Request, at: u64) -> Holds {
    let (took, deadline) = (at - request.at, lane.law.deadline);
    holds!(
        took <= deadline + EXTRA + lane.slack,
        "P09",
        "decided after {took} µs with a deadline of {deadline} ({:?})",
        request.progress
    );
    Ok(())
}

/// No request stays undecided beyond its deadline.
pub(super) fn p09_nobody_waits_for_ever(lane: &PolicyLane, now: u64) -> Holds {
    for request in lane.requests.values() {
        p09_decisions_come_in_time(lane, request, now)?;
    }
    Ok(())
}

/// The decision that observers were told of is the one that was answered, once; peeks are not
/// reported.
fn p22_the_decision_is_the_one_observed(
    lane: &mut PolicyLane,
    request: &Request,
    answer: &RequestAnswer,
) -> Holds {
    let observed = lane.observed.take();
    let expected = request.counted.then_some((answer.mode, answer.admitted));
    holds!(observed == expected, "P22", "told {observed:?}, decided {expected:?}");
    Ok(())
}

/// A request is decided in one mode: that of the store if the store answered, the primary one if
/// the store failed, and otherwise the one that the policy was in.
fn p01_p08_a31_one_mode(lane: &PolicyLane, request: &Request, answer: &RequestAnswer) -> Holds {
    let recreated = if lane.law.kind.is_closed_at_first() { lane.primary() } else { Mode::Normal };
    let expected = match request.progress {
        Progress::Answered => Mode::Normal,
        Progress::AnsweredAnew => recreated,
        Progress::New => match (lane.stand, lane.law.kind) {
            (Stand::Backoff(_), _) => Mode::FailClosed,
            // A35 checks which of the two modes it has to be.
            (Stand::Degraded(..), FallbackKind::Closed) if answer.mode == Mode::FailClosed => {
                answer.mode
            }
            (Stand::Degraded(..), _) => Mode::Degraded,
            (Stand::Unproven | Stand::Normal, _) => {
                holds!(false, "P01", "decided without the store, which is to be asked");
                Mode::Normal
            }
        },
        _ => lane.primary(),
    };
    let (mode, progress) = (answer.mode, request.progress);
    holds!(mode == expected, "P08", "decided {mode:?} when it was {progress:?}: {expected:?}");
    Ok(())
}

/// Where somebody could get in, a request that the store has failed does not pass, and in a backoff
/// nothing passes anywhere; such a denial is an answer like any other, with a time to come back.
fn p10_p11_p13_closed_is_closed(
    lane: &PolicyLane,
    request: &Request,
    answer: &RequestAnswer,
) -> Holds {
    let answered = request.progress == Progress::Answered;
    let local = request.progress == Progress::New;
    let entrance = lane.law.kind.is_closed_at_first();
    let backoff = matches!(lane.stand, Stand::Backoff(_)) && local;
    let closed = backoff || answer.mode == Mode::FailClosed && local;
    if closed || entrance && !answered && !local {
        let stand = request.stand;
        holds!(!answer.admitted, "P13", "admitted by a policy that was {stand:?} and is closed");
        holds!(answer.wait.is_some_and(|wait| wait > 0), "P11", "denied without a wait");
    }
    Ok(())
}

/// A store that only fails closes a login for ten seconds at most, before local caps decide.
fn p14_closed_is_not_for_ever(
    lane: &PolicyLane,
    request: &Request,
    answer: &RequestAnswer,
) -> Holds {
    let by_failure = matches!(request.progress, Progress::Failed(failed) if failed.blames_store());
    let entrance = matches!(
        lane.law.kind,
        FallbackKind::Login | FallbackKind::Otp | FallbackKind::Spend { .. }
    );
    if answer.mode == Mode::FailClosed && by_failure && entrance {
        let since = lane.only_bad_since.unwrap_or(request.at).max(lane.in_force_since);
        let lasted = request.at.saturating_sub(since);
        holds!(lasted <= 10 * SECOND + lane.slack, "P14", "closed {lasted} µs after {since}");
    }
    Ok(())
}

/// Without a store, no block above the second level is reported.
fn p41_levels_are_low(answer: &RequestAnswer) -> Holds {
    let level = answer.block.flatten();
    let low = level.is_none_or(|level| level <= Level::L2);
    holds!(answer.mode == Mode::Normal || low, "P41", "a block of {level:?}");
    Ok(())
}

/// Every denial in a backoff carries the critical condition.
fn p62_denials_carry_the_alarm(answer: &RequestAnswer) -> Holds {
    let alarm = answer.alarm;
    holds!(alarm == Some(Alarm::Flapped), "P62", "denied with the alarm {alarm:?}");
    Ok(())
}
