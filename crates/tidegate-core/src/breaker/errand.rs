//! What a breaker has to ask or tell the fleet: leases, trips, and how probes ended.
//!
//! There is one errand at a time, and at most one call of it under way. An errand that meets no answer is
//! sent again until it has lost its meaning: a trip until the own window is over, a result until its lease
//! is. After that another node finds out for itself.

use super::input::{CallOutcome, FleetCall, ProbePass};
use super::machine::{Breaker, BreakerOutputs, Busy, OwnWord};
use super::settings::LEASE_SLACK;
use super::signal::{BreakerCause, BreakerSignal};
use crate::fleet::{
    Accord, AccordState, Agreed, FLEET_POLL_EVERY, FleetError, FleetStep, Holder, Lease, Motion,
};
use crate::time::{Span, Timestamp};

/// What the fleet has to be asked or told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Errand {
    /// The number of its last call.
    number: u64,
    step: FleetStep,
    /// When it has lost its meaning.
    pub(super) until: Timestamp,
    /// When it is to be sent again; `None` while an answer is awaited.
    resend_at: Option<Timestamp>,
}

/// Neutral probes in a row after which an operator is told.
const NEUTRALS_TOLD: u32 = 5;

// === impl Breaker ===

impl Breaker {
    /// Asks the fleet for a lease, if nobody is known to have one.
    pub(super) fn ask(&mut self, now: Timestamp, out: &mut BreakerOutputs) {
        let OwnWord::HalfOpen { successes, busy: Busy::Free } = self.word else { return };
        if self.errand.is_some_and(|errand| errand.is_awaited(now)) {
            return;
        }
        let until = now.after(self.settings.lease());
        self.word = OwnWord::HalfOpen { successes, busy: Busy::Asking { until } };
        let holder = self.unanswered.unwrap_or_else(|| {
            self.numbers += 1;
            Holder { node: self.node, number: self.numbers }
        });
        self.unanswered = Some(holder);
        let window = self.settings.recovery_window();
        let motion = Motion::Lease { holder, lease: self.settings.lease(), window };
        self.begin(motion, until, now, out);
    }

    /// Tells the fleet that this node's local state is open.
    pub(super) fn trip(&mut self, now: Timestamp, out: &mut BreakerOutputs) {
        if let OwnWord::Open { until } = self.word {
            self.begin(Motion::Trip { window: until.since(now) }, until, now, out);
        }
    }

    /// The probe of this node has ended. The result of any other probe is late, and ignored.
    pub(super) fn probed(
        &mut self,
        pass: ProbePass,
        outcome: CallOutcome,
        now: Timestamp,
        out: &mut BreakerOutputs,
    ) {
        self.own_probe.take_if(|own| *own == pass);
        let OwnWord::HalfOpen { successes, busy: Busy::Probing(present) } = self.word else {
            return;
        };
        if present != pass {
            return;
        }
        self.word = OwnWord::HalfOpen { successes, busy: Busy::Free };
        self.neutrals = if outcome == CallOutcome::Neutral { self.neutrals + 1 } else { 0 };
        if self.neutrals == NEUTRALS_TOLD {
            out.tell(BreakerSignal::Undecided { at: now });
        }
        if outcome == CallOutcome::Failure {
            self.open(BreakerCause::ProbeFailed, now, out);
        }
        match (pass.generation, outcome) {
            (Some(_), CallOutcome::Success) => {
                let busy = Busy::Telling { until: pass.until };
                self.word = OwnWord::HalfOpen { successes, busy };
                self.report(pass.holder, outcome, pass.until, now, out);
            }
            (Some(_), _) => self.report(pass.holder, outcome, pass.until, now, out),
            (None, CallOutcome::Success) => self.succeed_alone(now, out),
            (None, CallOutcome::Failure) => self.trip(now, out),
            (None, CallOutcome::Neutral) => {}
        }
    }

