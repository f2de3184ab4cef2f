//! G2–G4: the circuit of an upstream under loom: every interleaving of two threads that trip it, probe,
//! give up, or come late.
//!
//! Run by `cargo xtask test`, or by hand with
//! `RUSTFLAGS="--cfg loom" cargo test --release -p tidegate-engine --test loom_circuit`.

#![cfg(loom)]

use core::num::NonZeroU32;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;
use tidegate_core::{
    BreakerSettings, BreakerSignal, BreakerState, CallOutcome, Clock as _, Fleet as _, FleetStep,
    ManualClock, Motion, Span, Timestamp,
};
use tidegate_engine::circuit::{Circuit, CircuitCheck, Circuits};
use tidegate_engine::{MemoryFleet, ready};

type Shared<T> = std::sync::Arc<T>;

const WINDOW: Span = Span::from_secs(10);

/// A node with one circuit, and how often it has reported a change to each state.
struct Node {
    circuits: Circuits<MemoryFleet<Shared<ManualClock>>>,
    circuit: Shared<Circuit>,
    clock: Shared<ManualClock>,
    opened: Shared<core::sync::atomic::AtomicU64>,
}

impl Node {
    fn new(failures: u32) -> Arc<Self> {
        let start = Timestamp::from_micros(1_800_000_000_000_000);
        let clock = Shared::new(ManualClock::new(start));
        let opened = Shared::new(core::sync::atomic::AtomicU64::new(0));
        let counted = Shared::clone(&opened);
        let observe = move |_: &str, signal| {
            if let BreakerSignal::Changed(change) = signal
                && change.to == BreakerState::Open
            {
                counted.fetch_add(1, Ordering::Relaxed);
            }
        };
        let fleet = MemoryFleet::new(9, Shared::clone(&clock));
        let circuits = Circuits::new(fleet, 1, observe);
        let failures = NonZeroU32::new(failures).unwrap();
        let settings = BreakerSettings::try_new(failures, WINDOW, Span::from_secs(8)).unwrap();
        let circuit = circuits.circuit("up", settings, start).unwrap();
        Arc::new(Self { circuits, circuit, clock, opened })
    }

    /// A node whose circuit may be tried.
    fn half_open() -> Arc<Self> {
        let node = Self::new(1);
        node.call(CallOutcome::Failure);
        node.drive();
        node.clock.advance(WINDOW);
        node
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// A call that fails, if one passes.
    fn call(&self, outcome: CallOutcome) -> bool {
        match self.circuit.check(self.now()) {
            CircuitCheck::Pass(call) => {
                call.end(outcome, self.now());
                true
            }
            _ => false,
        }
    }

    fn drive(&self) {
        for _ in 0..4 {
            for duty in self.circuits.poll(self.now()) {
                ready(self.circuits.perform(duty, &self.clock)).unwrap();
            }
        }
    }

    fn lease(&self) -> CircuitCheck<'_> {
        ready(self.circuit.lease(self.circuits.fleet(), &self.clock)).unwrap()
    }

    fn opened(&self) -> u64 {
        self.opened.load(Ordering::Relaxed)
    }

    fn state(&self) -> BreakerState {
        self.circuit.state()
    }
}

fn explore(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.max_branches = 10_000;
    builder.check(model);
}

/// Runs `act` on another thread and `beside` on this one.
fn race(node: &Arc<Node>, act: impl Fn(&Node) + Send + 'static, beside: impl FnOnce(&Node)) {
    let theirs = Arc::clone(node);
    let thread = thread::spawn(move || act(&theirs));
    beside(node);
    thread.join().unwrap();
}

#[test]
fn g1_two_failures_at_once_trip_once() {
    explore(|| {
        let node = Node::new(2);
        let fail = |node: &Node| assert!(node.call(CallOutcome::Failure), "both have passed");
        race(&node, move |node| fail(node), fail);
        assert_eq!((node.state(), node.opened()), (BreakerState::Open, 1));
        assert!(!node.call(CallOutcome::Success), "nothing passes");
    });
}

