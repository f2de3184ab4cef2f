//! The records that the checks keep of one policy on one node.

use std::collections::{HashMap, VecDeque};

use tidegate_core::{FailureMode, Mode, Signal};

use super::blocks::BlockCheck;
use super::caps::Caps;
use super::outage::OutageTimes;
use super::request::Request;
use super::{FallbackKind, Holds, Law, breaker, guard, outage, recovery, request, told};
use crate::sim::trace::{OpKind, StoreErrand, StoreOutcome, Truth, What};

/// The state of one policy on one node, derived from the trace alone.
#[derive(Clone, Debug)]
pub(super) struct PolicyLane {
    pub(super) law: Law,
    pub(super) slack: u64,
    pub(super) in_force: bool,
    /// Since when the policy has been in force without interruption.
    pub(super) in_force_since: u64,
    /// Whether the node no longer keeps anything about the policy.
    gone: bool,
    /// The mode, according to the transitions that were signalled.
    pub(super) mode: Mode,
    pub(super) stand: Stand,
    pub(super) epoch: u64,
    /// When the store ceased to be asked, if it is not asked now.
    pub(super) halted_at: Option<u64>,
    /// Counts the times that the store began or ceased to be asked.
    pub(super) generation: u64,
    /// Signals that are due at this instant.
    pub(super) expected: Vec<Expected>,
    /// Whether the store, while it is asked, failed in its last operation.
    pub(super) suspected: bool,
    /// Times of the failures that count by the definition; cleared only when the store ceases or
    /// begins to be asked.
    pub(super) failures: VecDeque<u64>,
    pub(super) corrupt: Vec<(u64, u64)>,
    /// Since when the store has done nothing but fail.
    pub(super) only_bad_since: Option<u64>,
    /// Times of all entries into local caps since the last completed backoff.
    pub(super) entries: Vec<u64>,
    pub(super) last_flap: Option<u64>,
    pub(super) outage: OutageTimes,
    /// The recent probes: when they ended, and whether they were good.
    pub(super) probes: VecDeque<(u64, bool)>,
    pub(super) last_probe: Option<u64>,
    pub(super) refused_at: Option<u64>,
    pub(super) truth: Truth,
    pub(super) truth_since: u64,
    pub(super) ops: HashMap<u32, Sent>,
    pub(super) requests: HashMap<u32, Request>,
    pub(super) caps: Caps,
    pub(super) blocks: BlockCheck,
    /// The last decision that observers were told of and that has not yet been given as an answer.
    pub(super) observed: Option<(Mode, bool)>,
}

/// Who decides for the policy at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stand {
    /// The store is asked, but nothing is known of it yet.
    Unproven,
    Normal,
    /// Local caps decide: since when, and when the next signal is due that this goes on.
    Degraded(u64, u64),
    /// Nothing passes, since this time.
    Backoff(u64),
}

/// A signal that is due at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    Suspected,
    Cleared,
    Refused,
    Proven,
    Tripped,
    Flapped,
}

/// A store operation under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) by: StoreErrand,
    pub(super) kind: OpKind,
    pub(super) generation: u64,
}

// === impl PolicyLane ===

impl PolicyLane {
    pub(super) fn new(law: Law, slack: u64) -> Self {
        let primary = primary(law.kind);
        Self {
            law,
            slack,
            in_force: true,
            in_force_since: 0,
            gone: false,
            mode: primary.into(),
            stand: Stand::Unproven,
            epoch: 0,
            halted_at: None,
            generation: 0,
            expected: Vec::new(),
            suspected: false,
            failures: VecDeque::new(),
            corrupt: Vec::new(),
            only_bad_since: None,
            entries: Vec::new(),
            last_flap: None,
            outage: OutageTimes::default(),
            probes: VecDeque::new(),
            last_probe: None,
            refused_at: None,
            truth: Truth::Odd,
            truth_since: 0,
            ops: HashMap::new(),
            requests: HashMap::new(),
            caps: Caps::new(law.kind),
            blocks: BlockCheck::default(),
            observed: None,
        }
    }

    /// The state of a policy on a node that has just started.
    pub(super) fn started(law: Law, slack: u64, at: u64) -> Self {
        Self { in_force_since: at, truth_since: at, ..Self::new(law, slack) }
    }

    /// Takes note whether the policy is in force. A policy with nothing to remember is not kept: it
    /// begins anew when it is put in force again.
    pub(super) fn in_force(&mut self, is: bool, at: u64) {
        match (self.in_force, is) {
            (_, false) => {
                self.in_force = false;
                self.gone |= self.is_fresh(at);
            }
            (false, true) => {
                if self.gone {
                    let (truth, since) = (self.truth, self.truth_since);
                    *self = Self::started(self.law, self.slack, at);
                    (self.truth, self.truth_since) = (truth, since);
                }
                (self.in_force, self.in_force_since) = (true, at);
                self.only_bad_since = None;
            }
            (true, true) => {}
        }
    }

    /// Whether nothing would be lost if the state were dropped.
    fn is_fresh(&self, at: u64) -> bool {
        self.asks()
            && self.failures.iter().all(|failed| at - failed > breaker::WITHIN)
            && self.corrupt.iter().all(|(_, seen)| at - seen > breaker::WITHIN)
            && self.entries.iter().all(|entered| at - entered > guard::WITHIN)
            && self.outage.is_over(at)
            && self.caps.is_fresh(at)
            && self.blocks.is_fresh(at)
    }

