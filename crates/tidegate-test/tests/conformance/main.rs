//! P96: real servers give the answers of the rules, at the time they say it is.
//!
//! The same seeded traces on every kind of server, through the store that production uses. Time
//! cannot be set there, so the judge is asked at the time of each answer; what depends on other times
//! is proven with the scripts in a Lua that is told the time (`it`, `lua.rs`).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test")]

use std::sync::Arc;

use proptest::strategy::{BoxedStrategy, Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use tidegate_core::{
    FailureMode, ManualClock, Name, PolicySet, Preset, Span, Store, Timestamp, Trial,
};
use tidegate_engine::SystemClock;
use tidegate_engine::memory::{Budget, MemoryStore};
use tidegate_stores::redis::{RedisStore, Target};
use tidegate_test::lua::{self, Expired};
use tidegate_test::plain::PlainStore;
use tidegate_test::servers::{Flavour, RunningCluster, RunningServer};
use tidegate_test::stub::Waiting;
use tidegate_test::trace::{
    PeriodPlan, ScopePlan, ShapePlan, StagePlan, Trace, TraceStep, judged, overflowing, traces,
    with_reloads,
};

const TRACES: usize = 400;

/// Seeded, so that a failure can be repeated.
fn some_traces() -> Vec<Trace> {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let mut make =
        |strategy: BoxedStrategy<Trace>| strategy.new_tree(&mut runner).unwrap().current();
    let mut some = Vec::with_capacity(TRACES);
    let lasting = |make: &mut dyn FnMut(BoxedStrategy<Trace>) -> Trace, over_rows: bool| loop {
        let trace = make(overflowing(with_reloads(30)).boxed());
        let trace = if over_rows { trace.over_rows() } else { trace };
        if trace.shapes().all(lasts) {
            break trace;
        }
    };
    // Every other one is reloaded, or is over rows that are replaced, deleted and created again.
    for place in 0..TRACES {
        some.push(match place % 4 {
            0 => make(traces(30).boxed()),
            1 => lasting(&mut make, false),
            2 => make(overflowing(traces(30)).boxed()),
            _ => lasting(&mut make, true),
        });
    }
    some
}

/// Whether a counter of this shape is remembered for as long as the test may take. What a server forgets
/// is as good as new under the numbers in force; under those of a later reload, which may be slower,
/// the judge would still remember it.
fn lasts(shape: &ShapePlan) -> bool {
    const LONG: u64 = 60_000_000;
    match shape {
        ShapePlan::Bucket(tokens, per, burst) => burst.saturating_mul(*per) / tokens.max(&1) > LONG,
        ShapePlan::Window(_, per, _) => *per > LONG,
        ShapePlan::Quota(_, PeriodPlan::Fixed(per) | PeriodPlan::FirstUse(per), _) => *per > LONG,
        ShapePlan::Quota(..) => true,
        ShapePlan::Attempts(window, _) => window.per > LONG,
    }
}

/// All on one server: each trace begins with nothing counted, because `forget` sees to it.
async fn conforms<S: Store>(store: &S, traces: &[Trace], mut forget: impl AsyncFnMut()) {
    let mut compared = 0;
    for (index, trace) in traces.iter().enumerate() {
        forget().await;
        let clock = ManualClock::new(Timestamp::ZERO);
        let judge = PlainStore::by_name(&clock, lua::secret().names());
        for (answer, expected) in judged(trace, store, &clock, &judge).await {
            assert_eq!(answer, expected, "trace {index}: {trace:#?}");
            compared += 1;
        }
    }
    assert!(compared > 5 * traces.len(), "only {compared} answers were compared");
}

async fn a_server_conforms(flavour: Flavour) {
    let server = RunningServer::builder().flavour(flavour).start().await;
    let store = RedisStore::new(Target::parse(&server.url()).unwrap(), &lua::secret()).unwrap();
    conforms(&store, &some_traces(), async || {
        server.command(&["FLUSHALL"]).await;
    })
    .await;
}

#[tokio::test]
async fn p96_redis_conforms() {
    a_server_conforms(Flavour::Redis).await;
}

#[tokio::test]
async fn p96_valkey_8_conforms() {
    a_server_conforms(Flavour::Valkey8).await;
}

#[tokio::test]
async fn p96_valkey_9_conforms() {
    a_server_conforms(Flavour::Valkey9).await;
}

/// Counters that live together: the limits of an organisation.
fn of_organisations(mut trace: Trace) -> Trace {
    let within = |scope: &mut ScopePlan| {
        if matches!(scope, ScopePlan::Global | ScopePlan::Ip) {
            *scope = ScopePlan::Org;
        }
    };
    let policies = trace.steps.iter_mut().filter_map(|step| match step {
        TraceStep::Reload(policy) => Some(policy),
        _ => None,
    });
    for policy in policies.chain([&mut trace.policy]) {
        policy.limits.iter_mut().for_each(|limit| within(&mut limit.scope));
    }
    trace
}

#[tokio::test]
async fn p96_a_cluster_conforms() {
    let cluster = RunningCluster::start(3, 0, Flavour::Redis).await;
    let url = format!("redis+cluster://{}", cluster.nodes()[0].addr());
    let store = RedisStore::new(Target::parse(&url).unwrap(), &lua::secret()).unwrap();
    let traces: Vec<Trace> = some_traces().into_iter().map(of_organisations).collect();
    conforms(&store, &traces, async || {
        for node in cluster.nodes() {
            node.command(&["FLUSHALL"]).await;
        }
    })
    .await;
}

#[tokio::test]
async fn p96_the_memory_conforms_on_a_real_clock() {
    let budget = Budget { buckets: 4_096, quotas: 4_096, windows: 4_096, attempts: 4_096 };
    // Without reloads: what it has not seen before it was born it assumes to be spent since then, and
    // the tick of its birth is not told.
    let mut compared = 0;
    for trace in some_traces().into_iter().step_by(2) {
        let clock = ManualClock::new(Timestamp::ZERO);
        let judge = PlainStore::new(&clock);
        let store = MemoryStore::new(budget, SystemClock::new());
        for (answer, expected) in judged(&trace, &store, &clock, &judge).await {
            assert_eq!(answer, expected, "{trace:#?}");
            compared += 1;
        }
    }
    assert!(compared > 5 * TRACES / 2, "only {compared} answers were compared");
}

/// The limits of the first stage before the others and in one group: an attempt that one group has
/// refused and counted stays so, with the block it began, if a global limit of a later group refuses
/// too. And no distinct members, which are never taken out again.
fn globals_first(mut trace: Trace) -> Trace {
    let policies = trace.steps.iter_mut().filter_map(|step| match step {
        TraceStep::Reload(policy) => Some(policy),
        _ => None,
    });
    for policy in policies.chain([&mut trace.policy]) {
        policy.limits.sort_by_key(|limit| limit.stage != StagePlan::Global);
        let scope = policy.limits[0].scope;
        for limit in &mut policy.limits {
            limit.distinct = false;
            if limit.stage == StagePlan::Global {
                limit.scope = scope;
            }
        }
    }
    trace
}

/// On a cluster a decision may have several groups, each atomic by itself. Asked one after another
/// they come to the same decisions, and what is taken for a refused one is given back.
#[tokio::test]
async fn p70_groups_that_cannot_live_together_decide_as_one() {
    let mut compared = 0;
    for (index, trace) in some_traces().into_iter().enumerate() {
        let trace = globals_first(trace.forward());
        let clock = Arc::new(ManualClock::new(Timestamp::from_micros(1_800_000_000_000_000)));
        let now: Arc<dyn tidegate_core::Clock> = Arc::<ManualClock>::clone(&clock);
        // It is waited for until what runs in the background is done.
        let store = Waiting::over(lua::store(now, Expired::Gone, true));
        store.wire().wait(0, 8);
        let judge = PlainStore::by_name(Arc::clone(&clock), lua::secret().names());
        clock.advance(Span::SECOND);
        for (answer, expected) in judged(&trace, &store, &clock, &judge).await {
            assert_eq!(answer, expected, "trace {index}: {trace:#?}");
            compared += 1;
        }
    }
    assert!(compared > 5 * TRACES, "only {compared} answers were compared");
}

#[tokio::test]
async fn a_probe_writes_to_every_master_of_a_cluster() {
    let cluster = RunningCluster::start(3, 0, Flavour::Redis).await;
    let url = format!("redis+cluster://{}", cluster.nodes()[0].addr());
    let store = RedisStore::new(Target::parse(&url).unwrap(), &lua::secret()).unwrap();
    store.check().await.unwrap();
    let login = Preset::Login.policy(Name::try_new("login").unwrap(), FailureMode::FailClosed);
    let set = PolicySet::builder().policy(login).build(None).unwrap();
    let trial = Trial::new(&set.policies()[0], 7, Timestamp::ZERO);
    store.probe(&trial.batch()).await.unwrap();
    for node in cluster.nodes() {
        assert_eq!(node.text(&["DBSIZE"]).await, "10", "a key for each limit, {}", node.addr());
    }
    cluster.nodes()[1].kill();
    assert!(
        store.probe(&trial.batch()).await.is_err(),
        "a cluster with a master missing does not work"
    );
}
