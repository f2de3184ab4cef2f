//! What was observed of some nodes, and the checks over it.
//!
//! Recording only appends: it happens within decisions whose time is measured, and under locks of the
//! engine. The checks look at it when the world is asked whether all [holds](Tape::holds).

use std::sync::{Arc, Mutex, PoisonError};

use tidegate_core::{Cause, Clock as _, ManualClock, Signal};
use tidegate_test::sim::checks::{Checks, Law};
use tidegate_test::sim::trace::{Observation, OpKind, StoreErrand, StoreOutcome, What};

/// How much of a trace is shown when a property is broken.
const SHOWN: usize = 40;

/// The trace of a world.
pub(crate) struct Tape {
    clock: Arc<ManualClock>,
    state: Mutex<State>,
}

struct State {
    records: Vec<Observation>,
    /// How many of them the checks have seen.
    checked: usize,
    checks: Checks,
    ops: u32,
    requests: u32,
}

/// For whom the store is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct For {
    pub(crate) node: u8,
    pub(crate) policy: u8,
    pub(crate) by: StoreErrand,
}

// === impl Tape ===

impl Tape {
    pub(crate) fn new(clock: Arc<ManualClock>, laws: Vec<Law>, nodes: usize) -> Self {
        // The clock of the nodes is that of the trace, so nothing is off.
        let checks = Checks::new(laws, nodes, 0);
        let state = State { records: Vec::new(), checked: 0, checks, ops: 0, requests: 0 };
        Self { clock, state: Mutex::new(state) }
    }

    /// The time of the trace.
    pub(crate) fn now(&self) -> u64 {
        self.clock.now().as_micros()
    }

    pub(crate) fn record(&self, node: u8, policy: u8, what: What) {
        let record = Observation { at: self.now(), node, policy, what };
        self.with(|state| state.records.push(record));
    }

    /// The number of a new request.
    pub(crate) fn request(&self) -> u32 {
        self.with(|state| {
            state.requests += 1;
            state.requests
        })
    }

    /// The store is asked; the number of the operation.
    pub(crate) fn sent(&self, of: For, kind: OpKind) -> u32 {
        let op = self.with(|state| {
            state.ops += 1;
            state.ops
        });
        self.record(of.node, of.policy, What::Sent { op, by: of.by, kind });
        op
    }

    pub(crate) fn done(&self, of: For, op: u32, outcome: StoreOutcome) {
        self.record(of.node, of.policy, What::Done { op, outcome });
    }

    /// Looks at everything recorded since the last time.
    ///
    /// # Panics
    ///
    /// If a property is broken, with its text and the end of the trace.
    pub(crate) fn holds(&self) {
        let broken = self.with(|state| {
            let State { records, checked, checks, .. } = state;
            let broken = records[*checked..].iter().find_map(|record| {
                *checked += 1;
                checks.push(record).err()
            });
            broken.map(|broken| shown(&broken.to_string(), &records[..*checked]))
        });
        if let Some(broken) = broken {
            panic!("{broken}");
        }
    }

    /// Looks at the end: nothing that was to happen may be missing.
    ///
    /// # Panics
    ///
    /// As [`holds`](Self::holds).
    pub(crate) fn finish(&self) {
        self.holds();
        let now = self.now();
        let broken = self.with(|state| state.checks.finish(now).err());
        if let Some(broken) = broken {
            panic!("at the end, {broken}");
        }
    }

    /// What was recorded, from this place on.
    pub(crate) fn since(&self, place: usize) -> Vec<Observation> {
        self.with(|state| state.records[place..].to_vec())
    }

    /// The place of the next record.
    pub(crate) fn place(&self) -> usize {
        self.with(|state| state.records.len())
    }

    /// How often the mode of a policy on a node has changed for this cause.
    pub(crate) fn changes(&self, node: u8, policy: u8, cause: Cause) -> usize {
        let is = |record: &&Observation| {
            let of = (record.node, record.policy) == (node, policy);
            of && matches!(record.what, What::Told(Signal::Changed(it)) if it.cause == cause)
        };
        self.with(|state| state.records.iter().filter(is).count())
    }

    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn shown(broken: &str, trace: &[Observation]) -> String {
    let end = &trace[trace.len().saturating_sub(SHOWN)..];
    end.iter().fold(format!("{broken}\nafter"), |text, record| format!("{text}\n  {record}"))
}
