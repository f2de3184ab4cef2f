//! The breaker of one upstream, as the threads of a node share it; and all of them, with their fleet.
//!
//! The rules are those of the core's [`Breaker`], which is a value. Here it stands behind a lock, with one
//! word before it that says whether calls pass. A request on a closed circuit reads that word and nothing
//! else, and a call that succeeds writes nothing, unless failures were counted: no memory that threads
//! share is written while all is well. Everything else is made under the lock, reported, and only then
//! written to the word, as in the standby of a policy.
//!
//! A gateway checks, asks for the lease where it has to, makes its call, and says how it ended:
//!
//! ```
//! use core::num::NonZeroU32;
//! use std::sync::Arc;
//!
//! use tidegate_core::{
//!     BreakerSettings, CallOutcome, Clock, ManualClock, Span, Timestamp,
//! };
//! use tidegate_engine::circuit::{CircuitCheck, Circuits};
//! use tidegate_engine::{MemoryFleet, ready};
//!
//! let clock = Arc::new(ManualClock::new(Timestamp::from_micros(1_800_000_000_000_000)));
//! let fleet = MemoryFleet::new(100, Arc::clone(&clock));
//! let circuits = Circuits::new(fleet, 7, |name, signal| { let _ = (name, signal); });
//! let (window, lease) = (Span::from_secs(10), Span::from_secs(8));
//! let settings = BreakerSettings::try_new(NonZeroU32::MIN, window, lease)?;
//! let circuit = circuits.circuit("payments", settings, clock.now()).ok_or("a name")?;
//!
//! // A call passes, and fails: the circuit is open.
//! let CircuitCheck::Pass(call) = circuit.check(clock.now()) else { return Err("closed".into()) };
//! call.end(CallOutcome::Failure, clock.now());
//! assert!(matches!(circuit.check(clock.now()), CircuitCheck::Wait(_)));
//!
//! // What the fleet has to know is sent by whoever polls.
//! for duty in circuits.poll(clock.now()) {
//!     ready(circuits.perform(duty, &clock)).ok_or("memory never waits")?;
//! }
//!
//! // After the window one call tries, and is given back if it is dropped.
//! clock.advance(window);
//! assert!(matches!(circuit.check(clock.now()), CircuitCheck::Try));
//! let leased = ready(circuit.lease(circuits.fleet(), &clock)).ok_or("memory never waits")?;
//! let CircuitCheck::Pass(probe) = leased else { return Err("the lease is free".into()) };
//! assert!(probe.is_probe());
//! probe.end(CallOutcome::Success, clock.now());
//! for duty in circuits.poll(clock.now()) {
//!     ready(circuits.perform(duty, &clock)).ok_or("memory never waits")?;
//! }
//! assert!(matches!(circuit.check(clock.now()), CircuitCheck::Pass(_)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod call;
mod circuits;
mod panel;
#[cfg(test)]
mod tests;

use core::fmt;
use std::sync::{Arc, PoisonError};

use tidegate_core::{
    Accord, Agreed, Breaker, BreakerInput, BreakerOutputs, BreakerSettings, BreakerState,
    CallOutcome, Clearance, Clock, Fleet, FleetCall, FleetError, Pass, ProbePass, Span, Timestamp,
};

pub use call::{CircuitCall, LeaseRequest};
pub use circuits::{Circuits, Duty};

use self::panel::Panel;
use crate::sync::{AtomicU64, Mutex, Ordering};

/// The breaker of one upstream, shared by the threads of a node.
pub struct Circuit {
    /// Whether calls pass, and the number of their pass; to be read without the lock.
    word: AtomicU64,
    held: Mutex<Held>,
    name: Arc<str>,
    panel: Arc<Panel>,
}

/// What the lock of a circuit guards.
#[derive(Debug)]
struct Held {
    breaker: Breaker,
    /// The call that has to be made to the fleet, until somebody takes it.
    call: Option<FleetCall>,
}

/// What becomes of a request.
#[derive(Debug)]
pub enum CircuitCheck<'c> {
    /// The request passes. Whoever makes it says how it [ended](CircuitCall::end).
    Pass(CircuitCall<'c>),
    /// The request may become the probe, if it gets the [lease](Circuit::lease).
    Try,
    /// The request is refused. It may come back after this time.
    Wait(Span),
}