    /// Takes note of a trace record, and checks it.
    pub(super) fn push(&mut self, at: u64, what: &What) -> Holds {
        match *what {
            What::Asked { request, who, counted } => {
                let request_made = Request::new(at, who, counted, self.stand);
                self.requests.insert(request, request_made);
                Ok(())
            }
            What::Gone { request } | What::Shed { request } => request::gone(self, at, request),
            What::Amended { counter, blocked } => {
                self.blocks.learn_one(at, counter, blocked);
                Ok(())
            }
            What::Sent { op, by, kind } => {
                recovery::p19_p52_p63_only_probes_are_sent(self, kind)?;
                if kind == OpKind::Probe {
                    recovery::p52_probes_keep_their_distance(self, at)?;
                    self.last_probe = Some(at);
                }
                request::p12_p16_one_call_for_one_decision(self, by, kind)?;
                let before = kind == OpKind::Probe && recovery::begun_before(self, at);
                let generation = self.generation - u64::from(before && self.generation > 0);
                self.ops.insert(op, Sent { by, kind, generation });
                Ok(())
            }
            What::Done { op, outcome } => self.done(at, op, outcome),
            What::Observed { mode, admitted } => {
                told::p22_each_decision_is_told_once(self)?;
                self.observed = Some((mode, admitted));
                Ok(())
            }
            What::Decided { request, answer } => request::decided(self, at, request, &answer),
            What::Told(signal) => self.told(at, &signal),
            What::Stood(standing) => told::p80_the_host_sees_what_was_told(self, at, &standing),
            What::Truth(truth) => {
                if truth != self.truth {
                    (self.truth, self.truth_since) = (truth, at);
                }
                Ok(())
            }
            What::Started
            | What::InForce(_)
            | What::Lost
            | What::Clock(_)
            | What::Forgets
            | What::Primaries(_) => Ok(()),
        }
    }

    fn done(&mut self, at: u64, op: u32, outcome: StoreOutcome) -> Holds {
        let Some(sent) = self.ops.remove(&op) else { return Ok(()) };
        match sent.by {
            StoreErrand::Probe => breaker::probed(self, at, sent, outcome),
            StoreErrand::Request(request) => {
                if let Some(input) = request::answered(self, at, request, sent, outcome) {
                    breaker::answered(self, at, sent, input);
                }
                Ok(())
            }
            StoreErrand::Host | StoreErrand::Operator => Ok(()),
        }
    }

    /// The node has noticed that counts may be lost: for a policy that guards an entrance, that is
    /// a failure.
    pub(super) fn lost(&mut self, at: u64) -> Holds {
        if self.law.kind.is_entrance() && self.stand == Stand::Normal && self.in_force {
            // It counts as a failure, although the store has answered.
            breaker::count(self, at);
        }
        Ok(())
    }

    fn told(&mut self, at: u64, signal: &Signal) -> Holds {
        told::p59_times_are_those_of_the_node(self, at, signal)?;
        match signal {
            Signal::Suspected { mode, .. } => told::p22_the_first_failure_is_told(self, *mode),
            Signal::Cleared { .. } => told::p79_an_end_of_suspicion_is_told(self, at),
            Signal::Refused { .. } => told::p79_refusals_are_told_once_a_minute(self, at),
            Signal::Prolonged { epoch, .. } => told::p79_long_stays_are_told(self, at, *epoch),
            Signal::Reopened { since, epoch, .. } => {
                outage::a35_the_end_of_a_closure_is_told_once(self, at, since.as_micros(), *epoch)
            }
            Signal::Changed(transition) => told::changed(self, at, transition),
        }
    }

    /// Time has passed until `now`: checks that everything due before has happened.
    pub(super) fn pass(&mut self, now: u64) -> Holds {
        self.p79_everything_is_told()?;
        if !self.in_force {
            return Ok(());
        }
        guard::p61_a_backoff_ends_in_time(self, now)?;
        recovery::p55_a_healthy_store_is_asked_again(self, now)?;
        breaker::p57_an_outage_is_noticed_at_any_rate(self, now)?;
        told::p79_long_stays_are_told_in_time(self, now)
    }

    /// Whether the store is asked at the moment.
    pub(super) const fn asks(&self) -> bool {
        matches!(self.stand, Stand::Unproven | Stand::Normal)
    }

    pub(super) fn primary(&self) -> Mode {
        primary(self.law.kind).into()
    }

    /// Whether this signal was due; removes it from those that are.
    pub(super) fn expects(&mut self, what: Expected) -> bool {
        let place = self.expected.iter().position(|expected| *expected == what);
        place.map(|place| self.expected.remove(place)).is_some()
    }
}

const fn primary(kind: FallbackKind) -> FailureMode {
    match kind {
        FallbackKind::Login
        | FallbackKind::Otp
        | FallbackKind::Closed
        | FallbackKind::Spend { .. } => FailureMode::FailClosed,
        FallbackKind::Guarded => FailureMode::FailOpen,
        FallbackKind::Ceilings { .. } | FallbackKind::Outbound { .. } => FailureMode::Degraded,
    }
}
