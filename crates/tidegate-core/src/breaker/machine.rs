//! The state machine of a breaker: its local state, and how it follows what the fleet agrees on.

use arrayvec::ArrayVec;

use super::errand::Errand;
use super::input::{BreakerInput, CallOutcome, FleetCall, Pass, ProbePass};
use super::settings::BreakerSettings;
use super::signal::{BreakerCause, BreakerChange, BreakerSignal, BreakerState};
use crate::fleet::{Accord, AccordState, FleetError, Holder};
use crate::time::{Span, Timestamp};

/// The breaker of one upstream on one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breaker {
    pub(super) settings: BreakerSettings,
    /// This node, as it signs its leases.
    pub(super) node: u64,
    /// The record with the highest generation that this node has heard of.
    pub(super) known: Accord,
    pub(super) word: OwnWord,
    /// Whether the local state was closed while the record was not, because the fleet could not be told.
    pub(super) apart: bool,
    /// Why the fleet has not answered the last call, if it has not.
    pub(super) alone: Option<FleetError>,
    /// Calls that have failed since one succeeded or the breaker was closed.
    failures: u32,
    /// Neutral probes in a row.
    pub(super) neutrals: u32,
    /// Counts how often the breaker has left the closed state: results of calls that passed before that are
    /// ignored afterwards.
    stint: u64,
    /// What the fleet has to be asked or told.
    pub(super) errand: Option<Errand>,
    /// The probe that the fleet was not asked about, while it is under way.
    pub(super) own_probe: Option<ProbePass>,
    /// The last attempt to get a lease, if no answer to it has come.
    pub(super) unanswered: Option<Holder>,
    /// The number of the last call and of the last attempt to get a lease.
    pub(super) numbers: u64,
    /// The latest time handed in, because time does not go back.
    latest: Timestamp,
}

/// The local state of a breaker. All times are by the clock of its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OwnWord {
    Closed,
    Open { until: Timestamp },
    HalfOpen { successes: u32, busy: Busy },
    ForcedOpen,
    ForcedClosed,
}

/// Why a half-open breaker lets nobody try at present. All but `Free` end by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Busy {
    /// The next request may ask for a lease.
    Free,
    /// A request of this node has asked for a lease.
    Asking { until: Timestamp },
    /// A request of this node is the probe.
    Probing(ProbePass),
    /// The probe of this node has succeeded, and the fleet has to agree.
    Telling { until: Timestamp },
    /// Another node has the lease.
    Theirs { until: Timestamp },
}

/// Whether a request passes a breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clearance {
    /// The request passes. How it ended is to be reported with this pass.
    Pass(Pass),
    /// The request may become the probe, if it [asks](BreakerInput::Ask).
    Try,
    /// The request is refused. It may come back after this time.
    Wait(Span),
}

/// What follows from one step of a breaker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BreakerOutputs {
    /// The signals to send, in order.
    pub signals: ArrayVec<BreakerSignal, 4>,
    /// The call to make to the fleet.
    pub call: Option<FleetCall>,
    /// The pass for the request that asked to be the probe. If that request is gone, report
    /// the probe as neutral.
    pub probe: Option<ProbePass>,
}

/// The shortest wait that a request is told while the breaker is half-open.
const MIN_WAIT: Span = Span::SECOND;

// === impl Breaker ===

impl Breaker {
    /// A closed breaker that knows nothing of the fleet. `node` is a random number of this process.
    #[must_use]
    pub const fn new(settings: BreakerSettings, node: u64, now: Timestamp) -> Self {
        Self {
            settings,
            node,
            known: Accord::FRESH,
            word: OwnWord::Closed,
            apart: false,
            alone: None,
            failures: 0,
            neutrals: 0,
            stint: 0,
            errand: None,
            own_probe: None,
            unanswered: None,
            numbers: 0,
            latest: now,
        }
    }

