//! Time and the executor: a task that waits is run again at the instant it has asked for.

use core::cmp::Reverse;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::sync::Arc;

use super::{Holds, Task, Ticket, World};
use crate::sim::hub;
use crate::sim::node::{self, Node};
use crate::sim::policies;
use crate::sim::step::Landmark;
use crate::sim::trace::StoreErrand;

// === impl World ===

impl World {
    pub(super) fn wait_due(&mut self) -> Holds {
        match self.next_due() {
            Some(due) => self.run_until(due),
            None => self.run_until(self.hub.now() + 1_000_000),
        }
    }

    pub(super) fn wait_edge(&mut self, of: Landmark, after: u64, off: u8) -> Holds {
        let Some(since) = self.log.landmark(of) else { return Ok(()) };
        let at = (since + after * 1_000_000 + u64::from(off)).saturating_sub(1);
        if at > self.hub.now() { self.run_until(at) } else { Ok(()) }
    }

    fn next_due(&mut self) -> Option<u64> {
        let timer = self.hub.with(|state| state.timers.peek().map(|Reverse((at, ..))| *at));
        let polls = self.nodes.iter_mut().filter_map(Node::next_poll);
        polls.chain(timer).min()
    }

    /// Lets time pass until `end`, and runs everything that is due meanwhile.
    pub(super) fn run_until(&mut self, end: u64) -> Holds {
        loop {
            let now = self.hub.now();
            let timer = self.hub.with(|state| match state.timers.peek() {
                Some(Reverse((at, ..))) if *at <= now => state.timers.pop(),
                _ => None,
            });
            if let Some(Reverse((_, _, task))) = timer {
                self.resume(task)?;
                continue;
            }
            let due = |node: &mut Node| node.next_poll().is_some_and(|due| due <= now);
            if let Some(place) = self.nodes.iter_mut().position(due) {
                self.poll(place)?;
                continue;
            }
            let next = self.next_due().filter(|next| *next <= end).unwrap_or(end);
            if next <= now {
                return Ok(());
            }
            self.log.pass(next - now);
            self.hub.set_now(next);
        }
    }

    /// Polls the engine of a node, and starts the probes that are due.
    pub(super) fn poll(&mut self, place: usize) -> Holds {
        let node = &mut self.nodes[place];
        node.due = None;
        let now = node.time(self.hub.now());
        let (engine, number) = (Arc::clone(&node.engine), node.number);
        let due = engine.poll(now);
        self.drain()?;
        for due in due {
            let name = due.policy().as_str();
            let policy = policies::NAMES.iter().position(|known| *known == name).unwrap_or(0);
            let engine = Arc::clone(&engine);
            let future = async move {
                engine.probe(due).await;
                None
            };
            let policy = u8::try_from(policy).unwrap_or(0);
            self.spawn(number, policy, StoreErrand::Probe, Box::pin(future))?;
        }
        Ok(())
    }

    pub(super) fn spawn(
        &mut self,
        node: u8,
        policy: u8,
        by: StoreErrand,
        future: Pin<Box<dyn Future<Output = Option<String>>>>,
    ) -> Holds {
        let task = self.free.pop().unwrap_or_else(|| {
            self.tasks.push(None);
            u32::try_from(self.tasks.len() - 1).unwrap_or(u32::MAX)
        });
        let context = hub::Context { task, node, policy, by };
        self.tasks[task as usize] = Some(Task { future, context });
        self.resume(task)
    }

    fn resume(&mut self, number: u32) -> Holds {
        let place = number as usize;
        let Some(task) = self.tasks[place].as_mut() else { return Ok(()) };
        let context = task.context;
        self.hub.with(|state| state.current = context);
        let polled = task.future.as_mut().poll(&mut Context::from_waker(self.waker));
        if let Some(node) = self.nodes.get_mut(usize::from(context.node)) {
            node.due = None;
        }
        if let Poll::Ready(text) = polled {
            self.tasks[place] = None;
            self.free.push(number);
            if let Some(text) = text {
                if self.tickets.len() >= node::TICKETS {
                    self.tickets.remove(0);
                }
                let (node, policy) = (context.node, context.policy);
                self.tickets.push(Ticket { node, policy, text });
            }
        }
        self.drain()
    }

    /// Checks and logs the records made since the last call.
    pub(super) fn drain(&mut self) -> Holds {
        let mut records = core::mem::take(&mut self.records);
        self.hub.with(|state| core::mem::swap(&mut state.records, &mut records));
        for record in &records {
            self.log.push(record);
            self.checks.push(record)?;
        }
        records.clear();
        self.records = records;
        Ok(())
    }
}
