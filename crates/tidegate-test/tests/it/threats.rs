//! Attacks on what counts attempts (`threats.md`), each as a test.

use core::future::Future;
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use std::sync::Arc;

use tidegate_core::{
    Account, Bucket, Case, Cost, Counts, Dimension, Limit, ManualClock, PolicySet, Rate, Scope,
    Shape, Span, Subject, Window,
};
use tidegate_engine::Engine;
use tidegate_test::drive::digests;
use tidegate_test::ready;
use tidegate_test::stub::Waiting;
use tidegate_test::trace::START;

use crate::blocks::{attempt, by_account, climbing, dual, engine, hammer, name, policies};
use crate::memory;

/// A store whose answer comes a moment after it is done, so that whoever asked can be gone by then.
fn late(clock: Arc<ManualClock>) -> Waiting {
    let store = Waiting::over(memory::roomy(clock));
    store.wire().wait(0, 1);
    store
}

fn forgiving() -> PolicySet {
    policies([by_account("l", climbing(4)).forgiving()])
}

/// Somebody who sends many guesses at once and hangs up before any is answered.
#[test]
fn t16_an_attempt_counts_though_nobody_waits_for_the_answer() {
    let (_, engine) = engine(forgiving(), late);
    let who = Account::new("a");
    let (set, subject) = (engine.policies(), Subject::new().account(&who));
    for _ in 0..3 {
        let mut case = Case::new(set.get("p").unwrap(), &subject);
        let mut asked = pin!(engine.decide(&mut case));
        let poll = asked.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(poll, Poll::Pending), "hung up here");
    }
    let mut case = Case::new(set.get("p").unwrap(), &subject);
    let seen = ready(engine.peek(&mut case)).unwrap();
    assert!(!seen.is_admitted());
    assert_eq!(seen.explain().next().unwrap().reading.attempts.unwrap().temp, 3);
}

/// What counts an attempt is the decision, not what the caller does after it: whether it verifies,
/// fails, rolls back or never comes back.
#[test]
fn t16_an_attempt_is_counted_before_it_is_verified() {
    let (_, engine) = engine(forgiving(), memory::roomy);
    let who = Account::new("a");
    let (set, subject) = (engine.policies(), Subject::new().account(&who));
    let passed = (0..10).filter(|_| {
        let mut case = Case::new(set.get("p").unwrap(), &subject);
        let decision = ready(engine.decide(&mut case)).unwrap();
        // The ticket is lost with the caller.
        drop(engine.ticket(&decision));
        decision.is_admitted()
    });
    assert_eq!(passed.count(), 3);
}

