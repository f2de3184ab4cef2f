//! The guards of a circuit: a call that passed it, and a request for the lease. What is dropped leaves
//! nothing behind, whether its future was cancelled or its thread panicked.

use tidegate_core::{
    Agreed, BreakerInput, CallOutcome, FleetCall, FleetError, FleetStep, Pass, ProbePass, Timestamp,
};

use super::{Circuit, CircuitCheck};

/// A call that may be made. One that is dropped without a word is neutral: a probe gives its lease back.
#[derive(Debug)]
#[must_use = "a call that is dropped counts for nothing"]
pub struct CircuitCall<'c> {
    circuit: &'c Circuit,
    right: Option<Right>,
}

/// By which right a call is made.
#[derive(Clone, Copy, Debug)]
enum Right {
    Pass(Pass),
    Probe(ProbePass),
}

/// A request for the lease that has to be sent to the fleet. One that is dropped before it is answered is
/// sent again by whoever [polls](super::Circuits::poll), and what it gets is given back.
#[derive(Debug)]
#[must_use = "the fleet has to be asked"]
pub struct LeaseRequest<'c> {
    circuit: &'c Circuit,
    call: Option<FleetCall>,
    step: FleetStep,
}

// === impl CircuitCall ===

impl<'c> CircuitCall<'c> {
    pub(super) const fn pass(circuit: &'c Circuit, pass: Pass) -> Self {
        Self { circuit, right: Some(Right::Pass(pass)) }
    }

    pub(super) const fn probe(circuit: &'c Circuit, pass: ProbePass) -> Self {
        Self { circuit, right: Some(Right::Probe(pass)) }
    }

    /// Says how the call ended.
    pub fn end(mut self, outcome: CallOutcome, now: Timestamp) {
        match self.right.take() {
            Some(Right::Pass(pass)) => self.circuit.called(pass, outcome, now),
            Some(Right::Probe(pass)) => self.circuit.probed(pass, outcome, now),
            None => {}
        }
    }

    /// Whether the call is the probe of a half-open circuit.
    #[must_use]
    pub const fn is_probe(&self) -> bool {
        matches!(self.right, Some(Right::Probe(_)))
    }

    /// The lease of a probe; `None` for a call that passed a closed circuit. The probe has to be given up
    /// before the lease ends.
    #[must_use]
    pub const fn lease(&self) -> Option<ProbePass> {
        match self.right {
            Some(Right::Probe(pass)) => Some(pass),
            _ => None,
        }
    }
}

impl Drop for CircuitCall<'_> {
    fn drop(&mut self) {
        if let Some(Right::Probe(pass)) = self.right.take() {
            // Nobody has the time in his hand here. The breaker takes the latest that it has been told.
            self.circuit.probed(pass, CallOutcome::Neutral, Timestamp::ZERO);
        }
    }
}

// === impl LeaseRequest ===

impl<'c> LeaseRequest<'c> {
    pub(super) const fn new(circuit: &'c Circuit, call: FleetCall) -> Self {
        Self { circuit, step: call.step, call: Some(call) }
    }

    /// The step to send to the fleet, under the name of the circuit.
    #[must_use]
    pub const fn step(&self) -> FleetStep {
        self.step
    }

    /// Hands in the answer of the fleet, and tells what becomes of the request.
    #[must_use]
    pub fn answer(
        mut self,
        answer: Result<Agreed, FleetError>,
        now: Timestamp,
    ) -> CircuitCheck<'c> {
        match self.call.take() {
            Some(call) => self.circuit.leased(call.number, answer, now),
            None => self.circuit.check(now),
        }
    }

    /// Hands in the answer of the fleet to a call that no request waits for.
    pub(super) fn note(mut self, answer: Result<Agreed, FleetError>, now: Timestamp) {
        if let Some(FleetCall { number, .. }) = self.call.take() {
            self.circuit.step(BreakerInput::Answered { number, answer }, now);
        }
    }
}

impl Drop for LeaseRequest<'_> {
    fn drop(&mut self) {
        if let Some(call) = self.call.take() {
            self.circuit.hand_over(call);
        }
    }
}
