//! Some nodes on one store, and time that passes by command.

use core::future::{Future, poll_fn};
use core::pin::Pin;
use core::task::Poll;
use std::sync::Arc;

use tidegate_core::{Clock as _, ManualClock, Mode, Span, Timestamp};
use tidegate_test::sim::trace::{Truth, What};

use crate::node::Node;
use crate::policies;
use crate::tape::Tape;

/// When all worlds begin.
const START: Timestamp = Timestamp::from_micros(1_000_000_000);

/// A fleet.
pub(crate) struct World {
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) tape: Arc<Tape>,
    pub(crate) nodes: Vec<Node>,
}

// === impl World ===

impl World {
    /// A world in which every node has found its store to work, by a probe.
    ///
    /// # Panics
    ///
    /// If the store does not work.
    pub(crate) async fn proven(url: &str, nodes: u8) -> Self {
        let clock = Arc::new(ManualClock::new(START));
        let laws = policies::laws(&policies::set());
        let tape = Arc::new(Tape::new(Arc::clone(&clock), laws, nodes.into()));
        let nodes = (0..nodes).map(|number| Node::new(url, number, &clock, &tape)).collect();
        let world = Self { clock, tape, nodes };
        world.truth(Truth::Good);
        world.probe().await;
        world.all_stand(Mode::Normal);
        world
    }

    /// What is known from outside: from now on this is how the store treats everybody.
    pub(crate) fn truth(&self, truth: Truth) {
        for node in 0..self.nodes.len() {
            for policy in policies::ALL {
                let node = u8::try_from(node).unwrap();
                self.tape.record(node, policy, What::Truth(truth));
            }
        }
    }

    /// Makes the probes that are due, all at once.
    async fn probe(&self) {
        let now = self.clock.now();
        let due = self.nodes.iter().flat_map(|node| {
            let probes = node.poll(now);
            probes.into_iter().map(move |due| node.probe(due))
        });
        all(due.collect()).await;
        self.nodes.iter().for_each(Node::stand);
        self.tape.holds();
    }

    /// Lets time pass, with probes when they are due.
    pub(crate) async fn pass(&self, span: Span) {
        let end = self.clock.now().after(span);
        loop {
            let due = self.nodes.iter().filter_map(|node| node.engine.next_poll()).min();
            let Some(due) = due.filter(|due| *due <= end) else { break };
            self.clock.set(due.max(self.clock.now()));
            self.probe().await;
        }
        self.clock.set(end);
        self.nodes.iter().for_each(Node::stand);
        self.tape.holds();
    }

    /// Lets time pass until everything stands like this; how long that took.
    ///
    /// # Panics
    ///
    /// If it takes longer than that.
    pub(crate) async fn until(&self, mode: Mode, at_most: Span) -> Span {
        let began = self.clock.now();
        while !self.is_all(mode) {
            let passed = self.clock.now().since(began);
            let trouble = self.nodes[0].trouble();
            assert!(passed < at_most, "not {mode:?} within {at_most:?}: {trouble}");
            self.pass(Span::SECOND).await;
        }
        self.clock.now().since(began)
    }

    pub(crate) fn is_all(&self, mode: Mode) -> bool {
        let stands = |node: &Node| policies::ALL.iter().all(|policy| node.mode(*policy) == mode);
        self.nodes.iter().all(stands)
    }

    /// # Panics
    ///
    /// If any policy on any node stands otherwise.
    pub(crate) fn all_stand(&self, mode: Mode) {
        for node in &self.nodes {
            for policy in policies::ALL {
                let name = policies::NAMES[usize::from(policy)];
                assert_eq!(node.mode(policy), mode, "{name}: {}", node.trouble());
            }
        }
    }

    /// Virtual time since something.
    pub(crate) fn since(&self, earlier: Timestamp) -> Span {
        self.clock.now().since(earlier)
    }
}

/// Runs all of them at once, on this task; their results, in order.
pub(crate) async fn all<T>(futures: Vec<impl Future<Output = T>>) -> Vec<T> {
    let mut waiting: Vec<_> = futures.into_iter().map(|future| (Box::pin(future), None)).collect();
    poll_fn(|context| {
        for (future, result) in &mut waiting {
            if result.is_none()
                && let Poll::Ready(done) = Pin::as_mut(future).poll(context)
            {
                *result = Some(done);
            }
        }
        match waiting.iter().all(|(_, result)| result.is_some()) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    })
    .await;
    waiting.into_iter().filter_map(|(_, result)| result).collect()
}
