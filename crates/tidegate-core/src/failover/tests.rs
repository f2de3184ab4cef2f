//! The rules of failure, held to the contract property by property.

mod contract;
mod entries;
mod headroom;
mod machine;
mod mirror;
mod model;
mod outages;
mod probes;
mod schedules;
mod standby;

use super::{
    Cause, Course, Failover, Failure, Generation, Input, Outputs, Probe, Severity, Signal,
    Transition,
};
use crate::policy::{FailureMode, Mode};
use crate::time::{Span, Timestamp};

/// Where every schedule starts; times are told from here.
const START: Timestamp = Timestamp::from_micros(1_000_000_000_000);
const TICK: Span = Span::from_micros(1);

/// So many seconds after the start.
fn at(secs: u64) -> Timestamp {
    START.after(Span::from_secs(secs))
}

/// One tick earlier.
fn before(at: Timestamp) -> Timestamp {
    Timestamp::from_micros(at.as_micros() - 1)
}

/// A machine that is driven by hand, and everything it has told.
#[derive(Clone, Debug)]
struct Driven {
    machine: Failover,
    told: Vec<Signal>,
}

impl Driven {
    /// At the start of the node.
    fn new(primary: FailureMode) -> Self {
        Self { machine: Failover::new(primary, START), told: Vec::new() }
    }

    /// A login whose store has just answered for the first time.
    fn normal() -> Self {
        let mut driven = Self::new(FailureMode::FailClosed);
        driven.answer(START);
        driven.poll(START);
        driven.told.clear();
        driven
    }

    /// A login that has tripped at the start.
    fn degraded() -> Self {
        let mut driven = Self::normal();
        driven.trip(START);
        driven
    }

    fn step(&mut self, input: Input, now: Timestamp) -> Outputs {
        let (machine, outputs) = self.machine.clone().step(input, now);
        self.machine = machine;
        self.told.extend(outputs.signals.iter().copied());
        outputs
    }

    /// The generation of a request that is sent now; nothing is while the store is not asked.
    fn now(&self) -> Generation {
        match self.machine.course() {
            Course::Ask(generation) => generation,
            other => panic!("the store is not asked: {other:?}"),
        }
    }

    fn answer(&mut self, now: Timestamp) {
        self.step(Input::Answered(self.now()), now);
    }

    fn fail(&mut self, now: Timestamp) {
        self.step(Input::Failed(self.now(), Failure::Backend), now);
    }

    fn trip(&mut self, now: Timestamp) {
        (0..3).for_each(|_| self.fail(now));
    }

    fn poll(&mut self, now: Timestamp) -> Option<Probe> {
        self.step(Input::Poll, now).probe
    }

    /// Lets time pass until `end`, with all probes that fall due on the way.
    fn probe_until(&mut self, end: Timestamp, store: impl Fn(Timestamp) -> Result<(), Failure>) {
        while let Some(due) = self.machine.due().filter(|due| *due <= end) {
            if let Some(probe) = self.poll(due) {
                self.step(Input::Probed(probe, store(due)), due);
            }
            assert!(self.machine.due().is_none_or(|next| next > due), "it spins at {due:?}");
        }
        self.step(Input::Tick, end);
    }

    fn heal_until(&mut self, end: Timestamp) {
        self.probe_until(end, |_| Ok(()));
    }

    fn fail_until(&mut self, end: Timestamp) {
        self.probe_until(end, |_| Err(Failure::Backend));
    }

    fn mode(&self) -> Mode {
        self.machine.mode()
    }

    fn changes(&self) -> Vec<Transition> {
        let change = |signal: &Signal| match signal {
            Signal::Changed(transition) => Some(*transition),
            _ => None,
        };
        self.told.iter().filter_map(change).collect()
    }
}
