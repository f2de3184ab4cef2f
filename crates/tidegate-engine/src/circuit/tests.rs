//! G1–G4: what requests meet on a circuit, one step after the other. Threads are raced under loom.

use core::num::NonZeroU32;
use core::pin::pin;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use core::task::{Context, Waker};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use tidegate_core::{
    Agreed, BreakerCause, BreakerChange, BreakerSettings, BreakerSignal, BreakerState, CallOutcome,
    Changed, Clock, Cursor, FLEET_POLL_EVERY, Fleet, FleetError, FleetStep, Forced, ManualClock,
    Motion, Span, Timestamp,
};

use super::{Circuit, CircuitCall, CircuitCheck, Circuits};
use crate::{MemoryFleet, ready};

const WINDOW: Span = Span::from_secs(10);
const LEASE: Span = Span::from_secs(8);

/// A fleet that other nodes share, that can be cut off, and that counts what it is asked.
struct Line {
    inner: Arc<MemoryFleet<Arc<ManualClock>>>,
    is_cut: AtomicBool,
    /// Whether answers get lost on their way.
    is_silent: AtomicBool,
    steps: AtomicU64,
    questions: AtomicU64,
}

impl Fleet for Line {
    fn name(&self) -> &'static str {
        "line"
    }

    async fn agree(&self, name: &str, step: FleetStep) -> Result<Agreed, FleetError> {
        self.steps.fetch_add(1, Relaxed);
        if self.is_cut.load(Relaxed) {
            return Err(FleetError::Unavailable);
        }
        let agreed = self.inner.agree(name, step).await;
        if self.is_silent.load(Relaxed) {
            core::future::pending::<()>().await;
        }
        agreed
    }

    async fn changed_since(&self, cursor: Cursor) -> Result<Changed, FleetError> {
        self.questions.fetch_add(1, Relaxed);
        if self.is_cut.load(Relaxed) {
            return Err(FleetError::Unavailable);
        }
        self.inner.changed_since(cursor).await
    }
}

/// One node of a fleet, and what it has reported.
struct Node {
    circuits: Circuits<Line>,
    circuit: Arc<Circuit>,
    clock: Arc<ManualClock>,
    reports: Arc<std::sync::Mutex<Vec<BreakerSignal>>>,
}

fn settings(failures: u32) -> BreakerSettings {
    let failures = NonZeroU32::new(failures).unwrap();
    BreakerSettings::try_new(failures, WINDOW, LEASE).unwrap()
}

/// Some nodes that guard the same upstream, with this threshold.
fn nodes<const N: usize>(failures: u32) -> [Node; N] {
    let clock = Arc::new(ManualClock::new(Timestamp::from_micros(1_800_000_000_000_000)));
    let inner = Arc::new(MemoryFleet::new(9, Arc::clone(&clock)));
    core::array::from_fn(|node| {
        let line = Line {
            inner: Arc::clone(&inner),
            is_cut: AtomicBool::new(false),
            is_silent: AtomicBool::new(false),
            steps: AtomicU64::new(0),
            questions: AtomicU64::new(0),
        };
        let reports = Arc::default();
        let theirs: Arc<std::sync::Mutex<Vec<BreakerSignal>>> = Arc::clone(&reports);
        let observe = move |name: &str, signal| {
            assert_eq!(name, "up");
            theirs.lock().unwrap().push(signal);
        };
        let circuits = Circuits::new(line, node as u64 + 1, observe);
        let circuit = circuits.circuit("up", settings(failures), clock.now()).unwrap();
        Node { circuits, circuit, clock: Arc::clone(&clock), reports }
    })
}

// === impl Node ===

impl Node {
    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Does everything that is due, and what follows from it.
    fn drive(&self) {
        for _ in 0..9 {
            let duties = self.circuits.poll(self.now());
            if duties.is_empty() {
                return;
            }
            for duty in duties {
                ready(self.circuits.perform(duty, &self.clock)).expect("nothing waits here");
            }
        }
        panic!("there is always something to do");
    }

    /// Lets the time of a question for changes come, and does everything that is due.
    fn hear(&self) {
        self.clock.advance(FLEET_POLL_EVERY);
        self.drive();
    }

    fn pass(&self) -> CircuitCall<'_> {
        match self.circuit.check(self.now()) {
            CircuitCheck::Pass(call) => call,
            other => panic!("{other:?}"),
        }
    }

    fn fail(&self) {
        self.pass().end(CallOutcome::Failure, self.now());
    }

    fn lease(&self) -> CircuitCheck<'_> {
        ready(self.circuit.lease(self.circuits.fleet(), &self.clock)).expect("nothing waits here")
    }

    fn probe(&self) -> CircuitCall<'_> {
        assert!(matches!(self.circuit.check(self.now()), CircuitCheck::Try));
        match self.lease() {
            CircuitCheck::Pass(call) if call.is_probe() => call,
            other => panic!("{other:?}"),
        }
    }

    fn is_try(&self) -> bool {
        matches!(self.circuit.check(self.now()), CircuitCheck::Try)
    }

    fn is_wait(&self) -> bool {
        matches!(self.circuit.check(self.now()), CircuitCheck::Wait(_))
    }

    fn changes(&self) -> Vec<(BreakerState, BreakerState, BreakerCause)> {
        let of = |signal: &BreakerSignal| match signal {
            BreakerSignal::Changed(BreakerChange { from, to, cause, .. }) => {
                Some((*from, *to, *cause))
            }
            _ => None,
        };
        self.reports.lock().unwrap().iter().filter_map(of).collect()
    }

    fn told_alone(&self) -> usize {
        let reports = self.reports.lock().unwrap();
        reports.iter().filter(|it| matches!(it, BreakerSignal::Alone { .. })).count()
    }
}

