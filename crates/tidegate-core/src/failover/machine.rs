//! The failover state machine: who decides requests, and when that changes.
//!
//! The machine is a value. An input is handed in with the time at which it happened, and what follows
//! is handed back. Nothing else moves the machine, so every run can be repeated, and every schedule
//! that an attacker could come up with can be tried.

use arrayvec::ArrayVec;

use super::contract::{
    BACKOFF, CORRUPT_COUNTERS, DEGRADED_PROBE_EVERY, MAX_REENTRIES, MIN_DEGRADED, MIN_HEALTHY,
    PROLONGED_EVERY, REENTRY_WITHIN, REFUSED_EVERY, SUSPECT_PROBE_EVERY, TRIP_FAILURES,
    TRIP_WITHIN,
};
use super::health::Health;
use super::input::{Failure, Generation, Input, Probe};
use super::outage::Outage;
use super::signal::{Cause, Signal, Transition};
use crate::policy::{FailureMode, Mode};
use crate::time::{Span, Timestamp};

/// The state machine of one policy on one node: whether its store is asked, and if not, who decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failover {
    primary: FailureMode,
    stand: Stand,
    /// Counts how often the store began or ceased to be asked: results of what was begun before such a
    /// change are ignored after it.
    generation: Generation,
    epoch: u64,
    /// Whether the last thing heard of the store, while it is asked, was a failure.
    failing: bool,
    /// When the store failed, newest failures only.
    failures: ArrayVec<Timestamp, TRIP_FAILURES>,
    /// Digests of unreadable counters, each with the time at which it was last met.
    corrupt: ArrayVec<(u64, Timestamp), REMEMBERED_CORRUPT>,
    /// When the degraded mode was entered, since the last time in which nothing passed.
    entries: ArrayVec<Timestamp, ENTRIES>,
    outage: Outage,
    health: Health,
    /// When the next probe is due.
    next_probe: Option<Timestamp>,
    /// The number of the last probe.
    probe: u64,
    /// The probe whose result is still awaited.
    awaited: Option<Probe>,
    refused_at: Option<Timestamp>,
    /// The latest time handed in, because time does not go back.
    pub(super) latest: Timestamp,
}

/// The state that the machine is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stand {
    /// From the start until the store has answered once.
    Unproven,
    Normal,
    Degraded {
        since: Timestamp,
        /// When the next signal is due that the degraded mode goes on.
        tell: Timestamp,
    },
    /// Nothing passes until then.
    Backoff {
        until: Timestamp,
    },
}

/// Who decides a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Course {
    /// The store decides; the result is to be reported with this generation.
    Ask(Generation),
    /// Local caps decide.
    Guard,
    /// Nobody decides: the request is denied, for this long.
    Deny(Span),
}

/// What follows from one step of the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outputs {
    /// The signals to send, in order.
    pub signals: ArrayVec<Signal, 5>,
    /// The probe to make, in answer to [`Input::Poll`].
    pub probe: Option<Probe>,
}

/// Entries into the degraded mode that are remembered: the first, and those that may follow it.
const ENTRIES: usize = 1 + MAX_REENTRIES;
/// Unreadable counters that are remembered. More are not needed: from the third on, each counts as a
/// failure.
const REMEMBERED_CORRUPT: usize = CORRUPT_COUNTERS + TRIP_FAILURES;

// === impl Failover ===

impl Failover {
    /// The machine of a policy with this failure mode at the start: nothing is known of the store, so a
    /// probe is due at once.
    #[must_use]
    pub fn new(primary: FailureMode, now: Timestamp) -> Self {
        Self {
            primary,
            stand: Stand::Unproven,
            generation: Generation(0),
            epoch: 0,
            failing: false,
            failures: ArrayVec::new(),
            corrupt: ArrayVec::new(),
            entries: ArrayVec::new(),
            outage: Outage::default(),
            health: Health::default(),
            next_probe: Some(now),
            probe: 0,
            awaited: None,
            refused_at: None,
            latest: now,
        }
    }