/// Decisions that are made together and verified later, as parallel guesses are.
#[test]
fn t15_guesses_in_parallel_pass_no_more_than_guesses_in_turn() {
    let (_, engine) = engine(forgiving(), memory::roomy);
    let passed: usize = std::thread::scope(|scope| {
        let one = || (0..30).filter(|_| attempt(&engine, "a").0).count();
        let threads: Vec<_> = (0..30).map(|_| scope.spawn(one)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(passed, 3);
}

/// Ten thousand sessions, each with a device, a token and an address of its own, on one account.
#[test]
fn t18_the_cap_of_an_account_holds_over_all_sessions() {
    let (clock, engine) = engine(policies([by_account("l", climbing(6))]), memory::roomy);
    let set = engine.policies();
    let mut passed = 0;
    for session in 0..10_000_u32 {
        let token = format!("session {session}");
        let [_, a, b, c] = session.to_be_bytes();
        let who = Account::new("a");
        let subject = Subject::new()
            .account(&who)
            .token(&token)
            .with(Dimension::Device, token.as_bytes())
            .ip([10, a, b, c].into());
        let mut case = Case::new(set.get("p").unwrap(), &subject);
        passed += usize::from(ready(engine.decide(&mut case)).unwrap().is_admitted());
        clock.advance(Span::from_millis(50));
    }
    // 500 s hold the blocks L1, L2 and L3, which take 375 s, and a part of L4.
    assert_eq!(passed, 4 * 5, "five before each block, however many sessions");
}

/// A day of attempts by somebody else, every second.
#[test]
fn t19_a_device_the_host_vouches_for_is_not_locked_out() {
    let set = policies([
        by_account("strangers", climbing(6)).unless(Dimension::Device),
        Limit::new(
            name("devices"),
            Scope::of([Dimension::Account, Dimension::Device]),
            Shape::Attempts(climbing(6)),
        ),
    ]);
    let (clock, engine) = engine(set, memory::roomy);
    let who = Account::new("a");
    let (set, owner) = (engine.policies(), Subject::new().account(&who));
    let owner = owner.with(Dimension::Device, b"known");
    let (mut guesses, mut logins) = (0, 0);
    for second in 0..86_400 {
        guesses += usize::from(attempt(&engine, "a").0);
        if second % 600 == 0 {
            let mut case = Case::new(set.get("p").unwrap(), &owner);
            logins += usize::from(ready(engine.decide(&mut case)).unwrap().is_admitted());
        }
        clock.advance(Span::SECOND);
    }
    assert_eq!(logins, 144, "every one of the owner's");
    // Blocks up to L5 take 23,775 s and that of L6 the rest of the day.
    assert_eq!(guesses, 6 * 5, "five before each of the six blocks");
    clock.advance(Span::DAY);
    assert!(attempt(&engine, "a").0, "and nobody is locked out for good");
}

#[test]
fn t21_an_attempt_is_one_whatever_it_says_it_weighs() {
    let (_, engine) = engine(policies([by_account("l", dual(4, 9)).settling()]), memory::roomy);
    let who = Account::new("a");
    let (set, subject) = (engine.policies(), Subject::new().account(&who));
    let mut passed = 0;
    for weight in [1, 2, 1_000, (1 << 53) - 1, 1, 7] {
        let weight = Cost::try_new(weight).unwrap();
        let mut case = Case::new(set.get("p").unwrap(), &subject).weighing(weight);
        passed += usize::from(ready(engine.decide(&mut case)).unwrap().is_admitted());
    }
    assert_eq!(passed, 3);
}

#[test]
fn t21_success_lifts_no_block_and_gives_nothing_back_twice() {
    let clock = Arc::new(ManualClock::new(START));
    let store = memory::roomy(Arc::clone(&clock));
    let engine = Engine::with_digests(store, forgiving(), digests());
    let who = Account::new("a");
    let (set, subject) = (engine.policies(), Subject::new().account(&who));
    let mut case = Case::new(set.get("p").unwrap(), &subject);
    let decision = ready(engine.decide(&mut case)).unwrap();
    let ticket = engine.ticket(&decision).unwrap();
    hammer(&engine, "a", 3);
    assert!(!attempt(&engine, "a").0, "blocked");
    assert!(ready(engine.settle(ticket.as_str(), 0)).is_ok());
    assert!(!attempt(&engine, "a").0, "the block stays");
    clock.advance(Span::from_secs(15));
    assert!(attempt(&engine, "a").0);
    for _ in 0..10 {
        assert!(ready(engine.settle(ticket.as_str(), 0)).is_err(), "settled before");
    }
    assert_eq!((0..10).filter(|_| attempt(&engine, "a").0).count(), 2);
}

/// As much as can be had at the end of one window, and again at the beginning of the next.
#[test]
fn t23_no_edge_of_a_window_is_worth_more() {
    let window = Shape::Window(Window::try_new(10, Span::MINUTE, Counts::Admitted).unwrap());
    let bucket = Shape::Bucket(Bucket::try_new(Rate::per_minute(10).unwrap(), 10).unwrap());
    let edges = [60, 3_600, 86_400];
    // A window gives nothing back before a minute is over, a bucket one every six seconds.
    for (early, refilled) in [(1, 0), (7, 1), (29, 5)] {
        for (shape, edge, expected) in edges
            .into_iter()
            .flat_map(|edge| [(window.clone(), edge, 0), (bucket.clone(), edge, refilled)])
        {
            let limit = Limit::new(name("l"), Scope::of([Dimension::Account]), shape);
            let (clock, engine) = engine(policies([limit]), memory::roomy);
            let pass = |seconds| clock.set(START.after(Span::from_secs(seconds)));
            let admitted = || (0..100).filter(|_| attempt(&engine, "a").0).count();
            pass(edge - early);
            assert_eq!(admitted(), 10);
            pass(edge);
            let before = admitted();
            pass(edge + 1);
            assert_eq!(before + admitted(), expected, "{early} s before and 1 s after {edge} s");
        }
    }
}
