//! The commit protocol, and the standby of a policy whose store fails, under loom: every interleaving
//! of two threads. Crowds of threads are raced for
//! real in the tests of `tidegate-test`.
//!
//! Run by `cargo xtask test`, or by hand with
//! `RUSTFLAGS="--cfg loom" cargo test --release -p tidegate-engine --test loom`.

#![cfg(loom)]

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;
use tidegate_core::{
    Account, Amended, Amendment, Batch, Blocks, Bucket, Case, CounterRef, Counts, Digests,
    Dimension, FailureMode, Limit, ManualClock, Mode, Name, Page, Period, PolicySet, PolicySpec,
    Preset, Quota, Rate, Readings, Receipt, Scope, Settlement, Shape, Signal, Span, Store,
    StoreError, Subject, Timestamp, fold,
};
use tidegate_engine::memory::{Budget, MemoryStore};
use tidegate_engine::{Engine, Event, ready};

const NOW: Timestamp = Timestamp::from_micros(1_000_000);

/// Tiny on purpose: loom looks at every order of every word.
fn store() -> Arc<MemoryStore<ManualClock>> {
    Arc::new(MemoryStore::tiny(ManualClock::new(NOW)))
}

fn bucket(name: &str, scope: &[Dimension], burst: u64) -> Limit {
    let rate = Rate::try_new(1, Span::DAY).unwrap();
    let shape = Shape::Bucket(Bucket::try_new(rate, burst).unwrap());
    Limit::new(Name::try_new(name).unwrap(), Scope::of(scope.iter().copied()), shape)
}

fn quota(name: &str, count: u64) -> Limit {
    let period = Period::FirstUse(Span::DAY);
    let quota = Shape::Quota(Quota::try_new(count, period, Counts::Admitted).unwrap());
    Limit::new(Name::try_new(name).unwrap(), Scope::of([Dimension::Org]), quota)
}

fn policies(limits: impl IntoIterator<Item = Limit>) -> Arc<PolicySet> {
    let spec = PolicySpec::new(Name::try_new("p").unwrap(), FailureMode::FailOpen);
    let spec = limits.into_iter().fold(spec, PolicySpec::limit);
    Arc::new(PolicySet::builder().policy(spec).build(None).unwrap())
}

fn admits(store: &MemoryStore<ManualClock>, policies: &PolicySet, subject: &Subject<'_>) -> bool {
    admits_by(store, policies, "p", subject)
}

fn admits_by(
    store: &MemoryStore<ManualClock>,
    policies: &PolicySet,
    policy: &str,
    subject: &Subject<'_>,
) -> bool {
    let mut case = Case::new(policies.get(policy).unwrap(), subject);
    case.resolve(&Digests::new([1, 2]));
    let (batch, readings) = case.ask();
    ready(store.charge(batch, readings)).unwrap().unwrap();
    fold(&mut case).is_admitted()
}

/// Looks at every interleaving. Searching a group takes more steps than loom allows by itself.
fn explore(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.max_branches = 10_000;
    builder.check(model);
}

