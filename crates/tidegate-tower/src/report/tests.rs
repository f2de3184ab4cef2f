//! A small world to be told of, and what is told of it.

mod log;
mod page;

use std::net::IpAddr;
use std::sync::Arc;

use http::HeaderValue;
use tidegate_core::{
    Attempts, Bucket, Case, Cost, Counts, Dimension, FailureMode, Ladder, Limit, ManualClock, Name,
    Overflow, Period, PolicySet, PolicySpec, Protects, Quota, Rate, Scope, Shape, Span, Store,
    Subject, Timestamp,
};
use tidegate_engine::memory::{Budget, MemoryStore};
use tidegate_engine::{Engine, ready};

use super::{Reporter, Ruled, RulingStage};
use crate::answer::Code;
use crate::answer::Profile;
use crate::identity::Identity;
use crate::request_id::RequestId;
use crate::routes::Endpoint;
use crate::trace::TraceContext;
use crate::visit::Visit;

/// 2026-01-01T00:00:00Z.
pub(super) const NOW: Timestamp = Timestamp::from_micros(1_767_225_600_000_000);

/// Policies in a store on a clock that stands still:
///
/// | policy | limit | by | |
/// |---|---|---|---|
/// | `front` | `peers` | ip+class | 3 at once |
/// | `api` | `burst` | org | 5 at once |
/// | `api` | `day` | org | 1,000 a day |
/// | `bulk` | `hour` | org | 500 an hour |
/// | `soft` | `burst` | org | 1 at once, then with a lower quality |
/// | `slow` | `trickle` | org | 5 at once; by degrees without the store |
/// | `login` | `guesses` | ip | 21 in ten minutes, then a block |
pub(super) struct World {
    pub(super) engine: Arc<Engine<MemoryStore<Arc<ManualClock>>>>,
    pub(super) clock: Arc<ManualClock>,
}

/// The trace that every request belongs to, and how it is told.
const TRACE: &[u8] = b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
pub(super) const CORRELATION: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

/// What every request is called.
const REQUEST: &str = "req-7f3a";

/// One request of somebody.
#[derive(Clone)]
pub(super) struct Ask {
    pub(super) stage: RulingStage,
    pub(super) policy: &'static str,
    pub(super) class: &'static str,
    pub(super) place: usize,
    pub(super) client: IpAddr,
    pub(super) identity: Option<Identity>,
    pub(super) route: Box<str>,
}

// === impl World ===

impl World {
    pub(super) fn new() -> Self {
        let clock = Arc::new(ManualClock::new(NOW));
        let store = MemoryStore::new(Budget::default(), Arc::clone(&clock));
        Self { engine: Arc::new(Engine::new(store, policies())), clock }
    }

    /// Decides a request, and tells of it. Says whether it may pass.
    pub(super) fn ask(&self, reporter: &Reporter, ask: &Ask) -> bool {
        self.rule(ask, |ruled| {
            reporter.ruled(ruled);
            !ruled.is_refused()
        })
    }

    /// Decides a request.
    pub(super) fn rule<T>(&self, ask: &Ask, tell: impl FnOnce(&Ruled<'_>) -> T) -> T {
        rule(&self.engine, ask, tell)
    }
}

/// Decides a request by an engine whose store answers when it is polled first.
pub(super) fn rule<S: Store, T>(
    engine: &Engine<S>,
    ask: &Ask,
    tell: impl FnOnce(&Ruled<'_>) -> T,
) -> T {
    let endpoint = Endpoint {
        template: ask.route.clone(),
        class: name(ask.class),
        scope: None,
        cost: Cost::ONE,
        place: ask.place,
    };
    let visit = Visit {
        request_id: RequestId::adopt(&HeaderValue::from_static(REQUEST)).unwrap(),
        trace: TraceContext::parse(TRACE),
        client: ask.client,
        endpoint: Arc::new(endpoint),
        at: NOW,
        was_early: true,
        profile: Profile::default(),
    };
    let subject = Subject::new().ip(ask.client).class(ask.class);
    let subject = match &ask.identity {
        Some(identity) => identity.describe(subject),
        None => subject,
    };
    let set = engine.policies();
    let mut case = Case::new(set.get(ask.policy).unwrap(), &subject);
    let decision = ready(engine.decide(&mut case)).unwrap().unwrap();
    let code = decision.status().blocked.then_some(Code::RateLimitExceeded);
    tell(&Ruled {
        stage: ask.stage,
        visit: &visit,
        identity: ask.identity.as_ref(),
        decision: Some(decision),
        code,
        began: NOW,
        took: Span::from_micros(30),
    })
}

// === impl Ask ===

impl Ask {
    /// Of somebody of an organisation.
    pub(super) fn of(identity: Identity) -> Self {
        Self {
            stage: RulingStage::Org,
            policy: "api",
            class: "read",
            place: 1,
            client: [203, 0, 113, 9].into(),
            identity: Some(identity),
            route: "/v1/reports/{id}".into(),
        }
    }

    /// Of somebody who is not known yet, under this policy.
    pub(super) fn from(client: IpAddr, policy: &'static str) -> Self {
        let route = "/login".into();
        Self {
            stage: RulingStage::Early,
            policy,
            class: "public",
            place: 0,
            client,
            identity: None,
            route,
        }
    }
}

pub(super) fn name(text: &str) -> Name {
    Name::try_new(text).unwrap()
}

pub(super) fn policies() -> PolicySet {
    let bucket =
        |burst| Shape::Bucket(Bucket::try_new(Rate::per_minute(burst).unwrap(), burst).unwrap());
    let org = Scope::of([Dimension::Org]);
    let day = Quota::try_new(1_000, Period::Fixed(Span::DAY), Counts::Admitted).unwrap();
    let hour = Quota::try_new(500, Period::Fixed(Span::HOUR), Counts::Admitted).unwrap();
    let guesses = Attempts::climbing(22, Span::from_secs(600), Ladder::default()).unwrap();
    let peers = Scope::of([Dimension::Ip, Dimension::Class]);
    let by_ip = Scope::of([Dimension::Ip]);
    PolicySet::builder()
        .policy(PolicySpec::new(name("front"), FailureMode::FailOpen).limit(Limit::new(
            name("peers"),
            peers,
            bucket(3),
        )))
        .policy(
            PolicySpec::new(name("api"), FailureMode::FailOpen)
                .limit(Limit::new(name("burst"), org, bucket(5)))
                .limit(Limit::new(name("day"), org, Shape::Quota(day))),
        )
        .policy(PolicySpec::new(name("bulk"), FailureMode::FailOpen).limit(Limit::new(
            name("hour"),
            org,
            Shape::Quota(hour),
        )))
        .policy(
            PolicySpec::new(name("soft"), FailureMode::FailOpen)
                .overflow(Overflow::Degrade)
                .limit(Limit::new(name("burst"), org, bucket(1)).with_named_key()),
        )
        .policy(
            PolicySpec::new(name("slow"), FailureMode::Degraded)
                .limit(Limit::new(name("trickle"), org, bucket(5)).with_named_key()),
        )
        .policy(
            PolicySpec::new(name("login"), FailureMode::FailClosed)
                .protecting(Protects::Login)
                .limit(Limit::new(name("guesses"), by_ip, Shape::Attempts(guesses))),
        )
        .build(None)
        .unwrap()
}
