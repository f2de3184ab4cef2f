//! A node on a shared store that fails on command, and a clock that moves on command.

use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use tidegate_core::{
    Account, Bucket, Case, Clock, Digests, Dimension, FailureMode, Limit, ManualClock, Mode, Name,
    PolicySet, PolicySetBuilder, PolicySpec, Preset, Protects, Rate, Scope, Shape, Signal, Span,
    StoreError, Subject, Ticket, Timestamp, Verdict,
};
use tidegate_engine::{Engine, Event, ready};
pub(crate) use tidegate_test::stub::Call as Op;
use tidegate_test::stub::{Stub, StubWire};

/// The time all worlds begin at.
pub(crate) const START: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);

pub(crate) struct World {
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) engine: Engine<Stub>,
    pub(crate) events: Arc<Mutex<Vec<Event>>>,
}

/// What a request came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) verdict: Verdict,
    pub(crate) mode: Mode,
    pub(crate) alarm: Option<tidegate_core::Alarm>,
    pub(crate) level: Option<tidegate_core::Level>,
    pub(crate) ticket: bool,
}

pub(crate) fn name(text: &str) -> Name {
    Name::try_new(text).unwrap()
}

/// Policies of every kind.
pub(crate) fn policies() -> PolicySetBuilder {
    let limit = |it, by: Dimension, burst| {
        let shape =
            Shape::Bucket(Bucket::try_new(Rate::per_second(1_000).unwrap(), burst).unwrap());
        Limit::new(name(it), Scope::of([by]), shape).with_named_key().settling()
    };
    let spec = |it, failure, protects| PolicySpec::new(name(it), failure).protecting(protects);
    PolicySet::builder()
        .policy(Preset::Login.policy(name("login"), FailureMode::FailClosed))
        .policy(Preset::Otp.policy(name("otp"), FailureMode::FailClosed))
        .policy(spec("api", FailureMode::FailOpen, Protects::ApiHeavy).limit(limit(
            "api",
            Dimension::Ip,
            9_000,
        )))
        .policy(spec("admin", FailureMode::FailClosed, Protects::Admin).limit(limit(
            "admin",
            Dimension::Ip,
            9_000,
        )))
        .policy(spec("read", FailureMode::Degraded, Protects::Read).limit(limit(
            "read",
            Dimension::Org,
            9_000,
        )))
}

// === impl World ===

impl World {
    pub(crate) fn new() -> Self {
        Self::with(policies().build(None).unwrap())
    }

    pub(crate) fn with(set: PolicySet) -> Self {
        let clock = Arc::new(ManualClock::new(START));
        let store = Stub::in_memory(&clock);
        store.wire().wait(0, 0);
        let events: Arc<Mutex<Vec<Event>>> = Arc::default();
        let heard = Arc::clone(&events);
        let engine = Engine::with_digests(store, set, Digests::new([1, 2]))
            .timed_by(Arc::<ManualClock>::clone(&clock))
            .told_at_once(Arc::new(move |event| heard.lock().unwrap().push(event.clone())));
        Self { clock, engine, events }
    }

    /// A world in which the store has been found to work.
    pub(crate) fn proven() -> Self {
        let world = Self::new();
        world.probe();
        world
    }

    pub(crate) fn wire(&self) -> &StubWire {
        self.engine.store().wire()
    }

    pub(crate) fn fail(&self, error: Option<StoreError>) {
        self.wire().fail(error);
    }

    /// Makes the probes that are due.
    pub(crate) fn probe(&self) -> usize {
        tidegate_test::probe(&self.engine)
    }

    /// Lets time pass, with probes when they are due.
    pub(crate) fn pass(&self, span: Span) {
        let end = self.clock.now().after(span);
        while let Some(due) = self.engine.next_poll().filter(|due| *due <= end) {
            self.clock.set(due.max(self.clock.now()));
            self.probe();
        }
        self.clock.set(end);
    }

    /// The store is gone, and the policy has found out by requests from elsewhere.
    pub(crate) fn trip(&self, policy: &str) {
        self.fail(Some(StoreError::Unavailable));
        for _ in 0..3 {
            let _ = self.ask(policy, "somebody else", [192, 0, 2, 1]);
        }
        assert_eq!(self.mode(policy), Mode::Degraded, "{policy}");
    }

    pub(crate) fn mode(&self, policy: &str) -> Mode {
        self.engine.standing(policy).unwrap().mode
    }

    pub(crate) fn ask(&self, policy: &str, account: &str, ip: [u8; 4]) -> Told {
        self.ask_for(policy, account, ip, "agent").0
    }

    /// Decides a request of this account from there.
    pub(crate) fn ask_for(
        &self,
        policy: &str,
        account: &str,
        ip: [u8; 4],
        agent: &str,
    ) -> (Told, Option<Ticket>) {
        self.try_ask_for(policy, account, ip, agent).expect("nothing is shed")
    }

    /// Decides a request, unless it is shed.
    pub(crate) fn try_ask(&self, policy: &str, account: &str, ip: [u8; 4]) -> Option<Told> {
        self.try_ask_for(policy, account, ip, "agent").map(|(told, _)| told)
    }

    /// What the local caps leave of such requests, without one being made.
    pub(crate) fn left(&self, policy: &str, account: &str, ip: [u8; 4]) -> i64 {
        let (set, account) = (self.engine.policies(), Account::new(account));
        let subject = Subject::new().org("acme").account(&account).ip(IpAddr::from(ip));
        let mut case = Case::new(set.get(policy).unwrap(), &subject);
        let decision = ready(self.engine.peek(&mut case)).unwrap().unwrap();
        decision.status().remaining
    }

    fn try_ask_for(
        &self,
        policy: &str,
        account: &str,
        ip: [u8; 4],
        agent: &str,
    ) -> Option<(Told, Option<Ticket>)> {
        let (set, account) = (self.engine.policies(), Account::new(account));
        let subject =
            Subject::new().org("acme").agent(agent).account(&account).ip(IpAddr::from(ip));
        let mut case = Case::new(set.get(policy).unwrap(), &subject);
        let decision = ready(self.engine.decide(&mut case)).unwrap().ok()?;
        let ticket = self.engine.ticket(&decision);
        let told = Told {
            verdict: decision.verdict(),
            mode: decision.mode(),
            alarm: decision.alarm(),
            level: decision.block().and_then(|block| block.level),
            ticket: ticket.is_some(),
        };
        Some((told, ticket))
    }

    /// How many of so many requests are admitted.
    pub(crate) fn admitted(
        &self,
        policy: &str,
        account: &str,
        ip: [u8; 4],
        requests: usize,
    ) -> usize {
        (0..requests).filter(|_| self.ask(policy, account, ip).admits()).count()
    }

    /// What was told about policies and their store since the last time.
    pub(crate) fn signals(&self) -> Vec<(Name, Signal)> {
        let events = std::mem::take(&mut *self.events.lock().unwrap());
        let signal = |event| match event {
            Event::Failover { policy, signal } => Some((policy, signal)),
            _ => None,
        };
        events.into_iter().filter_map(signal).collect()
    }

    pub(crate) fn ops(&self) -> Vec<(Timestamp, Op)> {
        self.wire().take_calls()
    }
}

// === impl Told ===

impl Told {
    pub(crate) fn admits(&self) -> bool {
        self.verdict == Verdict::Admit
    }
}
