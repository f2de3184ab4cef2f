//! A decision in a few numbers, and as an error: with the store and without it.

use tidegate_core::{
    Backoff, Case, Cost, Counts, Dimension, FailureMode, Limit, PolicySet, PolicySpec, Protects,
    Scope, Shape, Span, Stage, Status, StoreError, Subject, Window,
};
use tidegate_engine::ready;

use crate::world::{START, World, name};

/// Three attempts in a minute, refused ones counted; whoever goes on waits two seconds, then four.
fn tries() -> PolicySet {
    let backoff = Backoff::exponential(Span::from_secs(2), 2, Span::MINUTE);
    let window = Window::try_new(3, Span::MINUTE, Counts::Attempts(Some(backoff))).unwrap();
    let limit = Limit::new(name("tries"), Scope::of([Dimension::Org]), Shape::Window(window));
    let spec = PolicySpec::new(name("tries"), FailureMode::FailOpen).protecting(Protects::ApiHeavy);
    PolicySet::builder().policy(spec.limit(limit)).build(None).unwrap()
}

/// What an error says about when to come back: after how long, and when, since the beginning.
type Back = (Option<u64>, Option<u64>);

/// Asks, and says what comes of it.
fn ask(world: &World, policy: &str, cost: u64) -> (Status, Option<Back>) {
    let set = world.engine.policies();
    let subject = Subject::new().org("acme").ip([203, 0, 113, 9].into());
    let mut case =
        Case::new(set.get(policy).unwrap(), &subject).weighing(Cost::try_new(cost).unwrap());
    let decision = ready(world.engine.decide(&mut case)).unwrap().unwrap();
    let error = decision.passed().err().map(|error| {
        let at = error.next_allowed_at().map(|at| at.since(START).as_micros());
        (error.retry_after().map(Span::as_micros), at)
    });
    (decision.status(), error)
}

const SECOND: u64 = 1_000_000;

#[test]
fn an_error_says_when_the_next_attempt_is_allowed() {
    for (wait, blocked) in [(60 * SECOND - 1, true), (60 * SECOND, false)] {
        let world = World::with(tries());
        world.probe();
        for _ in 0..3 {
            let (status, error) = ask(&world, "tries", 1);
            assert_eq!((status.blocked, error), (false, None));
            assert_eq!(status.next_allowed_at, Some(START), "at once");
        }
        world.clock.advance(Span::SECOND);
        let (status, error) = ask(&world, "tries", 1);
        assert_eq!((status.blocked, status.source), (true, Stage::Action));
        // Until the three are a minute old, and a sixtieth of it more: attempts are kept as sub-counts.
        assert_eq!(error, Some((Some(60 * SECOND), Some(61 * SECOND))));
        assert_eq!(status.backoff, Span::from_secs(2));
        // What never fits is never allowed.
        let (_, error) = ask(&world, "tries", 4);
        assert_eq!(error, Some((None, None)));
        world.clock.advance(Span::from_micros(wait));
        assert_eq!(ask(&world, "tries", 1).0.blocked, blocked, "{wait} µs later");
    }
}

#[test]
fn without_a_store_it_is_the_whole_node_that_decides() {
    let world = World::new();
    world.fail(Some(StoreError::Unavailable));
    let (status, error) = ask(&world, "admin", 1);
    assert_eq!((status.blocked, status.source), (true, Stage::Global), "nobody was asked");
    assert_eq!(error, Some((Some(10 * SECOND), Some(10 * SECOND))));
    // 60 in a minute by prefix and agent, and none of the policy's own limits.
    for _ in 0..60 {
        let (status, error) = ask(&world, "api", 1);
        assert_eq!((status.blocked, status.source, error), (false, Stage::Global, None));
        assert_eq!((status.limit, status.backoff), (60, Span::ZERO));
    }
    let (status, error) = ask(&world, "api", 1);
    assert_eq!((status.blocked, status.source), (true, Stage::Global));
    assert_eq!((status.remaining, status.backoff), (0, Span::ZERO));
    assert_eq!(error, Some((Some(60 * SECOND), Some(60 * SECOND))));
}
