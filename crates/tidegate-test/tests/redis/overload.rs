//! T24: a flood of requests is the trouble of the node it hits, not of a store that works.
//!
//! Every request of a flood is decided or shed; no policy stops asking a healthy store because of it.
//! A store that stops answering in the middle of a flood is found out all the same.

use core::time::Duration;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use tidegate_core::{
    Account, Case, Dimension, FailureMode, Limit, Mode, PolicySet, PolicySpec, Preset, Protects,
    Scope, Subject,
};
use tidegate_engine::Engine;
use tidegate_stores::redis::{RedisStore, Target};
use tidegate_test::lua::secret;
use tokio::task::JoinSet;

use crate::node::{PLENTY, bucket, name};
use crate::place;

/// How soon a dead store has to be found out (contract A2).
const TRIPS_WITHIN: Duration = Duration::from_secs(10);

/// What became of the requests of a flood.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    decided: u64,
    shed: u64,
}

/// A node with the two policies of the contract that a flood is measured on, with the usual deadlines.
fn node(url: &str) -> Arc<Engine<RedisStore>> {
    let by_org = Limit::new(name("all"), Scope::of([Dimension::Org]), bucket(PLENTY));
    let api = PolicySpec::new(name("api"), FailureMode::FailOpen).protecting(Protects::ApiHeavy);
    let login = Preset::Login.policy(name("login"), FailureMode::FailClosed);
    let policies = PolicySet::builder().policy(api.limit(by_org)).policy(login);
    let target = Target::parse(url).unwrap().with_timeout(Duration::from_secs(2));
    let store = RedisStore::new(target, &secret()).unwrap();
    Arc::new(Engine::new(store, policies.build(None).unwrap()).sharing(&secret()))
}

/// Decides one request of a flood; whether there was a decision.
async fn ask(engine: &Engine<RedisStore>, policy: &str, number: u32) -> bool {
    let set = Arc::clone(&engine.policies());
    let (org, account) = (format!("org{}", number % 100), format!("a{number}"));
    let account = Account::new(&account);
    let subject = Subject::new().org(&org).account(&account).ip(Ipv4Addr::from(number).into());
    let mut case = Case::new(set.get(policy).unwrap(), &subject);
    engine.decide(&mut case).await.is_ok()
}

/// So many requests at once.
async fn flood(engine: &Arc<Engine<RedisStore>>, policy: &'static str, count: u32) -> Tally {
    let mut requests = JoinSet::new();
    for number in 0..count {
        let engine = Arc::clone(engine);
        requests.spawn(async move { ask(&engine, policy, number).await });
    }
    let mut tally = Tally::default();
    while let Some(decided) = requests.join_next().await {
        match decided.unwrap() {
            true => tally.decided += 1,
            false => tally.shed += 1,
        }
    }
    tally
}

fn mode(engine: &Engine<RedisStore>, policy: &str) -> Mode {
    engine.standing(policy).unwrap().mode
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t24_nine_thousand_requests_at_once_trip_nothing() {
    let server = place::server().await;
    let engine = node(&place::url(server.addr()));
    assert!(ask(&engine, "api", 0).await, "connected");
    for policy in ["api", "login"] {
        let tally = flood(&engine, policy, 9_000).await;
        println!("{policy}: {tally:?}, {:?}", engine.record(policy).unwrap());
        // What is no decision was shed, and nothing else went wrong with it.
        assert_eq!(engine.record(policy).unwrap().shed, tally.shed);
        assert!(tally.decided > 0 && tally.shed > 0, "{policy}: {tally:?}");
        assert_eq!(mode(&engine, policy), Mode::Normal, "{policy}: {tally:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t24_ninety_thousand_requests_at_once_trip_nothing() {
    let server = place::server().await;
    let engine = node(&place::url(server.addr()));
    assert!(ask(&engine, "api", 0).await && ask(&engine, "login", 0).await, "connected");
    let api = flood(&engine, "api", 90_000).await;
    let login = flood(&engine, "login", 10_000).await;
    println!("api {api:?}, login {login:?}");
    assert!(api.decided > 0 && api.shed > 0 && login.decided > 0, "{api:?} {login:?}");
    for policy in ["api", "login"] {
        let record = engine.record(policy).unwrap();
        assert_eq!(mode(&engine, policy), Mode::Normal, "{policy}: {record:?}");
    }
    assert_eq!(engine.record("api").unwrap().shed, api.shed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p03_a_flood_of_one_policy_sheds_nothing_of_another() {
    let server = place::server().await;
    let engine = node(&place::url(server.addr()));
    assert!(ask(&engine, "login", 0).await, "connected");
    let flooded = tokio::spawn({
        let engine = Arc::clone(&engine);
        async move { flood(&engine, "api", 50_000).await }
    });
    for number in 0..200 {
        assert!(ask(&engine, "login", number).await, "login {number} is decided");
    }
    assert_eq!(engine.record("login").unwrap().shed, 0);
    assert_eq!(mode(&engine, "login"), Mode::Normal);
    assert!(flooded.await.unwrap().shed > 0, "it was a flood");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t24_a_store_that_stops_in_the_middle_of_a_flood_is_found_out() {
    let server = place::server().await;
    let engine = node(&place::url(server.addr()));
    assert!(ask(&engine, "api", 0).await, "connected");
    let stop = Arc::new(AtomicBool::new(false));
    let mut callers = JoinSet::new();
    for number in 0..2_000 {
        let (engine, stop) = (Arc::clone(&engine), Arc::clone(&stop));
        callers.spawn(async move {
            while !stop.load(Relaxed) {
                ask(&engine, "api", number).await;
                tokio::task::yield_now().await;
            }
        });
    }
    while engine.record("api").unwrap().shed == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(mode(&engine, "api"), Mode::Normal);
    server.pause();
    let found_out = async {
        while mode(&engine, "api") != Mode::Degraded {
            tokio::task::yield_now().await;
        }
    };
    let found_out = tokio::time::timeout(TRIPS_WITHIN, found_out).await;
    stop.store(true, Relaxed);
    server.resume();
    found_out.expect("a dead store trips within ten seconds (A2)");
    callers.join_all().await;
}