    fn report(
        &mut self,
        holder: Holder,
        outcome: CallOutcome,
        until: Timestamp,
        now: Timestamp,
        out: &mut BreakerOutputs,
    ) {
        let window = self.settings.recovery_window();
        let successes = self.settings.success_threshold();
        self.begin(Motion::Report { holder, outcome, window, successes }, until, now, out);
    }

    /// Counts a success that the fleet could not be told of.
    fn succeed_alone(&mut self, now: Timestamp, out: &mut BreakerOutputs) {
        let OwnWord::HalfOpen { successes, .. } = self.word else { return };
        let successes = successes.saturating_add(1);
        if successes < self.settings.success_threshold() {
            self.word = OwnWord::HalfOpen { successes, busy: Busy::Free };
        } else {
            self.turn(OwnWord::Closed, BreakerCause::Recovered, now, out);
            self.apart = self.known.state != AccordState::Closed;
        }
    }

    /// The fleet was asked for changes and has answered.
    pub(super) fn heard(
        &mut self,
        accord: Option<Accord>,
        at: Timestamp,
        now: Timestamp,
        out: &mut BreakerOutputs,
    ) {
        // That changes can be read says nothing about a record that cannot.
        self.alone.take_if(|error| matches!(error, FleetError::Unavailable | FleetError::Timeout));
        let later = accord.filter(|accord| accord.generation > self.known.generation);
        if let Some(accord) = later {
            // An answer that a request waits for is on its way; anything else is out of date.
            self.errand.take_if(|errand| !errand.asks());
            // What this node has asked for before is out of date as well, should it still arrive.
            self.unanswered.take_if(|_| self.errand.is_none());
            self.adopt(accord, at, BreakerCause::Adopted, now, out);
            if let Some(lease) = accord.lease(at)
                && lease.holder.node == self.node
                && self.errand.is_none()
            {
                // The answer to an attempt of this node got lost, and no request waits for it any more.
                self.give_back(lease, now, out);
            }
        } else if self.apart && self.errand.is_none() {
            self.adopt(self.known, at, BreakerCause::Adopted, now, out);
        } else if let Some(errand) = &mut self.errand
            && errand.resend_at.is_some()
        {
            errand.resend_at = Some(now);
            self.send_when_due(now, out);
        }
    }

    /// The fleet has answered an errand.
    pub(super) fn agreed(
        &mut self,
        errand: Errand,
        agreed: Agreed,
        now: Timestamp,
        out: &mut BreakerOutputs,
    ) {
        let Agreed { accord, lost, at } = agreed;
        self.alone = None;
        if lost && self.known.state != AccordState::Closed {
            let generation = self.known.generation;
            out.tell(BreakerSignal::Lost { generation, at: now });
        }
        let asked_for = self.unanswered.take_if(|_| errand.asks());
        // The highest generation wins. A record that is older than what this node has seen was restored
        // from an old copy; nobody is given a lease before it says so.
        if accord.generation < self.known.generation {
            if let OwnWord::HalfOpen { successes, .. } = self.word {
                let until = now.after(Span::SECOND);
                self.word = OwnWord::HalfOpen { successes, busy: Busy::Theirs { until } };
            }
            return;
        }
        let reported =
            matches!(errand.step.motion, Motion::Report { outcome: CallOutcome::Success, .. });
        let cause = if reported { BreakerCause::Recovered } else { BreakerCause::Adopted };
        self.adopt(accord, at, cause, now, out);
        let lease = accord.lease(at).filter(|lease| Some(lease.holder) == asked_for);
        if let Some(lease) = lease {
            self.take(lease, errand.until, at, now, out);
        }
    }

