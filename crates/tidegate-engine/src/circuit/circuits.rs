//! All circuits of a node, and what they have to do with their fleet.
//!
//! Nothing here has a clock, a timer or a thread. The host polls with the time in its hand, and performs
//! what has to be done; requests do not wait for any of it.

use core::fmt;
use core::future::poll_fn;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use tidegate_core::{
    Accord, Breaker, BreakerSettings, BreakerSignal, Changed, Clock, Cursor, FLEET_POLL_EVERY,
    Fleet, FleetCall, Timestamp, is_fleet_name,
};

use super::Circuit;
use super::call::LeaseRequest;
use super::panel::Panel;
use crate::sync::Mutex;

/// All circuits of a node, on one fleet.
pub struct Circuits<F> {
    fleet: F,
    /// This node, as it signs its leases.
    node: u64,
    panel: Arc<Panel>,
    /// As many as the host has upstreams.
    circuits: RwLock<HashMap<Arc<str>, Arc<Circuit>>>,
    following: Mutex<Following>,
}

/// How far this node has followed the changes of its fleet.
#[derive(Debug)]
struct Following {
    cursor: Cursor,
    /// Whether to begin from the start, because there is a circuit that has heard nothing yet.
    is_anew: bool,
    asked_at: Option<Timestamp>,
    /// The number of the last question. An answer to an earlier one is late, and ignored.
    number: u64,
}

/// Something that has to be done for the circuits of a node, with [`Circuits::perform`]. One that is dropped
/// before it is done is returned by the next poll.
#[derive(Debug)]
#[must_use = "nothing is done before it is performed"]
pub struct Duty(Option<Work>);

#[derive(Debug)]
enum Work {
    /// A circuit has something to tell the fleet.
    Call(Arc<Circuit>, FleetCall),
    /// The fleet is to be asked what has changed.
    Follow { number: u64 },
}

/// The most pages of changes that are read at once. The rest follows with the next question.
const PAGES: usize = 1_000;

// === impl Circuits ===

impl<F: Fleet> Circuits<F> {
    /// The circuits of a node: `node` is a random number of this process. `observer` is told what happens
    /// to each circuit, by its name, before any thread acts on it; it is called under a lock, so it hands
    /// the signal on and returns.
    pub fn new(
        fleet: F,
        node: u64,
        observer: impl Fn(&str, BreakerSignal) + Send + Sync + 'static,
    ) -> Self {
        let following =
            Following { cursor: Cursor::START, is_anew: false, asked_at: None, number: 0 };
        Self {
            fleet,
            node,
            panel: Arc::new(Panel::new(observer)),
            circuits: RwLock::default(),
            following: Mutex::new(following),
        }
    }

    /// The fleet that the circuits agree with.
    pub const fn fleet(&self) -> &F {
        &self.fleet
    }

    /// The circuit of this name, which is made if there is none, and follows the settings. `None` if the
    /// name is none that a fleet [allows](is_fleet_name).
    ///
    /// A new circuit is closed until it hears of its record, which takes one poll for all circuits that
    /// are made before it; so they are best made when the upstreams are read.
    pub fn circuit(
        &self,
        name: &str,
        settings: BreakerSettings,
        now: Timestamp,
    ) -> Option<Arc<Circuit>> {
        if let Some(circuit) = self.get(name) {
            circuit.follow(settings);
            return Some(circuit);
        }
        if !is_fleet_name(name) {
            return None;
        }
        let mut circuits = self.circuits.write().unwrap_or_else(PoisonError::into_inner);
        let name: Arc<str> = Arc::from(name);
        let circuit = circuits.entry(Arc::clone(&name)).or_insert_with(|| {
            let breaker = Breaker::new(settings, self.node, now);
            Arc::new(Circuit::new(name, breaker, Arc::clone(&self.panel)))
        });
        let circuit = Arc::clone(circuit);
        drop(circuits);
        self.with_following(|following| following.is_anew = true);
        Some(circuit)
    }

    /// The circuit of this name, if there is one.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Arc<Circuit>> {
        self.circuits.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// Forgets a circuit whose upstream is gone. The fleet keeps its record, if that is not closed.
    pub fn remove(&self, name: &str) {
        self.circuits.write().unwrap_or_else(PoisonError::into_inner).remove(name);
        self.panel.forget(name);
    }