#[test]
fn g4_the_result_of_a_call_from_before_is_ignored_beside_the_recovery() {
    explore(|| {
        let node = Node::new(1);
        let CircuitCheck::Pass(late) = node.circuit.check(node.now()) else { panic!("closed") };
        assert!(node.call(CallOutcome::Failure));
        node.drive();
        node.clock.advance(WINDOW);
        race(
            &node,
            |node| {
                if let CircuitCheck::Pass(probe) = node.lease() {
                    probe.end(CallOutcome::Success, node.now());
                }
                node.drive();
            },
            |node| late.end(CallOutcome::Failure, node.now()),
        );
        node.drive();
        assert_eq!((node.state(), node.opened()), (BreakerState::Closed, 1));
    });
}

#[test]
fn g1_a_success_beside_a_failure_loses_neither() {
    explore(|| {
        let node = Node::new(2);
        assert!(node.call(CallOutcome::Failure));
        race(
            &node,
            |node| {
                let _ = node.call(CallOutcome::Success);
            },
            |node| {
                let _ = node.call(CallOutcome::Failure);
            },
        );
        // In either order: reset and one counted, or tripped and then late.
        match node.state() {
            BreakerState::Closed => {
                assert!(node.call(CallOutcome::Failure));
                assert_eq!(node.opened(), 1, "one was counted, and is still");
            }
            state => assert_eq!((state, node.opened()), (BreakerState::Open, 1)),
        }
    });
}

#[test]
fn g2_t26_of_two_that_ask_for_the_lease_one_gets_it() {
    explore(|| {
        let node = Node::half_open();
        let probes = Arc::new(AtomicU64::new(0));
        let theirs = Arc::clone(&probes);
        let ask = |node: &Node, probes: &AtomicU64| {
            if let CircuitCheck::Pass(call) = node.lease() {
                assert!(call.is_probe());
                probes.fetch_add(1, Ordering::Relaxed);
                // It is under way until the end of the test.
                core::mem::forget(call);
            }
        };
        race(&node, move |node| ask(node, &theirs), |node| ask(node, &probes));
        assert_eq!(probes.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn g3_a_probe_that_is_cancelled_while_others_look_leaves_no_wedge() {
    explore(|| {
        let node = Node::half_open();
        race(
            &node,
            |node| drop(node.lease()),
            |node| {
                node.drive();
                drop(node.circuit.check(node.now()));
            },
        );
        node.drive();
        assert!(matches!(node.circuit.check(node.now()), CircuitCheck::Try));
        assert_eq!(node.state(), BreakerState::HalfOpen);
    });
}

#[test]
fn g3_a_request_that_goes_before_its_answer_leaves_no_wedge() {
    explore(|| {
        let node = Node::half_open();
        race(
            &node,
            |node| {
                // The fleet grants it, and nobody is there any more.
                if let Ok(request) = node.circuit.ask(node.now()) {
                    let _ = ready(node.circuits.fleet().agree("up", request.step())).unwrap();
                    drop(request);
                }
            },
            Node::drive,
        );
        node.drive();
        assert!(matches!(node.circuit.check(node.now()), CircuitCheck::Try));
    });
}

#[test]
fn g4_the_result_of_a_probe_whose_lease_is_over_is_ignored() {
    explore(|| {
        let node = Node::half_open();
        let CircuitCheck::Pass(late) = node.lease() else { panic!("the lease is free") };
        // Another node has the lease by now, and its probe has failed: a trip in a later generation.
        node.clock.advance(Span::from_secs(9));
        let seen = node.circuit.generation();
        let trip = FleetStep { seen, motion: Motion::Trip { window: WINDOW } };
        let _ = ready(node.circuits.fleet().agree("up", trip)).unwrap();
        race(&node, Node::drive, |node| late.end(CallOutcome::Success, node.now()));
        node.drive();
        drop(node.lease());
        node.drive();
        assert_ne!(node.state(), BreakerState::Closed, "it was late");
    });
}
