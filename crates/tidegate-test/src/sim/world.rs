//! A fleet, its clients and its store, in virtual time.
//!
//! Requests and probes are futures. A task that waits for the store says when the answer comes;
//! time then moves from one such instant to the next, and to those at which a prober is due.
//! Nothing sleeps, and nothing depends on anything but the schedule and its seed.

mod time;

use core::pin::Pin;
use core::task::Waker;
use std::sync::Arc;

use super::checks::{Broken, Checks};
use super::fault::{Fault, Way};
use super::hub::{self, Hub, LAST_POLICY, NODES, POLICIES};
use super::log::RunLog;
use super::node::{self, Node};
use super::policies;
use super::rng::mix;
use super::step::{Client, OperatorVerb, Over, SimStep};
use super::trace::{Observation, StoreErrand, Truth, What};

/// The whole simulation: nodes, tasks, store and checks.
pub struct World {
    hub: Arc<Hub>,
    nodes: Vec<Node>,
    lives: u32,
    keys: u64,
    tasks: Vec<Option<Task>>,
    free: Vec<u32>,
    waker: &'static Waker,
    requests: u32,
    tickets: Vec<Ticket>,
    checks: Checks,
    records: Vec<Observation>,
    /// The log of decisions and signals, for comparisons.
    pub(super) log: RunLog,
}

/// A request, a probe, a settlement or an operator's call under way.
struct Task {
    future: Pin<Box<dyn Future<Output = Option<String>>>>,
    context: hub::Context,
}

#[derive(Clone, Debug)]
struct Ticket {
    node: u8,
    policy: u8,
    text: String,
}

/// How a run differs from the usual run of its seed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Variant {
    /// Whether counters have other digests.
    pub other_digests: bool,
    /// The policy whose store never works.
    pub broken: Option<u8>,
    /// Whether every record is kept.
    pub keeps_trace: bool,
}

/// `Ok` if the properties still hold, or the one that is broken.
type Holds = Result<(), Broken>;

// === impl World ===

impl World {
    /// A world in which nothing has happened yet.
    ///
    /// # Panics
    ///
    /// Never, with the policies of the simulation.
    #[must_use]
    pub fn new(seed: u64, nodes: usize, variant: Variant) -> Self {
        let nodes = nodes.clamp(1, NODES);
        let hub = Arc::new(Hub::new(seed, variant.broken));
        let keys = mix(seed ^ u64::from(variant.other_digests));
        let mut world = Self {
            checks: Checks::new(policies::laws(), nodes, 0).counting(policies::QUOTA),
            hub,
            nodes: Vec::new(),
            lives: 0,
            keys,
            tasks: Vec::new(),
            free: Vec::new(),
            waker: Waker::noop(),
            requests: 0,
            tickets: Vec::new(),
            records: Vec::new(),
            log: RunLog::new(variant.keeps_trace),
        };
        world.tell_clock();
        for number in 0..nodes {
            let number = u8::try_from(number).unwrap_or(0);
            world.nodes.push(Node::start(&world.hub, number, 0, keys));
            world.tell_truth(number);
        }
        world
    }

    /// Makes one event happen.
    ///
    /// # Errors
    ///
    /// The property that the event breaks.
    pub fn step(&mut self, step: &SimStep) -> Result<(), Broken> {
        self.act(step)?;
        // Everything that is due at this instant happens now.
        self.run_until(self.hub.now())?;
        let asked = usize::try_from(self.log.steps % self.nodes.len() as u64).unwrap_or(0);
        self.log.steps += 1;
        self.ask_standing(asked)
    }

    /// Lets everything that is under way end.
    ///
    /// # Errors
    ///
    /// The property that is broken.
    pub fn finish(&mut self) -> Result<(), Broken> {
        let end = self.hub.now() + 3_000_000;
        self.run_until(end)?;
        self.checks.finish(end)
    }

