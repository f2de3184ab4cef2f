//! Plans: an engine that learns numbers while requests come.

use tidegate_core::{Dimension, PolicySet, Span, Subject};

use crate::world::{START, World, bucket, limit, name, policy, quota, room_for, together};

fn policies() -> PolicySet {
    policy([
        limit("burst", &[Dimension::Org], bucket(1, Span::HOUR, 10)),
        limit("day", &[Dimension::Org], quota(100, Span::DAY)),
    ])
}

#[test]
fn who_changes_the_plan_keeps_what_was_counted() {
    let world = World::new(room_for(100), policies());
    let numbers =
        [(name("burst"), bucket(1, Span::HOUR, 50)), (name("day"), quota(1_000, Span::DAY))];
    world.engine.learn("gold", &numbers).unwrap();
    let (usual, gold) = (Subject::new().org("acme"), Subject::new().org("acme").plan("gold"));
    assert_eq!(world.admitted_of(20, &usual), 10);
    let left = |subject: &Subject<'_>| {
        let readings = world.peek(0, subject);
        readings.iter().map(|reading| reading.remaining).collect::<Vec<_>>()
    };
    assert_eq!(left(&usual), [0, 90]);
    // Nothing is granted by the change: the bucket is as empty, the quota is used as much.
    assert_eq!(left(&gold), [0, 990]);
    assert!(!world.admits(&gold));
    world.clock.set(START.after(Span::HOUR));
    assert_eq!(world.admitted_of(20, &gold), 1);
    assert_eq!(left(&gold), [0, 989]);
    assert_eq!(left(&usual), [0, 89], "and back");
    // Another organisation of the plan has a counter of its own.
    assert_eq!(world.admitted_of(100, &Subject::new().org("other").plan("gold")), 50);
}

#[test]
fn a_plan_is_learnt_once_and_forgotten_by_a_reload() {
    let world = World::new(room_for(100), policies());
    let gold = Subject::new().org("acme").plan("gold");
    let learn =
        |burst| world.engine.learn("gold", &[(name("burst"), bucket(1, Span::HOUR, burst))]);
    learn(50).unwrap();
    let taught = world.engine.policies().clone();
    learn(70).unwrap();
    assert!(std::sync::Arc::ptr_eq(&taught, &world.engine.policies()), "it was known");
    assert_eq!(world.admitted_of(100, &gold), 50);

    let limits =
        ["burst", "day"].map(|title| limit(title, &[Dimension::Org], quota(100, Span::DAY)));
    let next = PolicySet::builder().policy(crate::world::spec("p", limits));
    world.engine.reload(&next).unwrap();
    assert!(!world.engine.policies().knows_plan("gold"));
    assert!(learn(50).is_err(), "the limit is none of buckets any more");
    assert!(!world.engine.policies().knows_plan("gold"), "and nothing was changed");
}

#[test]
fn t15_threads_that_teach_at_once_lose_no_plan() {
    let world = World::new(room_for(100), policies());
    let plans = |thread: u64| (0..16).map(move |plan| format!("plan-{}", (plan + thread) % 16));
    let taught = together(4, |thread| {
        let burst = |thread| bucket(1, Span::HOUR, 20 + thread);
        let taught =
            plans(thread).map(|plan| world.engine.learn(&plan, &[(name("burst"), burst(thread))]));
        taught.filter(Result::is_ok).count()
    });
    assert_eq!(taught, 4 * 16);
    let set = world.engine.policies();
    assert!(plans(0).all(|plan| set.knows_plan(&plan)));
    for plan in plans(0) {
        let subject = Subject::new().org(&plan).plan(&plan);
        let admitted = world.admitted_of(100, &subject);
        assert!((20..24).contains(&admitted), "{plan}: {admitted}, the numbers of one of them");
    }
}
