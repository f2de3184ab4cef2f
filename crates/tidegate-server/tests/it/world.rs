//! A server with known policies and a clock that stands still, on a port of its own.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;

use serde_json::{Value, json};
use tidegate_core::{
    Bucket, Clock, Cost, CostRule, Counts, Dimension, FailureMode, Limit, ManualClock, Name,
    Overflow, Period, PolicySet, PolicySetBuilder, PolicySpec, Protects, Quota, Rate, Scope, Shape,
    Span, Stage, Store, Timestamp, Window,
};
use tidegate_engine::Engine;
use tidegate_engine::memory::{Budget, MemoryStore};
use tidegate_server::{AdminToken, Handle, Server, Settings, Stopped, WrittenSettings};
use tokio::sync::oneshot;

use crate::raw::{Client, Reply};

pub(crate) type Memory = MemoryStore<Arc<ManualClock>>;

/// A running server. It is told to stop when this is dropped.
pub(crate) struct World<S: Store + 'static = Memory> {
    pub(crate) address: SocketAddr,
    /// Where operators are listened to, if they are.
    pub(crate) admin: Option<SocketAddr>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) engine: Arc<Engine<S>>,
    pub(crate) handle: Handle<S>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<Stopped>>,
}

/// When the clock stands still.
pub(crate) const NOW: Timestamp = Timestamp::from_micros(1_800_000_000_123_456);

/// What is counted exactly.
pub(crate) const BUDGET: Budget =
    Budget { buckets: 10_000, quotas: 1_000, windows: 1_000, attempts: 1_000 };

// === impl World ===

impl World {
    /// With the usual policies and settings.
    pub(crate) fn new() -> Self {
        Self::with(&json!({}))
    }

    /// With the usual policies and these settings.
    pub(crate) fn with(settings: &Value) -> Self {
        let clock = Arc::new(ManualClock::new(NOW));
        let store = MemoryStore::new(BUDGET, Arc::clone(&clock));
        Self::start(settings, store, clock)
    }
}

impl<S: Store + 'static> World<S> {
    pub(crate) fn start(settings: &Value, store: S, clock: Arc<ManualClock>) -> Self {
        Self::serving(settings, store, clock, policies(), None)
    }

    /// With these policies, and a listener for operators who know the token.
    pub(crate) fn serving(
        settings: &Value,
        store: S,
        clock: Arc<ManualClock>,
        policies: PolicySetBuilder,
        token: Option<&str>,
    ) -> Self {
        let mut written: WrittenSettings = serde_json::from_value(settings.clone()).unwrap();
        written.listen = Some("127.0.0.1:0".parse().unwrap());
        written.admin.listen = written.listen;
        written.threads = written.threads.or(Some(2));
        // The name that these tests use.
        written.hosts = written.hosts.or_else(|| Some(vec!["t".parse().unwrap()]));
        // Tests look at a counter right after they have moved it, and their clock stands still.
        let settings = Settings::try_new(&written).unwrap().with_fresh_pages();
        Self::set_up(settings, store, clock, policies, token)
    }

    /// With settings that nothing is changed of.
    pub(crate) fn set_up(
        settings: Settings,
        store: S,
        clock: Arc<ManualClock>,
        policies: PolicySetBuilder,
        token: Option<&str>,
    ) -> Self {
        let engine = Engine::new(store, policies.build(None).unwrap());
        let engine = Arc::new(engine.timed_by(Arc::clone(&clock) as Arc<dyn Clock>));
        let mut server = Server::bind(settings, Arc::clone(&engine), Arc::clone(&clock)).unwrap();
        if let Some(token) = token {
            server = server.with_admin(AdminToken::try_new(token).unwrap()).unwrap();
        }
        let admin = server.admin_addr();
        let (address, handle) = (server.local_addr(), server.handle());
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let stopped = async { drop(stopped.await) };
            runtime.unwrap().block_on(server.run(stopped)).unwrap()
        });
        Self { address, admin, clock, engine, handle, stop: Some(stop), thread: Some(thread) }
    }

    pub(crate) fn client(&self) -> Client {
        Client::connect(self.address)
    }

    pub(crate) fn get(&self, target: &str) -> Reply {
        self.client().get(target)
    }

    pub(crate) fn post(&self, target: &str, body: &Value) -> Reply {
        self.client().post(target, body.to_string().as_bytes())
    }

    /// Tells the server to stop, and does not wait for it.
    pub(crate) fn stop(&mut self) {
        drop(self.stop.take());
    }

    /// How the server ended.
    pub(crate) fn ended(mut self) -> Stopped {
        self.stop();
        self.thread.take().unwrap().join().unwrap()
    }
}

impl<S: Store + 'static> Drop for World<S> {
    fn drop(&mut self) {
        self.stop();
        if let Some(Err(panic)) = self.thread.take().map(JoinHandle::join)
            && !std::thread::panicking()
        {
            std::panic::resume_unwind(panic);
        }
    }
}

// === the usual policies ===

pub(crate) fn name(text: &str) -> Name {
    Name::try_new(text).unwrap()
}

pub(crate) fn bucket(rate: u64, burst: u64) -> Shape {
    Shape::Bucket(Bucket::try_new(Rate::per_second(rate).unwrap(), burst).unwrap())
}

fn limit(text: &str, by: &[Dimension], shape: Shape) -> Limit {
    Limit::new(name(text), Scope::of(by.iter().copied()), shape).with_named_key()
}

/// Policies for everything a decision can be.
pub(crate) fn policies() -> PolicySetBuilder {
    use Dimension::{Account, Ip, Org, User};
    let api = PolicySpec::new(name("api"), FailureMode::FailOpen)
        .protecting(Protects::ApiHeavy)
        .class(name("export"))
        .limit(limit("burst", &[Org, User], bucket(10, 3)))
        .limit(limit("per-address", &[Ip], bucket(100, 100)));
    let counted = Counts::Attempts(None);
    let window = Window::try_new(2, Span::MINUTE, counted).unwrap();
    let login = PolicySpec::new(name("login"), FailureMode::FailClosed)
        .protecting(Protects::Login)
        .limit(limit("attempts", &[Account], Shape::Window(window)))
        .limit(limit("flood", &[Ip], bucket(1, 1)).at_stage(Stage::Global));
    let daily = Quota::try_new(100, Period::Fixed(Span::DAY), Counts::Admitted).unwrap();
    let tokens = PolicySpec::new(name("tokens"), FailureMode::Degraded)
        .limit(limit("daily", &[Org], Shape::Quota(daily)).settling())
        .limit(
            limit("calls", &[Org], bucket(1_000, 1_000))
                .costing(CostRule::PerRequest(Cost::ONE))
                .in_shadow(),
        );
    let queue = PolicySpec::new(name("queue"), FailureMode::FailClosed)
        .protecting(Protects::Auth)
        .overflow(Overflow::Queue)
        .limit(limit("slots", &[], bucket(1, 1)));
    let degrade = PolicySpec::new(name("degrade"), FailureMode::FailOpen)
        .overflow(Overflow::Degrade)
        .limit(limit("seats", &[], bucket(1, 1)));
    PolicySet::builder().policy(api).policy(login).policy(tokens).policy(queue).policy(degrade)
}