    fn act(&mut self, step: &SimStep) -> Holds {
        let now = self.hub.now();
        match *step {
            SimStep::Ask { node, policy, client, peek } => self.ask(node, policy, client, peek),
            SimStep::Flood { node, policy, count, over, client } => {
                self.flood(node, policy, count, over, client)
            }
            SimStep::Break { nodes, policies, fault } => {
                self.set_fault(nodes, policies, fault);
                Ok(())
            }
            SimStep::Wait(micros) => self.run_until(now + micros),
            SimStep::WaitDue => self.wait_due(),
            SimStep::WaitEdge { of, after, off } => self.wait_edge(of, after, off),
            SimStep::Jump(micros) => {
                let set = |state: &mut hub::State| {
                    // The clock of the store never shows a time long before the simulation began.
                    let ahead = state.store_ahead.saturating_add_signed(micros);
                    state.store_ahead = ahead.max(hub::EPOCH - 100_000_000_000);
                };
                self.hub.with(set);
                self.tell_clock();
                Ok(())
            }
            SimStep::Settle(back) => self.settle(back),
            SimStep::Leave(back) => self.leave(back),
            SimStep::Reload { node, without } => self.reload(node, without),
            SimStep::Restart(node) => self.restart(node),
            SimStep::Forget => {
                self.hub.with(hub::State::forget);
                self.hub.record(0, 0, What::Forgets);
                Ok(())
            }
            SimStep::Spoil { mark, one_in, first } => {
                self.hub.with(|state| state.mark(mark, one_in, first));
                Ok(())
            }
            SimStep::Poll(node) => self.poll(usize::from(node) % self.nodes.len()),
            SimStep::Operate { node, policy, client, verb } => {
                self.operate(node, policy, client, verb)
            }
            SimStep::Split(away) => {
                if !self.hub.with(|state| state.is_split()) {
                    self.hub.with(|state| state.split(away));
                    let primaries = self.hub.with(|state| 1 + u8::from(state.is_split()));
                    self.hub.record(0, 0, What::Primaries(primaries));
                }
                Ok(())
            }
            SimStep::Join(kept) => {
                if self.hub.with(|state| state.is_split()) {
                    self.hub.with(|state| state.join(usize::from(kept & 1)));
                    self.hub.record(0, 0, What::Primaries(1));
                }
                Ok(())
            }
        }
    }

    fn ask(&mut self, node: u8, policy: u8, client: Client, peek: bool) -> Holds {
        let place = usize::from(node) % self.nodes.len();
        let (node, policy) = (self.nodes[place].number, policy.min(LAST_POLICY));
        self.requests += 1;
        let request = self.requests;
        let engine = (node, Arc::clone(&self.nodes[place].engine));
        let future = node::request(Arc::clone(&self.hub), engine, policy, (request, client, peek));
        self.spawn(node, policy, StoreErrand::Request(request), Box::pin(future))
    }

    fn operate(&mut self, node: u8, policy: u8, client: Client, verb: OperatorVerb) -> Holds {
        let place = usize::from(node) % self.nodes.len();
        let (node, policy) = (self.nodes[place].number, policy.min(LAST_POLICY));
        let engine = Arc::clone(&self.nodes[place].engine);
        let future = node::operate(engine, policy, client, verb);
        self.spawn(node, policy, StoreErrand::Operator, Box::pin(future))
    }

    /// Records the time of the store's clock.
    fn tell_clock(&self) {
        let ahead = self.hub.with(|state| state.store_ahead);
        self.hub.record(0, 0, What::Clock(ahead));
    }

    fn flood(&mut self, node: u8, policy: u8, count: u32, over: Over, client: Client) -> Holds {
        for number in 0..count {
            self.ask(node, policy, client.other(over, number), false)?;
        }
        Ok(())
    }

    fn settle(&mut self, back: u16) -> Holds {
        let Some(place) = self.tickets.len().checked_sub(1 + usize::from(back)) else {
            return Ok(());
        };
        let ticket = self.tickets.remove(place);
        let Some(node) = self.nodes.get(usize::from(ticket.node)) else { return Ok(()) };
        let engine = Arc::clone(&node.engine);
        let text = ticket.text;
        let future = async move {
            // It may be too late, or the store may be away: the client was admitted all the same.
            let _ = engine.settle(&text, 0).await;
            None
        };
        self.spawn(ticket.node, ticket.policy, StoreErrand::Host, Box::pin(future))
    }