    /// Takes a lease that the fleet has granted, or gives it back if too little is left of it.
    fn take(
        &mut self,
        lease: Lease,
        asked_until: Timestamp,
        at: Timestamp,
        now: Timestamp,
        out: &mut BreakerOutputs,
    ) {
        let OwnWord::HalfOpen { successes, .. } = self.word else { return };
        // Counted from the moment of asking, so that it ends here before it ends for the fleet.
        let until = now.after(lease.until.since(at)).min(asked_until);
        let longest = self.settings.lease().as_micros() - LEASE_SLACK.as_micros();
        if until.since(now).as_micros() < longest {
            return self.give_back(lease, now, out);
        }
        let generation = Some(self.known.generation);
        let pass = ProbePass { holder: lease.holder, generation, until };
        self.word = OwnWord::HalfOpen { successes, busy: Busy::Probing(pass) };
        out.probe = Some(pass);
    }

    fn give_back(&mut self, lease: Lease, now: Timestamp, out: &mut BreakerOutputs) {
        let until = now.after(self.settings.lease());
        self.report(lease.holder, CallOutcome::Neutral, until, now, out);
    }

    /// The fleet has not answered an errand: this node goes by its local state.
    pub(super) fn unreached(
        &mut self,
        errand: Errand,
        error: FleetError,
        now: Timestamp,
        out: &mut BreakerOutputs,
    ) {
        if self.alone.replace(error).is_none() {
            out.tell(BreakerSignal::Alone { error, at: now });
        }
        match (errand.step.motion, self.word) {
            (
                Motion::Lease { holder, .. },
                OwnWord::HalfOpen { successes, busy: Busy::Asking { .. } },
            ) => return self.probe_alone(holder, successes, now, out),
            (Motion::Lease { .. }, _) => return,
            (_, OwnWord::HalfOpen { busy: Busy::Telling { .. }, .. }) => {
                self.succeed_alone(now, out);
            }
            _ => {}
        }
        self.errand = Some(Errand { resend_at: Some(now.after(FLEET_POLL_EVERY)), ..errand });
    }

    /// Lets the request that asked probe without a lease, unless another one already does.
    fn probe_alone(
        &mut self,
        holder: Holder,
        successes: u32,
        now: Timestamp,
        out: &mut BreakerOutputs,
    ) {
        if let Some(ProbePass { until, .. }) = self.own_probe {
            self.word = OwnWord::HalfOpen { successes, busy: Busy::Theirs { until } };
            return;
        }
        let until = now.after(self.settings.lease());
        let pass = ProbePass { holder, generation: None, until };
        self.word = OwnWord::HalfOpen { successes, busy: Busy::Probing(pass) };
        self.own_probe = Some(pass);
        out.probe = Some(pass);
    }

    fn begin(
        &mut self,
        motion: Motion,
        until: Timestamp,
        now: Timestamp,
        out: &mut BreakerOutputs,
    ) {
        let step = FleetStep { seen: self.known.generation, motion };
        self.errand = Some(Errand { number: 0, step, until, resend_at: Some(now) });
        self.send_when_due(now, out);
    }

    /// Sends the errand, if it is due.
    pub(super) fn send_when_due(&mut self, now: Timestamp, out: &mut BreakerOutputs) {
        let Some(errand) = &mut self.errand else { return };
        if errand.resend_at.is_none_or(|at| now < at) {
            return;
        }
        self.numbers += 1;
        errand.number = self.numbers;
        errand.resend_at = None;
        if let Motion::Trip { window } = &mut errand.step.motion {
            // The fleet opens for what is left of this node's own window.
            *window = errand.until.since(now);
        }
        out.call = Some(FleetCall { number: errand.number, step: errand.step });
    }
}

// === impl Errand ===

impl Errand {
    /// Whether this is the call whose answer is awaited.
    pub(super) fn awaits(&self, number: u64) -> bool {
        self.number == number && self.resend_at.is_none()
    }

    /// Whether an answer is awaited at all.
    pub(super) fn is_awaited(&self, now: Timestamp) -> bool {
        self.resend_at.is_none() && now < self.until
    }

    /// Whether a request waits for the answer.
    const fn asks(&self) -> bool {
        matches!(self.step.motion, Motion::Lease { .. })
    }

    /// When the breaker has to be stepped because of this errand.
    pub(super) fn due(&self) -> Timestamp {
        self.resend_at.unwrap_or(self.until)
    }
}