    /// Handles one input. Every transition is made here.
    ///
    /// | from | to | when |
    /// |---|---|---|
    /// | unproven | NORMAL | a request was answered, or a probe was good |
    /// | unproven, NORMAL | DEGRADED | three failures within ten seconds, probes included |
    /// | unproven, NORMAL | `FAIL_CLOSED` | the same, for the fourth time within half an hour |
    /// | DEGRADED | NORMAL | after five minutes at least, with two healthy minutes behind it |
    /// | `FAIL_CLOSED` | NORMAL | after ten minutes, with two healthy minutes behind it |
    /// | `FAIL_CLOSED` | DEGRADED | after ten minutes, without them |
    #[must_use]
    pub fn step(mut self, input: Input, now: Timestamp) -> (Self, Outputs) {
        let mut out = Outputs::default();
        self.latest = self.latest.max(now);
        let now = self.latest;
        self.let_time_pass(now, &mut out);
        // The result of a probe counts once, and only until the next probe has begun.
        if let Input::Probed(of, _) = input
            && self.awaited.take_if(|probe| *probe == of).is_none()
        {
            return (self, out);
        }
        match (self.stand, input) {
            (Stand::Unproven, Input::Answered(of)) if of == self.generation => {
                self.change(Stand::Normal, Cause::Proven, now, &mut out);
            }
            (Stand::Unproven, Input::Probed(_, Ok(()))) => {
                self.change(Stand::Normal, Cause::Proven, now, &mut out);
            }
            (Stand::Unproven | Stand::Normal, Input::Failed(of, why)) if of == self.generation => {
                self.fail(why, now, &mut out);
            }
            (Stand::Unproven | Stand::Normal, Input::Probed(_, Err(why))) => {
                self.fail(why, now, &mut out);
            }
            (Stand::Normal, Input::Answered(of)) if of == self.generation => {
                self.clear(now, &mut out);
            }
            (Stand::Normal, Input::Probed(_, Ok(()))) => self.clear(now, &mut out),
            // The store has answered, but may have lost counts: that is a failure too.
            (Stand::Normal, Input::Forgot) => self.count(now, &mut out),
            (Stand::Degraded { since, .. }, Input::Probed(_, result)) => {
                self.hear(result, now, &mut out);
                if now.since(since) >= MIN_DEGRADED && self.health.is_sustained(now) {
                    self.change(Stand::Normal, Cause::Recovered, now, &mut out);
                }
            }
            (Stand::Backoff { .. }, Input::Probed(_, result)) => {
                self.hear(result, now, &mut out);
            }
            (_, Input::Poll) => out.probe = self.begin_probe(now, &mut out),
            // Late answers, and inputs that mean nothing in this state.
            _ => {}
        }
        (self, out)
    }

    /// Makes the changes that time alone brings about.
    fn let_time_pass(&mut self, now: Timestamp, out: &mut Outputs) {
        self.failures.retain(|at| now.since(*at) <= TRIP_WITHIN);
        self.corrupt.retain(|(_, at)| now.since(*at) <= TRIP_WITHIN);
        match &mut self.stand {
            Stand::Backoff { until } if now >= *until => {
                // The count of entries begins anew, so that one such time cannot be followed by
                // another.
                self.entries.clear();
                if self.health.is_sustained(now) {
                    self.change(Stand::Normal, Cause::BackoffOver, now, out);
                } else {
                    let stand = degraded(now);
                    self.change(stand, Cause::BackoffOverUnhealthy, now, out);
                }
            }
            Stand::Degraded { since, tell } if now >= *tell => {
                let since = *since;
                *tell = now.after(PROLONGED_EVERY);
                out.tell(Signal::Prolonged { since, epoch: self.epoch, at: now });
            }
            _ => {}
        }
    }

    /// Counts a failure, and trips if it was one too many.
    fn fail(&mut self, why: Failure, now: Timestamp, out: &mut Outputs) {
        self.note_refusal(why, now, out);
        match why {
            Failure::Backend | Failure::Refused => self.suspect(now, out),
            Failure::Corrupt(counter) if !self.blames_store(counter, now) => return,
            Failure::Corrupt(_) => {}
        }
        self.count(now, out);
    }

    /// Signals the first failure of a store that had answered. Requests that meet a failure are decided
    /// in the primary mode.
    fn suspect(&mut self, now: Timestamp, out: &mut Outputs) {
        if self.stand == Stand::Normal && !self.failing {
            self.failing = true;
            out.tell(Signal::Suspected { mode: self.primary.into(), at: now });
        }
    }