    /// Handles one input. Every transition is made here or in what is called from here.
    ///
    /// | from | to | when |
    /// |---|---|---|
    /// | closed | open | a call failed, and as many before it as the threshold says |
    /// | open | half-open | the window is over |
    /// | half-open | open | the probe failed |
    /// | half-open | closed | enough probes succeeded, and the fleet agrees or cannot be asked |
    /// | any | any | the fleet has agreed on it, in a later generation |
    #[must_use]
    pub fn step(mut self, input: BreakerInput, now: Timestamp) -> (Self, BreakerOutputs) {
        let mut out = BreakerOutputs::default();
        self.latest = self.latest.max(now);
        let now = self.latest;
        self.let_time_pass(now, &mut out);
        match input {
            BreakerInput::Poll => self.send_when_due(now, &mut out),
            BreakerInput::Ask => self.ask(now, &mut out),
            BreakerInput::Called(pass, outcome) => self.called(pass, outcome, now, &mut out),
            BreakerInput::Probed(pass, outcome) => self.probed(pass, outcome, now, &mut out),
            BreakerInput::Heard { accord, at } => self.heard(accord, at, now, &mut out),
            BreakerInput::Answered { number, answer } => {
                // The answer to a call that is not awaited any more says nothing: it may be old.
                if let Some(errand) = self.errand.take_if(|errand| errand.awaits(number)) {
                    match answer {
                        Ok(agreed) => self.agreed(errand, agreed, now, &mut out),
                        Err(error) => self.unreached(errand, error, now, &mut out),
                    }
                }
            }
        }
        (self, out)
    }

    /// Makes the changes that time alone brings about.
    fn let_time_pass(&mut self, now: Timestamp, out: &mut BreakerOutputs) {
        self.errand.take_if(|errand| errand.until <= now);
        self.own_probe.take_if(|pass| pass.until <= now);
        match &mut self.word {
            OwnWord::Open { until } if *until <= now => {
                let word = OwnWord::HalfOpen { successes: 0, busy: Busy::Free };
                self.turn(word, BreakerCause::WindowOver, now, out);
            }
            OwnWord::HalfOpen { busy, .. } if busy.until().is_some_and(|until| until <= now) => {
                *busy = Busy::Free;
            }
            _ => {}
        }
    }

    fn called(
        &mut self,
        pass: Pass,
        outcome: CallOutcome,
        now: Timestamp,
        out: &mut BreakerOutputs,
    ) {
        if self.word != OwnWord::Closed || pass.0 != self.stint {
            return;
        }
        match outcome {
            CallOutcome::Neutral => {}
            CallOutcome::Success => self.failures = 0,
            CallOutcome::Failure => {
                self.failures = self.failures.saturating_add(1);
                if self.failures >= self.settings.failure_threshold() {
                    self.open(BreakerCause::Tripped, now, out);
                    self.trip(now, out);
                }
            }
        }
    }

    /// Opens the local state for a window.
    pub(super) fn open(
        &mut self,
        cause: BreakerCause,
        now: Timestamp,
        out: &mut BreakerOutputs,
    ) -> Timestamp {
        let until = now.after(self.settings.recovery_window());
        self.turn(OwnWord::Open { until }, cause, now, out);
        until
    }

    /// Takes over a record, whatever the local state was.
    pub(super) fn adopt(
        &mut self,
        accord: Accord,
        at: Timestamp,
        cause: BreakerCause,
        now: Timestamp,
        out: &mut BreakerOutputs,
    ) {
        self.known = accord;
        self.apart = false;
        let (state, before) = (accord.state.kind(), self.state());
        let cause = match cause {
            BreakerCause::Adopted if state.is_forced() => BreakerCause::Forced,
            BreakerCause::Adopted if before.is_forced() => BreakerCause::Lifted,
            cause => cause,
        };
        // The end of a window or lease is as far away as the fleet says, but no further than it can be: the
        // clock of the fleet may have been set back.
        let window = self.settings.recovery_window();
        let end = |until: Timestamp, longest: Span| now.after(until.since(at).min(longest));
        let word = match accord.state {
            AccordState::Closed => OwnWord::Closed,
            AccordState::Open { until } => OwnWord::Open { until: end(until, window) },
            AccordState::HalfOpen { successes, lease } => {
                let theirs = lease.map(|it| end(it.until, self.settings.lease()));
                let busy = theirs.map_or(Busy::Free, |until| Busy::Theirs { until });
                OwnWord::HalfOpen { successes, busy }
            }
            AccordState::ForcedOpen => OwnWord::ForcedOpen,
            AccordState::ForcedClosed => OwnWord::ForcedClosed,
        };
        self.turn(word, cause, now, out);
        self.let_time_pass(now, out);
    }