#[test]
fn g1_failures_in_a_row_open_the_circuit_and_the_fleet_hears_of_it() {
    let [node, other] = nodes(3);
    node.fail();
    node.fail();
    node.pass().end(CallOutcome::Success, node.now());
    node.pass().end(CallOutcome::Neutral, node.now());
    node.fail();
    node.fail();
    assert_eq!(node.circuit.state(), BreakerState::Closed, "they were not in a row");
    node.fail();
    assert!(node.is_wait());
    node.drive();
    let opened = (BreakerState::Closed, BreakerState::Open, BreakerCause::Tripped);
    assert_eq!(node.changes(), [opened]);
    other.hear();
    assert!(other.is_wait(), "adopted with the next question");
    let adopted = (BreakerState::Closed, BreakerState::Open, BreakerCause::Adopted);
    assert_eq!(other.changes(), [adopted]);
}

#[test]
fn a_success_on_a_closed_circuit_takes_no_lock_and_writes_nothing() {
    let [node] = nodes(3);
    let (done, ended) = channel();
    let held = node.circuit.held.lock().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for outcome in [CallOutcome::Success, CallOutcome::Neutral] {
                node.pass().end(outcome, node.now());
            }
            drop(node.pass());
            done.send(()).unwrap();
        });
        let ended = ended.recv_timeout(Duration::from_secs(10));
        drop(held);
        assert!(ended.is_ok(), "it waits for the lock");
    });
    assert_eq!(node.circuit.word.load(Relaxed), 0, "as it was made");
    // One failure is counted; the next success resets it, and the one after that has nothing to do.
    node.fail();
    assert_ne!(node.circuit.word.load(Relaxed), 0);
    node.pass().end(CallOutcome::Success, node.now());
    assert_eq!(node.circuit.word.load(Relaxed), 0);
}

#[test]
fn g4_the_result_of_a_call_from_before_is_ignored() {
    let [node] = nodes(1);
    let [late, later] = [node.pass(), node.pass()];
    node.fail();
    late.end(CallOutcome::Success, node.now());
    assert!(node.is_wait(), "a late success closes nothing");
    node.drive();
    node.clock.advance(WINDOW);
    node.probe().end(CallOutcome::Success, node.now());
    node.drive();
    later.end(CallOutcome::Failure, node.now());
    assert_eq!(node.circuit.state(), BreakerState::Closed, "a late failure opens nothing");
}

#[test]
fn g2_one_request_of_one_node_probes() {
    let [node, other] = nodes(1);
    node.fail();
    node.drive();
    other.hear();
    node.clock.advance(WINDOW);
    let probe = node.probe();
    assert!(probe.lease().is_some_and(|lease| lease.is_agreed()));
    assert!(node.is_wait(), "the second of the same node");
    assert!(other.is_try(), "it has not heard of the lease");
    assert!(matches!(other.lease(), CircuitCheck::Wait(_)), "and now it has");
    assert!(other.is_wait());
    probe.end(CallOutcome::Success, node.now());
    node.drive();
    assert_eq!(node.circuit.state(), BreakerState::Closed);
    other.hear();
    assert_eq!(other.circuit.state(), BreakerState::Closed);
}

#[test]
fn g3_a_probe_that_is_dropped_or_panics_gives_its_lease_back() {
    let [node] = nodes(1);
    node.fail();
    node.drive();
    node.clock.advance(WINDOW);
    let mut last = 0;
    for round in 0..6 {
        let probe = node.probe();
        let generation = node.circuit.generation();
        assert!(generation > last, "every lease is a generation");
        last = generation;
        if round % 2 == 0 {
            drop(probe);
        } else {
            let panicked = catch_unwind(AssertUnwindSafe(|| {
                let _probe = probe;
                panic!("in the middle of a call");
            }));
            assert!(panicked.is_err());
        }
        node.drive();
        assert!(node.is_try(), "the lease is free again");
    }
    let undecided = |it: &BreakerSignal| matches!(it, BreakerSignal::Undecided { .. });
    assert_eq!(node.reports.lock().unwrap().iter().filter(|it| undecided(it)).count(), 1);
}