    /// Notes that the store has answered since it failed. The failure still counts.
    fn clear(&mut self, now: Timestamp, out: &mut Outputs) {
        if core::mem::take(&mut self.failing) {
            out.tell(Signal::Cleared { at: now });
        }
    }

    fn count(&mut self, now: Timestamp, out: &mut Outputs) {
        if self.next_probe.is_none() {
            self.next_probe = Some(now.after(SUSPECT_PROBE_EVERY));
        }
        // There is space: a list that was filled has tripped the machine, which emptied it.
        let _ = self.failures.try_push(now);
        if self.failures.is_full() {
            self.trip(now, out);
        }
    }

    fn trip(&mut self, now: Timestamp, out: &mut Outputs) {
        self.entries.retain(|at| now.since(*at) <= REENTRY_WITHIN);
        self.outage.trip(now);
        match self.entries.try_push(now) {
            Ok(()) => {
                self.epoch += 1;
                self.change(degraded(now), Cause::Tripped, now, out);
            }
            Err(_) => {
                let stand = Stand::Backoff { until: now.after(BACKOFF) };
                self.change(stand, Cause::Flapped, now, out);
            }
        }
    }

    fn change(&mut self, stand: Stand, cause: Cause, now: Timestamp, out: &mut Outputs) {
        let from = self.mode();
        let asked = self.asks();
        self.stand = stand;
        self.failing = false;
        if stand == Stand::Normal {
            self.outage.heal(now);
        }
        let to = self.mode();
        out.tell(Signal::Changed(Transition { from, to, cause, epoch: self.epoch, at: now }));
        // Whether the store is asked has not changed: requests, probes and what they have counted so
        // far go on. A first answer clears no failures, because no answer ever does.
        if asked == self.asks() {
            return;
        }
        self.generation.0 += 1;
        self.failures.clear();
        self.corrupt.clear();
        self.health = Health::default();
        self.awaited = None;
        self.next_probe = (!self.asks()).then(|| now.after(DEGRADED_PROBE_EVERY));
    }

    /// Notes the result of a probe while nothing else asks the store.
    fn hear(&mut self, probed: Result<(), Failure>, now: Timestamp, out: &mut Outputs) {
        match probed {
            Ok(()) => self.health.good(now),
            Err(why) => {
                self.health.bad();
                self.note_refusal(why, now, out);
            }
        }
    }

    fn note_refusal(&mut self, why: Failure, now: Timestamp, out: &mut Outputs) {
        let told = self.refused_at.is_some_and(|at| now.since(at) < REFUSED_EVERY);
        if why == Failure::Refused && !told {
            self.refused_at = Some(now);
            out.tell(Signal::Refused { at: now });
        }
    }

    /// Whether one more unreadable counter means that the store is at fault.
    fn blames_store(&mut self, counter: u64, now: Timestamp) -> bool {
        let known = self.corrupt.iter().position(|(known, _)| *known == counter);
        if let Some(place) = known.or_else(|| self.corrupt.is_full().then_some(0)) {
            self.corrupt.remove(place);
        }
        // A counter that is met again is no new one, but its time is now.
        self.corrupt.push((counter, now));
        known.is_none() && self.corrupt.len() >= CORRUPT_COUNTERS
    }

    fn begin_probe(&mut self, now: Timestamp, out: &mut Outputs) -> Option<Probe> {
        if self.next_probe? > now {
            return None;
        }
        // A probe without a result by now was bad: otherwise a store that hangs would never be found
        // out.
        if self.awaited.take().is_some() {
            match self.asks() {
                true => self.fail(Failure::Backend, now, out),
                false => self.health.bad(),
            }
            if self.next_probe? > now {
                return None;
            }
        }
        let pause = match self.stand {
            Stand::Unproven => SUSPECT_PROBE_EVERY,
            Stand::Normal if self.failures.is_empty() => {
                self.next_probe = None;
                return None;
            }
            Stand::Normal => SUSPECT_PROBE_EVERY,
            Stand::Degraded { .. } | Stand::Backoff { .. } => DEGRADED_PROBE_EVERY,
        };
        self.next_probe = Some(now.after(pause));
        self.probe += 1;
        self.awaited = Some(Probe { generation: self.generation, number: self.probe });
        self.awaited
    }

