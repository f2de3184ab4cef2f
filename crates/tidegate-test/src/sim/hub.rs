//! The state that the nodes, the store and the executor of one simulation share.
//!
//! The core's traits demand implementations that can be shared between threads, so there is a lock
//! here. Nobody ever waits for it: a simulation is one thread.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use tidegate_core::{Amended, Bundle, Changes, Clock, Timestamp};

use super::counters::{Damage, StoreCounters};
use super::fault::{Fate, Fault, Way};
use super::policies;
use super::rng::mix;
use super::trace::{Observation, OpKind, StoreErrand, StoreOutcome, What};

/// The largest number of nodes.
pub(super) const NODES: usize = 3;
/// The number of policies.
pub(super) const POLICIES: usize = 7;
/// The index of the last policy.
pub(super) const LAST_POLICY: u8 = 6;
const _: () = assert!(LAST_POLICY as usize + 1 == POLICIES);
/// The deadline of the store for each policy, in microseconds.
pub(super) const DEADLINES: [u64; POLICIES] =
    [250_000, 250_000, 100_000, 250_000, 100_000, 100_000, 100_000];
/// The time at which clocks begin: some time in 2027.
pub(super) const EPOCH: u64 = 1_800_000_000_000_000;

/// The state that a simulation shares.
#[derive(Debug)]
pub(super) struct Hub {
    /// The time by which everything is recorded, in microseconds since the beginning.
    now: AtomicU64,
    state: Mutex<State>,
    rows: Bundle,
}

/// The mutable part of [`Hub`].
#[derive(Debug)]
pub(super) struct State {
    seed: u64,
    /// The task being run.
    pub(super) current: Context,
    /// Tasks to run: the time, a sequence number and the task's number.
    pub(super) timers: BinaryHeap<Reverse<(u64, u64, u32)>>,
    asked: u64,
    /// Records that have not been checked yet.
    pub(super) records: Vec<Observation>,
    ops: u32,
    /// How the store treats each policy on each node.
    pub(super) faults: [[Treatment; POLICIES]; NODES],
    /// The policy whose store never works, whatever the faults say.
    pub(super) broken: Option<u8>,
    /// The counters of the store; while there are two primaries, those of each.
    sides: [StoreCounters; 2],
    /// The primary that each node sees.
    sees: [usize; NODES],
    /// How many times each node was led to another primary.
    failovers: [u32; NODES],
    /// How many times the store has begun anew.
    restarts: u32,
    /// How far the store's clock is ahead of the trace, in microseconds.
    pub(super) store_ahead: u64,
}

/// The task being run, and the node and policy it runs for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Context {
    pub(super) task: u32,
    pub(super) node: u8,
    pub(super) policy: u8,
    pub(super) by: StoreErrand,
}

/// How the store treats one policy on one node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Treatment {
    pub(super) fault: Fault,
    pub(super) since: u64,
    ops: u64,
}

/// A store operation under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Op {
    number: u32,
    context: Context,
    pub(super) fate: Fate,
    pub(super) done_at: u64,
}

/// The clock of a node, which differs from the time of the trace by `ahead`.
#[derive(Debug)]
pub(super) struct NodeClock {
    pub(super) hub: std::sync::Arc<Hub>,
    pub(super) ahead: u64,
}

// === impl Hub ===

impl Hub {
    pub(super) fn new(seed: u64, broken: Option<u8>) -> Self {
        let context = Context { task: 0, node: 0, policy: 0, by: StoreErrand::Host };
        let works = Treatment { fault: Fault::NONE, since: 0, ops: 0 };
        let state = State {
            seed,
            current: context,
            timers: BinaryHeap::new(),
            asked: 0,
            records: Vec::new(),
            ops: 0,
            faults: [[works; POLICIES]; NODES],
            broken,
            sides: Default::default(),
            sees: [0; NODES],
            failovers: [0; NODES],
            restarts: 0,
            store_ahead: EPOCH + mix(seed) % 1_000_000_000,
        };
        Self { now: AtomicU64::new(0), state: Mutex::new(state), rows: policies::rows() }
    }

    /// The rows that requests under a policy without limits are charged to.
    pub(super) const fn rows(&self) -> &Bundle {
        &self.rows
    }

    pub(super) fn now(&self) -> u64 {
        self.now.load(Ordering::Relaxed)
    }

    pub(super) fn set_now(&self, now: u64) {
        self.now.store(now, Ordering::Relaxed);
    }