/// Runs `subjects` on one thread each and counts the admitted.
fn race(policies: &Arc<PolicySet>, subjects: &[Subject<'static>]) -> u64 {
    race_by(policies, subjects.iter().cloned().map(|subject| ("p", subject)))
}

/// The same, each by its policy.
fn race_by(
    policies: &Arc<PolicySet>,
    subjects: impl IntoIterator<Item = (&'static str, Subject<'static>)>,
) -> u64 {
    let (store, admitted) = (store(), Arc::new(AtomicU64::new(0)));
    let threads: Vec<_> = subjects
        .into_iter()
        .map(|(policy, subject)| {
            let (store, policies, admitted) = (store.clone(), policies.clone(), admitted.clone());
            thread::spawn(move || {
                if admits_by(&store, &policies, policy, &subject) {
                    admitted.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    admitted.load(Ordering::Relaxed)
}

#[test]
fn t15_two_newcomers_of_one_key_share_one_entry() {
    explore(|| {
        let policies = policies([bucket("a", &[Dimension::Org], 1)]);
        let acme = Subject::new().org("acme");
        assert_eq!(race(&policies, &[acme.clone(), acme]), 1, "the last token is taken once");
    });
}

#[test]
fn a_batch_is_charged_whole_or_not_at_all_in_either_order() {
    explore(|| {
        // Both threads need both limits, which are on different shelves, in opposite order.
        let spec = |policy: &str, limits: [&str; 2]| {
            let spec = PolicySpec::new(Name::try_new(policy).unwrap(), FailureMode::FailOpen);
            let names = limits.map(|limit| Name::try_new(limit).unwrap());
            names.into_iter().fold(spec, PolicySpec::shared_limit)
        };
        let policies = PolicySet::builder()
            .shared(bucket("burst", &[Dimension::Org], 2))
            .shared(quota("quota", 1))
            .policy(spec("one", ["burst", "quota"]))
            .policy(spec("other", ["quota", "burst"]));
        let policies = Arc::new(policies.build(None).unwrap());
        let acme = Subject::new().org("acme");
        assert_eq!(race_by(&policies, [("one", acme.clone()), ("other", acme)]), 1);
    });
}

#[test]
fn two_keys_that_compete_for_the_last_place_are_both_counted() {
    explore(|| {
        let policies = policies([bucket("a", &[Dimension::Org], 1)]);
        let (one, other) = (Subject::new().org("one"), Subject::new().org("other"));
        let store = store();
        // The only group has five places; four are taken.
        for org in ["a", "b", "c", "d"] {
            assert!(admits(&store, &policies, &Subject::new().org(org)));
        }
        let threads: Vec<_> = [one.clone(), other.clone()]
            .into_iter()
            .map(|subject| {
                let (store, policies) = (store.clone(), policies.clone());
                thread::spawn(move || admits(&store, &policies, &subject))
            })
            .collect();
        let admitted: Vec<bool> =
            threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        assert!(admitted.contains(&true), "one place was free");
        // Wherever they ended up, in an entry or in a cell, neither has anything left.
        assert!(!admits(&store, &policies, &one));
        assert!(!admits(&store, &policies, &other));
    });
}

#[test]
fn a_bucket_and_a_quota_are_charged_together() {
    explore(|| {
        let policies = policies([bucket("burst", &[Dimension::Org], 2), quota("quota", 1)]);
        let acme = Subject::new().org("acme");
        assert_eq!(race(&policies, &[acme.clone(), acme]), 1);
    });
}

/// A store that others could share, and that is gone.
struct Gone;

impl Store for Gone {
    fn name(&self) -> &'static str {
        "gone"
    }

    async fn charge(&self, _: &Batch<'_>, _: &mut Readings) -> Result<(), StoreError> {
        Err(StoreError::Unavailable)
    }

    async fn peek(&self, _: &Batch<'_>, _: &mut Readings) -> Result<(), StoreError> {
        Err(StoreError::Unavailable)
    }

    async fn settle(&self, _: &Settlement<'_>) -> Result<Receipt, StoreError> {
        Err(StoreError::Unavailable)
    }

    async fn amend(
        &self,
        _: CounterRef<'_>,
        _: Amendment,
        within: Span,
    ) -> Result<Amended, StoreError> {
        Err(StoreError::Unavailable)
    }

    async fn blocks(&self, _: Page<'_>, _: Span) -> Result<Blocks, StoreError> {
        Err(StoreError::Unavailable)
    }

    async fn probe(&self, _: &Batch<'_>) -> Result<(), StoreError> {
        Err(StoreError::Unavailable)
    }
}

/// A node whose store is gone, how often it was told to have tripped, and its policy of logins.
fn node() -> (Arc<Engine<Gone>>, std::sync::Arc<std::sync::atomic::AtomicUsize>) {
    let login = Preset::Login.policy(Name::try_new("p").unwrap(), FailureMode::FailClosed);
    let set = PolicySet::builder().policy(login).build(None).unwrap();
    let trips = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let heard = std::sync::Arc::clone(&trips);
    let engine = Engine::with_digests(Gone, set, Digests::new([1, 2]))
        .timed_by(std::sync::Arc::new(ManualClock::new(NOW)))
        .told_at_once(std::sync::Arc::new(move |event: &Event| {
            if matches!(event, Event::Failover { signal: Signal::Changed(_), .. }) {
                heard.fetch_add(1, Ordering::Relaxed);
            }
        }));
    (Arc::new(engine), trips)
}

/// Decides a login, and says in which mode and whether it passes.
fn login(engine: &Engine<Gone>) -> (Mode, bool) {
    let (set, account) = (engine.policies(), Account::new("ann"));
    let subject = Subject::new().account(&account).ip([203, 0, 113, 9].into());
    let mut case = Case::new(set.get("p").unwrap(), &subject);
    let decision = ready(engine.decide(&mut case)).unwrap().unwrap();
    (decision.mode(), decision.is_admitted())
}

#[test]
fn p45_two_attempts_at_the_last_place_of_an_account_get_it_once() {
    explore(|| {
        let (engine, _) = node();
        for _ in 0..3 {
            assert_eq!(login(&engine), (Mode::FailClosed, false), "until it trips");
        }
        for _ in 0..2 {
            assert_eq!(login(&engine), (Mode::Degraded, true));
        }
        let other = engine.clone();
        let raced = thread::spawn(move || login(&other));
        let (one, two) = (login(&engine), raced.join().unwrap());
        assert_eq!(u8::from(one.1) + u8::from(two.1), 1, "{one:?} {two:?}");
    });
}

#[test]
fn p60_failures_a_probe_and_a_decision_that_race_trip_once_and_tell_it_before_anybody_acts_on_it() {
    explore(|| {
        let (engine, trips) = node();
        assert_eq!(login(&engine), (Mode::FailClosed, false));
        let other = engine.clone();
        let told = trips.clone();
        let raced = thread::spawn(move || {
            for due in other.poll(NOW) {
                ready(other.probe(due)).unwrap();
            }
            let decided = login(&other);
            (decided, told.load(Ordering::Relaxed))
        });
        let here = login(&engine);
        let here = (here, trips.load(Ordering::Relaxed));
        let there = raced.join().unwrap();
        for ((mode, admitted), told) in [here, there] {
            match mode {
                Mode::Degraded => {
                    assert!(admitted && told == 1, "decided locally before it was told")
                }
                Mode::FailClosed => assert!(!admitted),
                Mode::Normal | Mode::FailOpen => panic!("{mode:?} with a store that is gone"),
            }
        }
        assert_eq!(trips.load(Ordering::Relaxed), 1);
        assert_eq!(engine.standing("p").unwrap().mode, Mode::Degraded);
    });
}
