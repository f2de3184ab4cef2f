//! One node: an engine as hosts use it, on a real store that is recorded.

use core::time::Duration;
use std::sync::Arc;

use tidegate_core::{
    Account, Alarm, Case, Clock as _, ManualClock, Mode, Name, Span, Subject, Timestamp,
};
use tidegate_engine::{Due, Engine, Event, SystemClock};
use tidegate_stores::redis::{RedisStore, Target};
use tidegate_test::lua::secret;
use tidegate_test::sim::trace::{RequestAnswer, StoreErrand, What};

use crate::people::Person;
use crate::policies::{self, NAMES};
use crate::recorded::{FOR, Recorded};
use crate::tape::{For, Tape};

/// A node.
pub(crate) struct Node {
    pub(crate) engine: Engine<Recorded>,
    tape: Arc<Tape>,
    number: u8,
    /// Real time, to measure by and nothing else.
    real: SystemClock,
}

/// What a request came to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Told {
    pub(crate) admitted: bool,
    pub(crate) mode: Mode,
    pub(crate) alarm: Option<Alarm>,
    pub(crate) wait: Option<Span>,
    /// How long it took, in real time.
    pub(crate) took: Span,
}

// === impl Node ===

impl Node {
    pub(crate) fn new(url: &str, number: u8, clock: &Arc<ManualClock>, tape: &Arc<Tape>) -> Self {
        let set = policies::set();
        let store = Recorded::new(store(url, policies::longest(&set)), Arc::clone(tape));
        let told = Arc::clone(tape);
        let engine = Engine::new(store, set)
            .sharing(&secret())
            .timed_by(Arc::<ManualClock>::clone(clock))
            .told_at_once(Arc::new(move |event: &Event| observe(&told, number, event)));
        tape.record(number, 0, What::Started);
        Self { engine, tape: Arc::clone(tape), number, real: SystemClock::new() }
    }

    /// Decides one request.
    pub(crate) async fn ask(&self, policy: u8, person: Person) -> Told {
        let request = self.tape.request();
        let of = For { node: self.number, policy, by: StoreErrand::Request(request) };
        FOR.scope(of, self.decide(policy, person, request)).await
    }

    async fn decide(&self, policy: u8, person: Person, request: u32) -> Told {
        let set = Arc::clone(&self.engine.policies());
        let (login, agent) = (person.login(), [b'a', person.agent]);
        let account = Account::new(&login);
        let subject = Subject::new().account(&account).agent(&agent).ip(person.address(request));
        let mut case = Case::new(set.get(NAMES[usize::from(policy)]).unwrap(), &subject);
        let asked = What::Asked { request, who: person.who(), counted: true };
        self.tape.record(self.number, policy, asked);
        let began = self.real.now();
        let decision = self.engine.decide(&mut case).await.unwrap();
        let took = self.real.now().since(began);
        let answer = RequestAnswer::of(&decision);
        self.tape.record(self.number, policy, What::Decided { request, answer });
        Told {
            admitted: answer.admitted,
            mode: answer.mode,
            alarm: answer.alarm,
            wait: answer.wait.map(Span::from_micros),
            took,
        }
    }

    /// The probes that are due, and what time brings about.
    pub(crate) fn poll(&self, now: Timestamp) -> Vec<Due> {
        self.engine.poll(now)
    }

    /// Makes a probe.
    pub(crate) async fn probe(&self, due: Due) {
        let of = For { node: self.number, policy: place(due.policy()), by: StoreErrand::Probe };
        FOR.scope(of, self.engine.probe(due)).await;
    }

    /// The mode of a policy; degraded also for one that is closed for the first half hour of it.
    pub(crate) fn mode(&self, policy: u8) -> Mode {
        let standing = self.engine.standing(NAMES[usize::from(policy)]).unwrap();
        if standing.degraded_since.is_some() { Mode::Degraded } else { standing.mode }
    }

    pub(crate) fn failures(&self, policy: u8) -> usize {
        self.engine.standing(NAMES[usize::from(policy)]).unwrap().failures
    }

    /// Writes down how each policy says it stands, to be compared with what was told.
    pub(crate) fn stand(&self) {
        for policy in policies::ALL {
            let standing = self.engine.standing(NAMES[usize::from(policy)]).unwrap();
            self.tape.record(self.number, policy, What::Stood(standing));
        }
    }

    /// Why the last call of its store failed, in words.
    pub(crate) fn trouble(&self) -> String {
        let trouble = self.engine.store().store().trouble();
        trouble.map(|trouble| trouble.to_string()).unwrap_or_default()
    }
}

/// A store there, that may take so long.
pub(crate) fn store(url: &str, timeout: Span) -> RedisStore {
    let target = Target::parse(url).unwrap().with_timeout(Duration::from(timeout));
    RedisStore::new(target, &secret()).unwrap()
}

fn place(policy: &Name) -> u8 {
    let place = NAMES.iter().position(|name| *name == policy.as_str());
    place.and_then(|place| u8::try_from(place).ok()).unwrap()
}

/// Writes down what observers are told.
fn observe(tape: &Tape, node: u8, event: &Event) {
    if let Some((policy, what)) = What::of(event) {
        tape.record(node, policy.map_or(0, place), what);
    }
}
