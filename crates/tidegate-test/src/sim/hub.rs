//! What the nodes, the store and the executor of one simulation share.
//!
//! Ports demand that what is behind them can be shared between threads, so there is a lock here. Nobody
//! ever waits for it: a simulation is one thread.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use tidegate_core::{Amended, Changes, Clock, Timestamp};

use super::counters::{Counters, Mark};
use super::fault::{Fate, Fault, Way};
use super::rng::mix;
use super::trace::{By, OpKind, Outcome, Record, What};

/// The most nodes there are.
pub(super) const NODES: usize = 3;
/// The policies there are.
pub(super) const POLICIES: usize = 6;
/// The last of them.
pub(super) const LAST_POLICY: u8 = 5;
const _: () = assert!(LAST_POLICY as usize + 1 == POLICIES);
/// How long the store may take for each of them, in microseconds.
pub(super) const DEADLINES: [u64; POLICIES] =
    [250_000, 250_000, 100_000, 250_000, 100_000, 100_000];
/// Where clocks begin: some time in 2027.
pub(super) const EPOCH: u64 = 1_800_000_000_000_000;

/// What is shared.
#[derive(Debug)]
pub(super) struct Hub {
    /// The time that everything is recorded by, in microseconds since the beginning.
    now: AtomicU64,
    state: Mutex<State>,
}

/// What is shared and changes.
#[derive(Debug)]
pub(super) struct State {
    seed: u64,
    /// Who is being run.
    pub(super) current: Context,
    /// Whom to run next, and when.
    pub(super) timers: BinaryHeap<Reverse<(u64, u64, u32)>>,
    asked: u64,
    /// What has been observed and not been looked at.
    pub(super) records: Vec<Record>,
    ops: u32,
    /// How the store treats each policy on each node.
    pub(super) faults: [[Treatment; POLICIES]; NODES],
    /// The store of this policy never works, whatever else is said.
    pub(super) broken: Option<u8>,
    /// The counters; of two primaries, those of each.
    sides: [Counters; 2],
    /// Which primary each node sees.
    sees: [usize; NODES],
    /// How often each node was led to another primary.
    failovers: [u32; NODES],
    /// How often the store has begun anew.
    restarts: u32,
    /// How far the clock of the store is ahead of the beginning of all clocks.
    pub(super) store_ahead: u64,
}

/// Who is being run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Context {
    pub(super) task: u32,
    pub(super) node: u8,
    pub(super) policy: u8,
    pub(super) by: By,
}

/// How the store treats one policy on one node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Treatment {
    pub(super) fault: Fault,
    pub(super) since: u64,
    ops: u64,
}

/// An operation under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Op {
    number: u32,
    context: Context,
    pub(super) fate: Fate,
    pub(super) done_at: u64,
}

/// The clock of a node.
#[derive(Debug)]
pub(super) struct NodeClock {
    pub(super) hub: std::sync::Arc<Hub>,
    pub(super) ahead: u64,
}

// === impl Hub ===

impl Hub {
    pub(super) fn new(seed: u64, broken: Option<u8>) -> Self {
        let context = Context { task: 0, node: 0, policy: 0, by: By::Host };
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
        Self { now: AtomicU64::new(0), state: Mutex::new(state) }
    }

    pub(super) fn now(&self) -> u64 {
        self.now.load(Ordering::Relaxed)
    }

    pub(super) fn set_now(&self, now: u64) {
        self.now.store(now, Ordering::Relaxed);
    }

    /// Does something with the state.
    pub(super) fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Records something.
    pub(super) fn record(&self, node: u8, policy: u8, what: What) {
        let at = self.now();
        self.with(|state| state.records.push(Record { at, node, policy, what }));
    }

    /// Begins an operation on the store for whoever is being run.
    pub(super) fn begin(&self, kind: OpKind, within: u64) -> Op {
        let now = self.now();
        self.with(|state| {
            let context = state.current;
            let (node, policy) = (usize::from(context.node), usize::from(context.policy));
            let broken = state.broken == Some(context.policy);
            let treatment = &mut state.faults[node][policy];
            treatment.ops += 1;
            // Nothing here depends on other policies or nodes, so that these can be left out.
            let lane = (context.node as u64) << 8 | u64::from(context.policy);
            let chance = mix(state.seed ^ mix(lane << 48 | treatment.ops));
            let fault = if broken { Fault::of(Way::Unavailable) } else { treatment.fault };
            let fate = fault.fate(kind, now - treatment.since, within.max(2), chance);
            state.ops += 1;
            let number = state.ops;
            let what = What::Sent { op: number, by: context.by, kind };
            let (node, policy) = (context.node, context.policy);
            state.records.push(Record { at: now, node, policy, what });
            Op { number, context, fate, done_at: now + fate.after }
        })
    }

    /// Ends an operation.
    pub(super) fn end(&self, op: &Op, outcome: Outcome) {
        self.record(op.context.node, op.context.policy, What::Done { op: op.number, outcome });
    }

    /// Records what an operator who is being run is told of a counter.
    pub(super) fn amended(&self, counter: u64, amended: &Amended) {
        let context = self.with(|state| state.current);
        if context.by == By::Operator {
            let block = amended.block.filter(|block| block.holds(amended.at));
            let blocked = block.map_or(0, |block| block.until.since(amended.at).as_micros());
            self.record(context.node, context.policy, What::Amended { counter, blocked });
        }
    }

    /// Asks for whoever is being run to be run again then.
    pub(super) fn wake_at(&self, at: u64) {
        self.with(|state| {
            state.asked += 1;
            state.timers.push(Reverse((at, state.asked, state.current.task)));
        });
    }
}

// === impl State ===

impl State {
    /// The counters, as whoever is being run sees them.
    pub(super) fn counters(&mut self) -> &mut Counters {
        &mut self.sides[self.sees[usize::from(self.current.node)]]
    }

    /// What whoever is being run may have noticed.
    pub(super) fn changes(&self) -> Changes {
        let failovers = self.failovers[usize::from(self.current.node)];
        Changes { restarts: self.restarts, failovers }
    }

    /// The store begins anew, with nothing.
    pub(super) fn forget(&mut self) {
        self.sides.iter_mut().for_each(Counters::forget);
        self.restarts += 1;
    }

    /// Damages or repairs some counters.
    pub(super) fn mark(&mut self, mark: Mark, one_in: u64, first: u64) {
        self.sides.iter_mut().for_each(|side| side.mark(mark, one_in, first));
    }

    /// A replica takes over for some nodes, while the others go on with the old primary.
    pub(super) fn split(&mut self, away: u8) {
        self.sides[1] = self.sides[0].clone();
        for node in 0..NODES {
            self.sees[node] = usize::from(away >> node & 1);
            self.failovers[node] += u32::from(away >> node & 1);
        }
    }

    /// There is one primary again, with its own history, and that of the other is lost.
    pub(super) fn join(&mut self, kept: usize) {
        if kept == 1 {
            self.sides.swap(0, 1);
        }
        self.sides[1] = Counters::default();
        for node in 0..NODES {
            self.failovers[node] += u32::from(self.sees[node] != kept);
            self.sees[node] = 0;
        }
    }

    /// Whether there are two primaries.
    pub(super) fn is_split(&self) -> bool {
        self.sees.contains(&1)
    }

    /// The time of the store.
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
