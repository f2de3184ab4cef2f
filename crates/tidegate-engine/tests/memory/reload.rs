//! Policies are swapped while threads decide: nobody is given more than the larger numbers allow.
//!
//! A decision may have begun under the numbers of before and meet a counter written under those of
//! after, which it has never heard of. That may refuse it; it must not grant anything.

use std::sync::atomic::{AtomicUsize, Ordering};

use tidegate_core::{Dimension, PolicySet, Shape, Span, Subject};
use tidegate_engine::memory::Budget;

use crate::world::{
    World, bucket, limit, per_user, quota, quota_since_first_use, room_for, spec, together, window,
};

const THREADS: u64 = 4;
const KEYS: u64 = 60;

/// Fewer and more of every shape; both ways of keeping a window, and from one to the other.
fn numbers() -> [(Shape, Shape); 6] {
    [
        (bucket(1, Span::DAY, 50), bucket(1, Span::DAY, 100)),
        (bucket(1, Span::DAY, 50), bucket(3, Span::DAY, 100)),
        (quota(50, Span::DAY), quota(100, Span::DAY)),
        (quota_since_first_use(50, Span::DAY), quota_since_first_use(100, Span::DAY)),
        (window(50, Span::DAY), window(100, Span::DAY)),
        (window(80, Span::HOUR), window(100, Span::DAY)),
    ]
}

/// Puts these numbers in force, as the successors of those that are.
fn put(world: &World, shape: &Shape) {
    let limits = spec("p", [limit("l", &[Dimension::User], shape.clone())]);
    world.engine.reload(&PolicySet::builder().policy(limits)).unwrap();
}

/// What each key is given by threads that ask for all of them, while the numbers change: at least
/// once for every key.
fn race(world: &World, numbers: &(Shape, Shape)) -> Vec<usize> {
    let given: Vec<AtomicUsize> = (0..KEYS).map(|_| AtomicUsize::new(0)).collect();
    let asking = AtomicUsize::new(usize::try_from(THREADS).unwrap());
    let swaps = AtomicUsize::new(0);
    together(THREADS + 1, |thread| {
        if thread == 0 {
            while asking.load(Ordering::Acquire) > 0 {
                let odd = swaps.load(Ordering::Relaxed) % 2 == 1;
                put(world, if odd { &numbers.0 } else { &numbers.1 });
                swaps.fetch_add(1, Ordering::Release);
            }
            return 0;
        }
        for (user, given) in given.iter().enumerate() {
            while swaps.load(Ordering::Acquire) <= user {
                std::thread::yield_now();
            }
            let user = u64::try_from(user).unwrap().to_le_bytes();
            let admitted = world.admitted_of(60, &Subject::new().user(&user));
            given.fetch_add(admitted, Ordering::Relaxed);
        }
        asking.fetch_sub(1, Ordering::Release);
        0
    });
    given.into_iter().map(AtomicUsize::into_inner).collect()
}

/// The least and the most that a key is given: while the numbers change, and then under the larger
/// ones until nothing is left.
fn given(budget: Budget, numbers: &(Shape, Shape)) -> (usize, usize) {
    let world = World::new(budget, per_user(numbers.0.clone()));
    let mut given = race(&world, numbers);
    put(&world, &numbers.1);
    for (user, given) in (0_u64..).zip(&mut given) {
        *given += world.admitted_of(200, &Subject::new().user(&user.to_le_bytes()));
    }
    (*given.iter().min().unwrap(), *given.iter().max().unwrap())
}

#[test]
fn t15_a_reload_under_threads_grants_nobody_more() {
    for numbers in numbers() {
        let (least, most) = given(room_for(1_000), &numbers);
        assert!(least >= 50 && most <= 100, "{least} to {most} of 50 or 100: {numbers:?}");
    }
}

#[test]
fn t15_a_reload_under_threads_grants_nobody_more_where_few_have_a_place() {
    for numbers in numbers() {
        let (_, most) = given(room_for(10), &numbers);
        assert!((50..=100).contains(&most), "{most} of 50 or 100: {numbers:?}");
    }
}