    const fn asks(&self) -> bool {
        matches!(self.stand, Stand::Unproven | Stand::Normal)
    }

    /// Who decides a request, as of the last step.
    #[must_use]
    pub fn course(&self) -> Course {
        match self.stand {
            Stand::Unproven | Stand::Normal => Course::Ask(self.generation),
            Stand::Degraded { .. } => Course::Guard,
            Stand::Backoff { until } => Course::Deny(until.since(self.latest)),
        }
    }

    /// The mode that a request meets now: the [mode](Self::mode), or the primary one while the store is
    /// asked and the last thing heard of it was a failure.
    #[must_use]
    pub fn present_mode(&self) -> Mode {
        if self.failing { self.primary.into() } else { self.mode() }
    }

    /// The mode that transitions report: exactly one at any time.
    #[must_use]
    pub fn mode(&self) -> Mode {
        match self.stand {
            Stand::Unproven => self.primary.into(),
            Stand::Normal => Mode::Normal,
            Stand::Degraded { .. } => Mode::Degraded,
            Stand::Backoff { .. } => Mode::FailClosed,
        }
    }

    /// What the policy does when its store fails a request.
    #[must_use]
    pub const fn primary(&self) -> FailureMode {
        self.primary
    }

    /// Takes over the failure mode of a policy that has been changed. Nothing else changes.
    pub const fn follow(&mut self, primary: FailureMode) {
        self.primary = primary;
    }

    /// How often the degraded mode has been entered.
    #[must_use]
    pub const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// How many failures count, as of the last step.
    #[must_use]
    pub const fn failures(&self) -> usize {
        self.failures.len()
    }

    /// Whether an answer of the store has to be reported: nothing is known of the store so far, or
    /// nothing good.
    #[must_use]
    pub const fn wants_answers(&self) -> bool {
        matches!(self.stand, Stand::Unproven) || self.failing
    }

    /// Since when local caps decide; `None` if they do not.
    #[must_use]
    pub const fn degraded_since(&self) -> Option<Timestamp> {
        match self.stand {
            Stand::Degraded { since, .. } => Some(since),
            _ => None,
        }
    }

    /// When the outage began: the time of its first trip. A short recovery since then does not count.
    #[must_use]
    pub const fn outage_since(&self) -> Option<Timestamp> {
        self.outage.since
    }

    /// How much longer local caps decide at least, before the store is trusted again, whatever its
    /// probes will say; `None` unless they decide.
    #[must_use]
    pub fn leaves_after(&self, now: Timestamp) -> Option<Span> {
        let since = self.degraded_since()?;
        // A probe that is under way may end at any time.
        let probed =
            self.next_probe.filter(|_| self.awaited.is_none()).map_or(now, |at| at.max(now));
        let healthy = self.health.since(now).unwrap_or(probed).after(MIN_HEALTHY);
        let leaves = since.after(MIN_DEGRADED).max(healthy).max(probed);
        Some(leaves.since(now).max(Span::from_micros(1)))
    }

    /// When the machine has to be stepped next, if nothing happens before.
    #[must_use]
    pub fn due(&self) -> Option<Timestamp> {
        let by_itself = match self.stand {
            Stand::Backoff { until } => Some(until),
            Stand::Degraded { tell, .. } => Some(tell),
            Stand::Unproven | Stand::Normal => None,
        };
        by_itself.into_iter().chain(self.next_probe).min()
    }

    /// Whether the machine is as good as a new one whose store has answered, so that nothing in it
    /// would be missed.
    #[must_use]
    pub fn is_fresh(&self, now: Timestamp) -> bool {
        self.asks()
            && self.failures.iter().all(|at| now.since(*at) > TRIP_WITHIN)
            && self.corrupt.iter().all(|(_, at)| now.since(*at) > TRIP_WITHIN)
            && self.entries.iter().all(|at| now.since(*at) > REENTRY_WITHIN)
            && self.outage.is_over(now)
    }
}

const fn degraded(now: Timestamp) -> Stand {
    Stand::Degraded { since: now, tell: now.after(PROLONGED_EVERY) }
}

// === impl Outputs ===

impl Outputs {
    pub(super) fn tell(&mut self, signal: Signal) {
        // At most five: a change by time, a refusal, a suspicion, a change by the input, and a
        // reopening.
        let _ = self.signals.try_push(signal);
    }
}