#[test]
fn g3_a_request_that_is_gone_before_it_has_its_lease_leaves_no_wedge() {
    let [node, other] = nodes(1);
    node.fail();
    node.drive();
    node.clock.advance(WINDOW);
    node.circuits.fleet().is_silent.store(true, Relaxed);
    {
        let mut waiting = pin!(node.circuit.lease(node.circuits.fleet(), &node.clock));
        let mut context = Context::from_waker(Waker::noop());
        assert!(waiting.as_mut().poll(&mut context).is_pending(), "granted, and not heard of");
        assert!(node.is_wait(), "one at a time");
    }
    node.circuits.fleet().is_silent.store(false, Relaxed);
    node.drive();
    assert!(node.is_try(), "it was given back");
    assert_eq!(node.told_alone(), 0, "and the fleet is not blamed");
    other.hear();
    drop(other.probe());
}

#[test]
fn g3_t26_a_hundred_thousand_cancelled_probes_leave_no_wedge() {
    let [node] = nodes(1);
    node.fail();
    node.drive();
    node.clock.advance(WINDOW);
    for _ in 0..100_000 {
        drop(node.probe());
        node.drive();
    }
    node.probe().end(CallOutcome::Success, node.now());
    node.drive();
    assert_eq!(node.circuit.state(), BreakerState::Closed);
}

#[test]
fn g2_without_the_fleet_each_node_probes_alone_once_and_says_so_once() {
    let [node] = nodes(1);
    node.circuits.fleet().is_cut.store(true, Relaxed);
    node.fail();
    node.drive();
    node.clock.advance(WINDOW);
    let probe = node.probe();
    assert!(probe.lease().is_some_and(|lease| !lease.is_agreed()));
    for _ in 0..20 {
        assert!(node.is_wait());
        assert!(matches!(node.lease(), CircuitCheck::Wait(_)));
        node.hear();
    }
    probe.end(CallOutcome::Success, node.now());
    assert_eq!(node.circuit.state(), BreakerState::Closed);
    assert_eq!(node.told_alone(), 1);
}

#[test]
fn many_circuits_ask_for_changes_with_one_question() {
    let [node, other] = nodes(1);
    for it in 0..100 {
        node.circuits.circuit(&format!("c{it}"), settings(1), node.now()).unwrap();
    }
    for _ in 0..40 {
        node.clock.advance(Span::from_millis(25));
        node.drive();
    }
    let questions = node.circuits.fleet().questions.load(Relaxed);
    assert!((4..=5).contains(&questions), "{questions} in a second");
    assert_eq!(node.circuits.fleet().steps.load(Relaxed), 0, "and nothing else");
    // One that is made later hears what was agreed before.
    other.fail();
    other.drive();
    node.hear();
    node.circuits.remove("up");
    assert!(node.circuits.get("up").is_none());
    let anew = node.circuits.circuit("up", settings(1), node.now()).unwrap();
    assert!(matches!(anew.check(node.now()), CircuitCheck::Pass(_)), "it has heard nothing yet");
    node.hear();
    assert!(matches!(anew.check(node.now()), CircuitCheck::Wait(_)));
    assert!(node.circuits.circuit("no name", settings(1), node.now()).is_none());
}

#[test]
fn a_duty_that_is_dropped_comes_again() {
    let [node] = nodes(1);
    node.fail();
    let urgent = |node: &Node| ready(node.circuits.woken()).is_some();
    assert!(urgent(&node), "the trip is to be told at once");
    drop(node.circuits.poll(node.now()));
    assert!(urgent(&node), "nobody has performed it");
    drop(node.circuits.perform(node.circuits.poll(node.now()).remove(0), &node.clock));
    assert!(urgent(&node), "nor begun to");
    node.circuits.fleet().is_silent.store(true, Relaxed);
    {
        let trip = node.circuits.poll(node.now()).remove(0);
        assert!(!urgent(&node));
        let mut performed = pin!(node.circuits.perform(trip, &node.clock));
        let mut context = Context::from_waker(Waker::noop());
        assert!(performed.as_mut().poll(&mut context).is_pending());
    }
    node.circuits.fleet().is_silent.store(false, Relaxed);
    assert!(urgent(&node));
    node.drive();
    assert_eq!(node.circuits.fleet().steps.load(Relaxed), 2, "the same step again");
    assert!(ready(node.circuits.woken()).is_none(), "nothing is left to be told");
}

#[test]
fn an_operator_forces_a_circuit_and_lifts_it() {
    let [node] = nodes(1);
    let operate = |motion| {
        let step = FleetStep { seen: node.circuit.generation(), motion };
        ready(node.circuits.fleet().agree("up", step)).unwrap().unwrap();
        node.hear();
    };
    operate(Motion::Force(Forced::Open));
    assert!(node.is_wait());
    operate(Motion::Force(Forced::Closed));
    for _ in 0..9 {
        node.fail();
    }
    assert_eq!(node.circuit.state(), BreakerState::ForcedClosed, "failures do not count");
    operate(Motion::Lift);
    node.fail();
    assert_eq!(node.circuit.state(), BreakerState::Open);
}