    /// Lets time take its effect on all circuits, and returns what has to be done. Perform each of them,
    /// beside each other, and poll again when the circuits have [something to tell](Self::woken), at the
    /// latest after [`FLEET_POLL_EVERY`]. Circuits that are closed and have nothing to tell cost nothing.
    pub fn poll(&self, now: Timestamp) -> Vec<Duty> {
        let mut duties = Vec::new();
        for name in self.panel.busy() {
            let Some(circuit) = self.get(&name) else {
                self.panel.forget(&name);
                continue;
            };
            if let Some(call) = circuit.poll(now) {
                duties.push(Duty(Some(Work::Call(circuit, call))));
            }
        }
        let question = self.with_following(|following| following.ask(now));
        let question = question.filter(|_| F::SHARED);
        duties.extend(question.map(|number| Duty(Some(Work::Follow { number }))));
        duties
    }

    /// Waits until a circuit has something to tell the fleet.
    pub async fn woken(&self) {
        poll_fn(|context| self.panel.poll_urgent(context)).await;
    }

    /// Performs a duty: one call to the fleet, or as many as there are pages of changes. The fleet keeps
    /// its deadline.
    pub async fn perform(&self, mut duty: Duty, clock: &impl Clock) {
        match duty.0.take() {
            Some(Work::Call(circuit, call)) => {
                let request = LeaseRequest::new(&circuit, call);
                let answer = self.fleet.agree(circuit.name(), call.step).await;
                request.note(answer, clock.now());
            }
            Some(Work::Follow { number }) => self.follow(number, clock).await,
            None => {}
        }
    }

    async fn follow(&self, number: u64, clock: &impl Clock) {
        for _ in 0..PAGES {
            let Some(cursor) = self.with_following(|following| following.begin(number)) else {
                return;
            };
            // A fleet that cannot be asked is no news: a breaker notices when it has something to ask.
            let Ok(changed) = self.fleet.changed_since(cursor).await else { return };
            if !self.with_following(|following| following.go_on(number, changed.cursor)) {
                return;
            }
            self.hear(&changed, clock.now());
            if !changed.more {
                return;
            }
        }
    }

    fn hear(&self, changed: &Changed, now: Timestamp) {
        let at = changed.at;
        let hear = |name: &str, accord: Option<Accord>| {
            if let Some(circuit) = self.get(name) {
                circuit.heard(accord, at, now);
            }
        };
        for (name, accord) in &changed.accords {
            hear(name, Some(*accord));
        }
        // With the last page, every circuit that waits for a sign of the fleet has one.
        if !changed.more {
            self.panel.names().iter().for_each(|name| hear(name, None));
        }
    }

    fn with_following<T>(&self, act: impl FnOnce(&mut Following) -> T) -> T {
        act(&mut self.following.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<F> fmt::Debug for Circuits<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Circuits").field("panel", &self.panel).finish_non_exhaustive()
    }
}

// === impl Duty ===

impl Drop for Duty {
    fn drop(&mut self) {
        if let Some(Work::Call(circuit, call)) = self.0.take() {
            circuit.hand_over(call);
        }
    }
}

// === impl Following ===

impl Following {
    /// The number of the next question, if it is time for one.
    fn ask(&mut self, now: Timestamp) -> Option<u64> {
        if self.asked_at.is_some_and(|at| at <= now && now < at.after(FLEET_POLL_EVERY)) {
            return None;
        }
        self.asked_at = Some(now);
        self.number += 1;
        Some(self.number)
    }

    /// Where the answer to this question has to begin; `None` if there is a later question.
    fn begin(&mut self, number: u64) -> Option<Cursor> {
        if self.number != number {
            return None;
        }
        if core::mem::take(&mut self.is_anew) {
            self.cursor = Cursor::START;
        }
        Some(self.cursor)
    }

    /// Takes note of an answer. False if there is a later question.
    fn go_on(&mut self, number: u64, cursor: Cursor) -> bool {
        let is_current = self.number == number;
        if is_current {
            self.cursor = cursor;
        }
        is_current
    }
}
