//! Observers are told everything in order, and are never waited for.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{channel, sync_channel};
use std::thread;
use std::time::Duration;

use tidegate_core::{
    Bucket, Case, FailureMode, Limit, ManualClock, PolicySet, PolicySpec, Rate, Scope, Shape,
    Store, Subject,
};

use super::*;
use crate::memory::{Budget, MemoryStore};
use crate::outbox::CAPACITY;
use crate::{Engine, ready};

fn name(text: &str) -> Name {
    Name::try_new(text).unwrap()
}

fn policies(burst: u64) -> tidegate_core::PolicySetBuilder {
    let shape = Shape::Bucket(Bucket::try_new(Rate::per_minute(1).unwrap(), burst).unwrap());
    let limit = Limit::new(name("all"), Scope::GLOBAL, shape).settling();
    PolicySet::builder().policy(PolicySpec::new(name("p"), FailureMode::FailOpen).limit(limit))
}

fn engine(clock: &ManualClock) -> Engine<MemoryStore<&ManualClock>> {
    let budget = Budget { buckets: 10, quotas: 10, windows: 10, attempts: 16 };
    Engine::new(MemoryStore::new(budget, clock), policies(2).build(None).unwrap())
}

fn decide<S: Store>(engine: &Engine<S>) -> bool {
    let (set, subject) = (engine.policies(), Subject::new());
    let mut case = Case::new(set.get("p").unwrap(), &subject);
    ready(engine.decide(&mut case)).unwrap().unwrap().is_admitted()
}

#[test]
fn p80_observers_are_told_everything_in_order() {
    let clock = ManualClock::new(Timestamp::from_micros(1_800_000_000_000_000));
    let (told, events) = channel();
    let observer = move |event: &Event| told.send(event.clone()).unwrap();
    let engine = engine(&clock).observed_by(vec![Box::new(observer)]).unwrap();
    assert_eq!([decide(&engine), decide(&engine), decide(&engine)], [true, true, false]);
    engine.reload(&policies(5)).unwrap();
    assert!(
        engine
            .reload(&PolicySet::builder().policy(PolicySpec::new(name("p"), FailureMode::FailOpen)))
            .is_err()
    );
    drop(engine);
    let events: Vec<Event> = events.iter().collect();
    let verdicts = events.iter().filter_map(|event| match event {
        Event::Decided { verdict, .. } => Some(verdict.name()),
        _ => None,
    });
    assert!(verdicts.eq(["admit", "admit", "deny"]));
    assert!(matches!(&events[3..], [Event::Reloaded { policies: 1 }, Event::ReloadRefused { .. }]));
}

#[test]
fn p81_an_observer_that_blocks_delays_no_decision_and_what_is_lost_is_counted() {
    let clock = ManualClock::new(Timestamp::ZERO);
    let (release, blocked) = sync_channel::<()>(0);
    let mut first = true;
    let observer = move |_: &Event| {
        if core::mem::take(&mut first) {
            let _ = blocked.recv();
        }
    };
    let engine = engine(&clock).observed_by(vec![Box::new(observer)]).unwrap();
    let decisions = CAPACITY + 1_000;
    // All of them are answered while the observer has not finished with the first.
    let admitted = (0..decisions).filter(|_| decide(&engine)).count();
    assert_eq!(admitted, 2);
    // One is with the observer, or on its way there.
    let lost = usize::try_from(engine.dropped_events()).unwrap();
    assert!((999..=1_000).contains(&lost), "{lost} lost");
    drop(release);
}

