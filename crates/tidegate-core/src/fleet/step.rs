//! The one rule by which a fleet agrees: what a step makes of a record.
//!
//! Every step names the generation that its sender had seen, and counts only if nothing newer is on
//! record. So a step that was applied although its answer got lost can be sent again without harm, a node
//! that was cut off changes nothing before it has heard what became of the breaker, and the result of a
//! probe counts for the generation of its own lease and for no other.

use super::accord::{Accord, AccordState, Holder, Lease};
use crate::breaker::CallOutcome;
use crate::time::{Span, Timestamp};

/// One step that a node wants the fleet to agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FleetStep {
    /// The highest generation that the sender has seen. The step changes nothing if the record has a
    /// higher one.
    pub seen: u64,
    /// What the sender wants.
    pub motion: Motion,
}

/// What a node wants of the record of a breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Motion {
    /// The node has met too many failures: open the breaker.
    Trip {
        /// How long it stays open.
        window: Span,
    },
    /// The window is over, or the last lease is: give this node the right to probe.
    Lease {
        /// The attempt that asks.
        holder: Holder,
        /// How long the lease is valid.
        lease: Span,
        /// The longest that the breaker stays open. An end that is further away was written before the
        /// clock of the fleet was set back, and is brought closer; so is the end of a lease.
        window: Span,
    },
    /// The probe has ended.
    Report {
        /// The attempt that got the lease.
        holder: Holder,
        /// How the probe ended. A probe that was cancelled is neutral.
        outcome: CallOutcome,
        /// How long the breaker stays open if the probe has failed.
        window: Span,
        /// How many probes have to succeed before the breaker is closed.
        successes: u32,
    },
    /// An operator wants the breaker to stay in one state.
    Force(Forced),
    /// An operator lets the breaker go its own way again. One that was forced open probes first.
    Lift,
}

/// The state that an operator keeps a breaker in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Forced {
    /// No call passes.
    Open,
    /// Every call passes, and failures do not count.
    Closed,
}

/// The answer of a fleet to a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Agreed {
    /// The record after the step, whether or not the step has changed it.
    pub accord: Accord,
    /// Whether the record was older than what the sender had seen: it was forgotten, or the fleet has lost
    /// changes that it had acknowledged.
    pub lost: bool,
    /// The time of the step, by the clock of the fleet.
    pub at: Timestamp,
}

/// What a step makes of the record that was found, at `now` by the clock of the fleet. Every
/// [`Fleet`](super::Fleet) has to do exactly this.
///
/// | step | changes | to |
/// |---|---|---|
/// | trip | closed; open or half-open when the window or the lease is over | open |
/// | lease | open or half-open when the window or the lease is over; closed, if the sender knows of a trip that is not on record | half-open, with a lease |
/// | report of a valid lease | half-open | closed; half-open without a lease; or open |
/// | force, lift | any state | the forced one; half-open or closed |
///
/// Everything else leaves the record as it was.
///
/// ```
/// use tidegate_core::{Accord, AccordState, FleetStep, Holder, Motion, Span, Timestamp, agree};
///
/// let at = |secs: u64| Timestamp::from_micros(secs * 1_000_000);
/// let window = Span::from_secs(10);
/// let trip = FleetStep { seen: 0, motion: Motion::Trip { window } };
/// let open = agree(None, &trip, at(100)).accord;
/// assert_eq!(open.state, AccordState::Open { until: at(110) });
///
/// // The end of the window: the first who asks gets the lease, the second learns who has it.
/// let ask = |node| {
///     let holder = Holder { node, number: 1 };
///     let motion = Motion::Lease { holder, lease: Span::from_secs(8), window };
///     FleetStep { seen: open.generation, motion }
/// };
/// let leased = agree(Some(&open), &ask(1), at(110)).accord;
/// assert_eq!(agree(Some(&leased), &ask(2), at(111)).accord, leased);
/// assert_eq!(leased.lease(at(111)).map(|lease| lease.holder.node), Some(1));
/// assert!(leased.generation > open.generation);
/// ```
#[must_use]
pub fn agree(found: Option<&Accord>, step: &FleetStep, now: Timestamp) -> Agreed {
    let record = found.copied().unwrap_or(Accord::FRESH);
    let lost = record.generation < step.seen;
    let unchanged = Agreed { accord: record, lost, at: now };
    if record.generation > step.seen {
        return unchanged;
    }
    let state = match step.motion {
        Motion::Trip { window } => trip(&record, window, now),
        Motion::Lease { holder, lease, window } => {
            if let Some(nearer) = nearer(&record, lease, window, now) {
                return Agreed { accord: Accord { state: nearer, ..record }, ..unchanged };
            }
            lend(&record, Lease { holder, until: now.after(lease) })
        }
        Motion::Report { .. } if lost => None,
        Motion::Report { holder, outcome, window, successes } => {
            let end = now.after(window);
            report(&record, holder, now).map(|so_far| ended(outcome, so_far, successes, end))
        }
        Motion::Force(Forced::Open) => Some(AccordState::ForcedOpen),
        Motion::Force(Forced::Closed) => Some(AccordState::ForcedClosed),
        Motion::Lift => lift(&record, lost),
    };
    match state {
        // A record that is behind is raised even if it says the same, or nobody would follow it.
        Some(state) if lost || state != record.state => {
            let generation = record.next(step.seen, now);
            Agreed { accord: Accord { generation, state }, ..unchanged }
        }
        _ => unchanged,
    }
}