    /// Changes the local state, and reports it if that is another state.
    pub(super) fn turn(
        &mut self,
        word: OwnWord,
        cause: BreakerCause,
        now: Timestamp,
        out: &mut BreakerOutputs,
    ) {
        let from = self.state();
        self.word = word;
        let to = self.state();
        if from == to {
            return;
        }
        if from == BreakerState::Closed {
            self.stint += 1;
            self.apart = false;
        }
        self.failures = 0;
        self.neutrals = 0;
        let generation = self.known.generation;
        let change = BreakerChange { from, to, cause, generation, at: now };
        out.tell(BreakerSignal::Changed(change));
    }

    /// Whether a request passes at `now`. An open breaker lets nothing pass.
    #[must_use]
    pub fn clearance(&self, now: Timestamp) -> Clearance {
        let now = now.max(self.latest);
        match self.word {
            OwnWord::Closed | OwnWord::ForcedClosed => Clearance::Pass(Pass(self.stint)),
            OwnWord::ForcedOpen => Clearance::Wait(self.settings.recovery_window()),
            OwnWord::Open { until } if now < until => Clearance::Wait(until.since(now)),
            OwnWord::Open { .. } => Clearance::Try,
            OwnWord::HalfOpen { busy, .. } => {
                let left = busy.until().map_or(Span::ZERO, |until| until.since(now));
                let awaited = self.errand.is_some_and(|errand| errand.is_awaited(now));
                match left.is_zero() && !awaited {
                    true => Clearance::Try,
                    false => Clearance::Wait(left.max(MIN_WAIT)),
                }
            }
        }
    }

    /// The local state of this node, as of the last step.
    #[must_use]
    pub const fn state(&self) -> BreakerState {
        match self.word {
            OwnWord::Closed => BreakerState::Closed,
            OwnWord::Open { .. } => BreakerState::Open,
            OwnWord::HalfOpen { .. } => BreakerState::HalfOpen,
            OwnWord::ForcedOpen => BreakerState::ForcedOpen,
            OwnWord::ForcedClosed => BreakerState::ForcedClosed,
        }
    }

    /// The record with the highest generation that this node has heard of. An operator's step names its
    /// generation.
    #[must_use]
    pub const fn known(&self) -> Accord {
        self.known
    }

    /// Calls that have failed in a row, as of the last step.
    #[must_use]
    pub const fn failures(&self) -> u32 {
        self.failures
    }

    /// Whether the breaker is to be told that the fleet has answered, even if its record has not changed.
    #[must_use]
    pub const fn wants_contact(&self) -> bool {
        self.alone.is_some() || self.apart || self.errand.is_some()
    }

    /// When the breaker has to be stepped next, if nothing happens before.
    #[must_use]
    pub fn due(&self) -> Option<Timestamp> {
        let by_itself = match self.word {
            OwnWord::Open { until } => Some(until),
            OwnWord::HalfOpen { busy, .. } => busy.until(),
            OwnWord::Closed | OwnWord::ForcedOpen | OwnWord::ForcedClosed => None,
        };
        by_itself.into_iter().chain(self.errand.map(|errand| errand.due())).min()
    }

    /// Takes over settings that have been changed. What is under way goes on by the old ones.
    pub const fn follow(&mut self, settings: BreakerSettings) {
        self.settings = settings;
    }
}

// === impl Busy ===

impl Busy {
    pub(super) const fn until(&self) -> Option<Timestamp> {
        match self {
            Self::Free => None,
            Self::Probing(pass) => Some(pass.until),
            Self::Asking { until } | Self::Telling { until } | Self::Theirs { until } => {
                Some(*until)
            }
        }
    }
}

// === impl BreakerOutputs ===

impl BreakerOutputs {
    pub(super) fn tell(&mut self, signal: BreakerSignal) {
        // At most four: a change by time, one by the input, one by time again, and that the fleet is gone
        // or has lost something.
        let _ = self.signals.try_push(signal);
    }
}