#[test]
fn p81_an_observer_that_panics_is_told_nothing_more_and_the_others_are() {
    let clock = ManualClock::new(Timestamp::ZERO);
    let (told, events) = channel();
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let panicking = move |_: &Event| {
        counted.fetch_add(1, Ordering::Relaxed);
        panic!("an observer's own trouble");
    };
    let other = move |event: &Event| told.send(event.clone()).unwrap();
    let engine = engine(&clock).observed_by(vec![Box::new(panicking), Box::new(other)]).unwrap();
    assert_eq!([decide(&engine), decide(&engine), decide(&engine)], [true, true, false]);
    assert_eq!(engine.dropped_events(), 0);
    drop(engine);
    assert_eq!(events.iter().count(), 3);
    assert_eq!(calls.load(Ordering::Relaxed), 1, "told nothing more");
}

#[test]
fn nobody_is_told_of_a_look() {
    let clock = ManualClock::new(Timestamp::ZERO);
    let (told, events) = channel();
    let observer = move |event: &Event| told.send(event.clone()).unwrap();
    let engine = engine(&clock).observed_by(vec![Box::new(observer)]).unwrap();
    let set = engine.policies();
    let subject = Subject::new();
    for _ in 0..5 {
        let mut case = Case::new(set.get("p").unwrap(), &subject);
        let look = ready(engine.peek(&mut case)).unwrap().unwrap();
        assert!(look.is_admitted());
        assert_eq!(look.status().remaining, 2, "a look charges nothing");
    }
    drop(set);
    drop(engine);
    assert_eq!(events.iter().count(), 0);
}

#[test]
fn p81_an_observer_whose_end_panics_too_takes_nobody_along() {
    struct Bad;
    impl Observer for Bad {
        fn observe(&mut self, _: &Event) {
            panic!("first");
        }
    }
    impl Drop for Bad {
        fn drop(&mut self) {
            if !thread::panicking() {
                panic!("and again");
            }
        }
    }
    let clock = ManualClock::new(Timestamp::ZERO);
    let (told, events) = channel();
    let other = move |event: &Event| told.send(event.clone()).unwrap();
    let engine = engine(&clock).observed_by(vec![Box::new(Bad), Box::new(other)]).unwrap();
    assert_eq!([decide(&engine), decide(&engine), decide(&engine)], [true, true, false]);
    assert!(engine.finish_telling(Duration::from_secs(60)));
    assert_eq!(events.try_iter().count(), 3, "all of it has been told");
}

#[test]
fn a_file_that_was_refused_is_told() {
    let clock = ManualClock::new(Timestamp::ZERO);
    let (told, events) = channel();
    let observer = move |event: &Event| told.send(event.clone()).unwrap();
    let engine = engine(&clock).observed_by(vec![Box::new(observer)]).unwrap();
    engine.refuse_reload("not YAML");
    drop(engine);
    let reason = "not YAML".to_owned();
    assert_eq!(events.iter().collect::<Vec<_>>(), [Event::ReloadRefused { reason }]);
}

#[test]
fn p81_whoever_is_told_only_what_must_not_get_lost_is_told_that_and_decides_nothing() {
    let clock = ManualClock::new(Timestamp::from_micros(1_800_000_000_000_000));
    let (told, events) = channel();
    let (release, held) = sync_channel::<()>(0);
    let slow = move |event: &Event| {
        let _ = held.recv();
        told.send(event.clone()).unwrap();
    };
    let panicking = |_: &Event| panic!("a sink that panics");
    let engine = engine(&clock).signalled_to(vec![Box::new(panicking), Box::new(slow)]).unwrap();
    let amended = 2;
    for _ in 0..amended {
        assert_eq!([decide(&engine), decide(&engine), decide(&engine)], [true, true, false]);
        let (set, subject) = (engine.policies(), Subject::new());
        let mut case = Case::new(set.get("p").unwrap(), &subject);
        ready(engine.reset(&mut case, None)).unwrap().unwrap();
    }
    assert_eq!(engine.dropped_events(), 0);
    drop(release);
    drop(engine);
    let events: Vec<Event> = events.iter().collect();
    assert_eq!(events.len(), amended, "{events:?}");
    assert!(events.iter().all(|event| matches!(event, Event::Amended { .. })), "{events:?}");
}