fn trip(record: &Accord, window: Span, now: Timestamp) -> Option<AccordState> {
    let open = AccordState::Open { until: now.after(window) };
    match record.state {
        AccordState::Closed => Some(open),
        AccordState::Open { until } => (until <= now).then_some(open),
        AccordState::HalfOpen { .. } => record.lease(now).is_none().then_some(open),
        AccordState::ForcedOpen | AccordState::ForcedClosed => None,
    }
}

/// The state while the window or a lease goes on, with an end no further away than these spans; `None` if
/// neither does.
fn nearer(record: &Accord, lease: Span, window: Span, now: Timestamp) -> Option<AccordState> {
    match record.state {
        AccordState::Open { until } if now < until => {
            Some(AccordState::Open { until: until.min(now.after(window)) })
        }
        AccordState::HalfOpen { successes, .. } => record.lease(now).map(|it| {
            let lease = Lease { until: it.until.min(now.after(lease)), ..it };
            AccordState::HalfOpen { successes, lease: Some(lease) }
        }),
        _ => None,
    }
}

fn lend(record: &Accord, lease: Lease) -> Option<AccordState> {
    let lease = Some(lease);
    match record.state {
        // The sender has seen this very record, or a later one, and its local state is open all the same: its
        // trip was never agreed on, or was lost.
        AccordState::Closed | AccordState::Open { .. } => {
            Some(AccordState::HalfOpen { successes: 0, lease })
        }
        AccordState::HalfOpen { successes, .. } => Some(AccordState::HalfOpen { successes, lease }),
        AccordState::ForcedOpen | AccordState::ForcedClosed => None,
    }
}

/// The successes before the probe of this holder; `None` if it has no valid lease.
fn report(record: &Accord, holder: Holder, now: Timestamp) -> Option<u32> {
    let lease = record.lease(now)?;
    match record.state {
        AccordState::HalfOpen { successes, .. } if lease.holder == holder => Some(successes),
        _ => None,
    }
}

fn ended(outcome: CallOutcome, so_far: u32, wanted: u32, end: Timestamp) -> AccordState {
    let successes = so_far.saturating_add(1);
    match outcome {
        CallOutcome::Failure => AccordState::Open { until: end },
        CallOutcome::Neutral => AccordState::HalfOpen { successes: so_far, lease: None },
        CallOutcome::Success if successes < wanted => {
            AccordState::HalfOpen { successes, lease: None }
        }
        CallOutcome::Success => AccordState::Closed,
    }
}

/// The state after a forced one. A forced state that the fleet has lost is lifted for the nodes that still
/// know of it.
const fn lift(record: &Accord, lost: bool) -> Option<AccordState> {
    match record.state {
        AccordState::ForcedClosed => Some(AccordState::Closed),
        AccordState::ForcedOpen => Some(AccordState::HalfOpen { successes: 0, lease: None }),
        _ if lost => Some(AccordState::HalfOpen { successes: 0, lease: None }),
        _ => None,
    }
}