/// The kinds of words. Closed, and no failures are counted: a success need not be told.
const QUIET: u64 = 0;
/// Closed, and failures are counted.
const FAILING: u64 = 1;
/// Not closed.
const SHUT: u64 = 2;
/// Closed by an operator: nothing is counted.
const FORCED: u64 = 3;
const KINDS: u64 = 3;

/// What a request waits for that has asked for the lease in vain, if nothing is known.
const SOON: Span = Span::SECOND;

// === impl Circuit ===

impl Circuit {
    fn new(name: Arc<str>, breaker: Breaker, panel: Arc<Panel>) -> Self {
        let word = AtomicU64::new(word(&breaker));
        Self { word, held: Mutex::new(Held { breaker, call: None }), name, panel }
    }

    /// The name of the circuit, which is that of its record in the fleet.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What becomes of a request at `now`. On a closed circuit that is one load.
    #[inline]
    pub fn check(&self, now: Timestamp) -> CircuitCheck<'_> {
        let word = self.word.load(Ordering::Acquire);
        match word & KINDS {
            SHUT => self.check_shut(now),
            _ => CircuitCheck::Pass(CircuitCall::pass(self, Pass::of_number(word >> 2))),
        }
    }

    #[inline(never)]
    fn check_shut(&self, now: Timestamp) -> CircuitCheck<'_> {
        self.cleared(self.look(|breaker| breaker.clearance(now)))
    }

    const fn cleared(&self, clearance: Clearance) -> CircuitCheck<'_> {
        match clearance {
            Clearance::Pass(pass) => CircuitCheck::Pass(CircuitCall::pass(self, pass)),
            Clearance::Try => CircuitCheck::Try,
            Clearance::Wait(wait) => CircuitCheck::Wait(wait),
        }
    }

    /// Begins to ask for the lease, for a request that may [try](CircuitCheck::Try). `Ok` is the request that has
    /// to be sent to the fleet, and answered; it is the only one of this circuit. Otherwise nobody has to
    /// be asked: the request passes or waits.
    ///
    /// # Errors
    ///
    /// What becomes of the request without a lease.
    pub fn ask(&self, now: Timestamp) -> Result<LeaseRequest<'_>, CircuitCheck<'_>> {
        let (call, clearance) = self.change(|held| {
            let mut out = held.step(BreakerInput::Ask, now);
            ((out.call.take(), held.breaker.clearance(now)), out)
        });
        match call {
            Some(call) => Ok(LeaseRequest::new(self, call)),
            None => Err(self.without_lease(clearance)),
        }
    }

    /// Asks the fleet for the lease, for a request that may [try](CircuitCheck::Try). A request that is dropped
    /// meanwhile gives back what it gets.
    pub async fn lease(&self, fleet: &impl Fleet, clock: &impl Clock) -> CircuitCheck<'_> {
        match self.ask(clock.now()) {
            Ok(request) => {
                let answer = fleet.agree(&self.name, request.step()).await;
                request.answer(answer, clock.now())
            }
            Err(check) => check,
        }
    }

    /// The answer to a lease request that somebody waits for.
    fn leased(
        &self,
        number: u64,
        answer: Result<Agreed, FleetError>,
        now: Timestamp,
    ) -> CircuitCheck<'_> {
        let (probe, clearance) = self.change(|held| {
            let mut out = held.step(BreakerInput::Answered { number, answer }, now);
            ((out.probe.take(), held.breaker.clearance(now)), out)
        });
        match probe {
            Some(pass) => CircuitCheck::Pass(CircuitCall::probe(self, pass)),
            None => self.without_lease(clearance),
        }
    }

    /// A request that has not got the lease passes or waits, and does not ask again.
    const fn without_lease(&self, clearance: Clearance) -> CircuitCheck<'_> {
        match clearance {
            Clearance::Try => CircuitCheck::Wait(SOON),
            known => self.cleared(known),
        }
    }

    /// Leaves a call to whoever polls: the request that made it is gone.
    fn hand_over(&self, call: FleetCall) {
        self.change(|_| ((), BreakerOutputs { call: Some(call), ..BreakerOutputs::default() }));
    }

    /// A call that passed the closed circuit has ended. A success that changes nothing writes nothing.
    fn called(&self, pass: Pass, outcome: CallOutcome, now: Timestamp) {
        let word = self.word.load(Ordering::Acquire);
        let counts = match outcome {
            CallOutcome::Success => word & KINDS == FAILING,
            CallOutcome::Failure => word & KINDS <= FAILING,
            CallOutcome::Neutral => false,
        };
        // Otherwise the circuit has left the closed state since: the result is late.
        if counts && word >> 2 == pass.number() {
            self.step(BreakerInput::Called(pass, outcome), now);
        }
    }

    fn probed(&self, pass: ProbePass, outcome: CallOutcome, now: Timestamp) {
        self.step(BreakerInput::Probed(pass, outcome), now);
    }

    /// One step whose outcome nobody waits for.
    fn step(&self, input: BreakerInput, now: Timestamp) {
        self.change(|held| ((), held.step(input, now)));
    }

    /// Changes the breaker under its lock. What follows is reported before any thread acts on it; a call
    /// to the fleet that is left in the outputs waits for whoever polls, and a probe that nobody waits for
    /// has ended.
    fn change<T>(&self, act: impl FnOnce(&mut Held) -> (T, BreakerOutputs)) -> T {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let (done, mut out) = act(&mut held);
        self.settle(&mut held, &out);
        if let Some(pass) = out.probe {
            out = held.step(BreakerInput::Probed(pass, CallOutcome::Neutral), Timestamp::ZERO);
            self.settle(&mut held, &out);
        }
        self.word.store(word(&held.breaker), Ordering::Release);
        done
    }

    /// Lets time take its effect, and takes the call that has to be made.
    fn poll(&self, now: Timestamp) -> Option<FleetCall> {
        self.change(|held| {
            let mut out = held.step(BreakerInput::Poll, now);
            (out.call.take().or(held.call.take()), out)
        })
    }

    /// The fleet was asked for changes and has answered; `accord` is the record of this circuit, if it is
    /// among them.
    fn heard(&self, accord: Option<Accord>, at: Timestamp, now: Timestamp) {
        if accord.is_some() || self.look(Breaker::wants_contact) {
            self.step(BreakerInput::Heard { accord, at }, now);
        }
    }

    /// Reports what followed from a step, and keeps the call that has to be made.
    fn settle(&self, held: &mut Held, out: &BreakerOutputs) {
        for signal in &out.signals {
            self.panel.tell(&self.name, *signal);
        }
        if let Some(call) = out.call {
            held.call = Some(call);
            self.panel.wake(&self.name);
        } else if held.is_busy() {
            self.panel.note(&self.name);
        } else {
            self.panel.forget(&self.name);
        }
    }

    fn look<T>(&self, at: impl FnOnce(&Breaker) -> T) -> T {
        at(&self.held.lock().unwrap_or_else(PoisonError::into_inner).breaker)
    }

    /// The state of this node's own word, as of the last time that something happened.
    #[must_use]
    pub fn state(&self) -> BreakerState {
        self.look(Breaker::state)
    }

    /// The highest generation that this node has heard of, which an operator's step has to name.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.look(|breaker| breaker.known().generation)
    }

    /// Takes over settings that have been changed. What is under way goes on by the old ones.
    pub fn follow(&self, settings: BreakerSettings) {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).breaker.follow(settings);
    }
}

impl fmt::Debug for Circuit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Circuit").field("name", &self.name).finish_non_exhaustive()
    }
}

// === impl Held ===

impl Held {
    fn step(&mut self, input: BreakerInput, now: Timestamp) -> BreakerOutputs {
        let (breaker, out) = self.breaker.clone().step(input, now);
        self.breaker = breaker;
        out
    }

    /// Whether the circuit has to be looked at when time passes or the fleet answers.
    fn is_busy(&self) -> bool {
        self.call.is_some() || self.breaker.due().is_some() || self.breaker.wants_contact()
    }
}

fn word(breaker: &Breaker) -> u64 {
    match breaker.clearance(Timestamp::ZERO) {
        Clearance::Pass(pass) => {
            let kind = match breaker.state() {
                BreakerState::ForcedClosed => FORCED,
                _ if breaker.failures() > 0 => FAILING,
                _ => QUIET,
            };
            pass.number() << 2 | kind
        }
        Clearance::Try | Clearance::Wait(_) => SHUT,
    }
}