    fn leave(&mut self, back: u16) -> Holds {
        let waits = |task: &Option<Task>| {
            task.as_ref().is_some_and(|task| matches!(task.context.by, StoreErrand::Request(_)))
        };
        let waiting: Vec<usize> =
            (0..self.tasks.len()).filter(|at| waits(&self.tasks[*at])).collect();
        let Some(place) = waiting.len().checked_sub(1 + usize::from(back)) else { return Ok(()) };
        self.drop_task(waiting[place]);
        self.drain()
    }

    fn drop_task(&mut self, place: usize) {
        let Some(task) = self.tasks[place].take() else { return };
        // The slot is not given to other tasks: a timer may still point to it.
        if let StoreErrand::Request(request) = task.context.by {
            self.hub.record(task.context.node, task.context.policy, What::Gone { request });
        }
    }

    fn set_fault(&mut self, nodes: u8, policies: u8, fault: Fault) {
        let now = self.hub.now();
        let of_nodes: Vec<u8> = self
            .nodes
            .iter()
            .map(|node| node.number)
            .filter(|node| nodes >> node & 1 == 1)
            .collect();
        for node in of_nodes {
            self.hub.with(|state| {
                for policy in (0..POLICIES).filter(|policy| policies >> policy & 1 == 1) {
                    let treatment = &mut state.faults[usize::from(node)][policy];
                    (treatment.fault, treatment.since) = (fault, now);
                }
            });
            self.tell_truth(node);
        }
        if fault.way == Way::Works {
            self.log.healed(now);
        }
    }

    fn tell_truth(&self, node: u8) {
        for policy in 0..POLICIES {
            let truth = self.hub.with(|state| match state.broken == u8::try_from(policy).ok() {
                true => Truth::Bad,
                false => state.faults[usize::from(node)][policy].fault.truth(),
            });
            self.hub.record(node, u8::try_from(policy).unwrap_or(0), What::Truth(truth));
        }
    }

    /// Puts other policies in force on a node. Requests under way are waited for first, because
    /// nothing is promised about a policy that is gone.
    fn reload(&mut self, node: u8, without: Option<u8>) -> Holds {
        let place = usize::from(node) % self.nodes.len();
        self.run_until(self.hub.now() + 1_000_000)?;
        let node = &mut self.nodes[place];
        let left_out = without.map_or(0, |policy| 1 << policy.min(LAST_POLICY));
        node.in_force = policies::ALL & !left_out;
        node.due = None;
        let reloaded = node.engine.reload(&policies::builder(node.in_force));
        reloaded.expect("the policies of the simulation are valid");
        self.hub.record(node.number, 0, What::InForce(node.in_force));
        self.drain()
    }

    fn restart(&mut self, node: u8) -> Holds {
        let place = usize::from(node) % self.nodes.len();
        let number = self.nodes[place].number;
        for task in 0..self.tasks.len() {
            if self.tasks[task].as_ref().is_some_and(|task| task.context.node == number) {
                self.drop_task(task);
            }
        }
        self.tickets.retain(|ticket| ticket.node != number);
        self.lives += 1;
        self.nodes[place] = Node::start(&self.hub, number, self.lives, self.keys);
        self.tell_truth(number);
        self.drain()
    }

    fn ask_standing(&mut self, place: usize) -> Holds {
        let node = &mut self.nodes[place];
        node.due = None;
        for policy in 0..POLICIES {
            if node.in_force >> policy & 1 == 1
                && let Some(standing) = node.standing(policies::NAMES[policy])
            {
                let policy = u8::try_from(policy).unwrap_or(0);
                self.hub.record(node.number, policy, What::Stood(standing));
            }
        }
        self.drain()
    }
}