    /// Calls `act` with the mutable state.
    pub(super) fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds a record to the trace at the present time.
    pub(super) fn record(&self, node: u8, policy: u8, what: What) {
        let at = self.now();
        self.with(|state| state.records.push(Observation { at, node, policy, what }));
    }

    /// Begins a store operation for the task being run.
    pub(super) fn begin(&self, kind: OpKind, within: u64) -> Op {
        let now = self.now();
        self.with(|state| {
            let context = state.current;
            let (node, policy) = (usize::from(context.node), usize::from(context.policy));
            let broken = state.broken == Some(context.policy);
            let treatment = &mut state.faults[node][policy];
            treatment.ops += 1;
            // Chance here does not depend on other policies or nodes, so that these can be left
            // out.
            let lane = (context.node as u64) << 8 | u64::from(context.policy);
            let chance = mix(state.seed ^ mix(lane << 48 | treatment.ops));
            let fault = if broken { Fault::of(Way::Unavailable) } else { treatment.fault };
            let fate = fault.fate(kind, now - treatment.since, within.max(2), chance);
            state.ops += 1;
            let number = state.ops;
            let what = What::Sent { op: number, by: context.by, kind };
            let (node, policy) = (context.node, context.policy);
            state.records.push(Observation { at: now, node, policy, what });
            Op { number, context, fate, done_at: now + fate.after }
        })
    }

    /// Ends a store operation.
    pub(super) fn end(&self, op: &Op, outcome: StoreOutcome) {
        self.record(op.context.node, op.context.policy, What::Done { op: op.number, outcome });
    }

    /// Records the state of a counter that the operator being run is told.
    pub(super) fn amended(&self, counter: u64, amended: &Amended) {
        let context = self.with(|state| state.current);
        if context.by == StoreErrand::Operator {
            let block = amended.block.filter(|block| block.holds(amended.at));
            let blocked = block.map_or(0, |block| block.until.since(amended.at).as_micros());
            self.record(context.node, context.policy, What::Amended { counter, blocked });
        }
    }

    /// Schedules the task being run to be run again at `at`.
    pub(super) fn wake_at(&self, at: u64) {
        self.with(|state| {
            state.asked += 1;
            state.timers.push(Reverse((at, state.asked, state.current.task)));
        });
    }
}

// === impl State ===

impl State {
    /// The counters, as the task being run sees them.
    pub(super) fn counters(&mut self) -> &mut StoreCounters {
        &mut self.sides[self.sees[usize::from(self.current.node)]]
    }

    /// The changes of the store that the task being run may have noticed.
    pub(super) fn changes(&self) -> Changes {
        let failovers = self.failovers[usize::from(self.current.node)];
        Changes { restarts: self.restarts, failovers }
    }

    /// Makes the store begin anew, with no counters.
    pub(super) fn forget(&mut self) {
        self.sides.iter_mut().for_each(StoreCounters::forget);
        self.restarts += 1;
    }

    /// Damages or repairs some counters.
    pub(super) fn mark(&mut self, mark: Damage, one_in: u64, first: u64) {
        self.sides.iter_mut().for_each(|side| side.mark(mark, one_in, first));
    }

    /// Makes a replica take over for the nodes in `away`, while the others stay with the old
    /// primary.
    pub(super) fn split(&mut self, away: u8) {
        self.sides[1] = self.sides[0].clone();
        for node in 0..NODES {
            self.sees[node] = usize::from(away >> node & 1);
            self.failovers[node] += u32::from(away >> node & 1);
        }
    }

    /// Makes the store have one primary again, with its own history; the history of the other is
    /// lost.
    pub(super) fn join(&mut self, kept: usize) {
        if kept == 1 {
            self.sides.swap(0, 1);
        }
        self.sides[1] = StoreCounters::default();
        for node in 0..NODES {
            self.failovers[node] += u32::from(self.sees[node] != kept);
            self.sees[node] = 0;
        }
    }

    /// Whether there are two primaries.
    pub(super) fn is_split(&self) -> bool {
        self.sees.contains(&1)
    }

    /// The time of the store's clock.
    pub(super) const fn store_time(&self, now: u64) -> Timestamp {
        Timestamp::from_micros(self.store_ahead + now)
    }
}

// === impl NodeClock ===

impl Clock for NodeClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.hub.now() + self.ahead)
    }
}
