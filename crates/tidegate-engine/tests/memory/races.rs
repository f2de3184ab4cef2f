//! T15: a limit that many threads run into at once is exact.
//!
//! Checking first and counting afterwards admits 111 to 117 of 100, as peers do. The clock stands
//! still where a total must be exact, so that nothing is refilled and every unit is accounted for.

use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};

use tidegate_core::{Dimension, PolicySet, Shape, Span, Subject};

use crate::world::{
    Dice, ONE_GROUP, World, attempts, bucket, ladder, limit, per_user, quota,
    quota_since_first_use, room_for, spec, together, window,
};

const THREADS: u64 = 64;

/// Each thread asks so often in a round: together almost twice what is there.
const TRIES: usize = 3;

/// Every shape with the most it admits. Sixty fit the window that is kept as times.
fn shapes() -> [(Shape, usize); 7] {
    [
        (bucket(1, Span::DAY, 100), 100),
        (quota(100, Span::DAY), 100),
        (quota_since_first_use(100, Span::DAY), 100),
        (window(60, Span::DAY), 60),
        (window(100, Span::DAY), 100),
        (attempts(61, Span::DAY), 60),
        (ladder(61, Span::DAY), 60),
    ]
}

/// Lets all threads ask for the same new key in each round, and returns what each key was given.
fn race(world: &World, rounds: usize, meanwhile: impl Fn(u64, usize) + Sync) -> Vec<usize> {
    let barrier = Barrier::new(usize::try_from(THREADS).unwrap());
    let given: Vec<AtomicUsize> = (0..rounds).map(|_| AtomicUsize::new(0)).collect();
    together(THREADS, |thread| {
        for (round, given) in given.iter().enumerate() {
            let key = format!("round {round}");
            let subject = Subject::new().user(&key);
            barrier.wait();
            for _ in 0..TRIES {
                given.fetch_add(usize::from(world.admits(&subject)), Ordering::Relaxed);
                meanwhile(thread, round);
            }
        }
        0
    });
    given.into_iter().map(AtomicUsize::into_inner).collect()
}

#[test]
fn t15_64_threads_on_a_limit_of_100_admit_exactly_100() {
    for (shape, most) in shapes() {
        let world = World::new(room_for(1_000), per_user(shape.clone()));
        let given = race(&world, 40, |_, _| {});
        assert!(given.iter().all(|given| *given == most), "{shape:?}: {given:?}");
    }
}

/// The limit of the race, and one by which organisations come and go: `quick` entries are taken
/// over all the time, `lasting` ones never.
fn with_neighbours(shape: Shape, lasting: bool) -> PolicySet {
    let length = if lasting { Span::DAY } else { Span::from_micros(1) };
    let neighbour = match shape {
        Shape::Bucket(_) => bucket(1, length, 1),
        Shape::Quota(_) => quota(1, length),
        Shape::Window(_) => window(1, length),
        Shape::Attempts(_) => attempts(2, length),
    };
    let own = spec("p", [limit("l", &[Dimension::User], shape)]);
    let neighbours = spec("z", [limit("n", &[Dimension::Org], neighbour)]);
    PolicySet::builder().policy(own).policy(neighbours).build(None).unwrap()
}

#[test]
fn t15_neighbours_that_come_and_go_in_the_same_group_change_nothing() {
    for (shape, most) in shapes() {
        // One round in one group: room for the key, and for one more that always is another.
        for round in 0..20 {
            let world = World::new(ONE_GROUP, with_neighbours(shape.clone(), false));
            let ticks = AtomicUsize::new(0);
            let given = race(&world, 1, |thread, _| {
                let tick = ticks.fetch_add(1, Ordering::Relaxed);
                if thread.is_multiple_of(2) {
                    world.clock.advance(Span::from_micros(2));
                    world.admits_by(1, &Subject::new().org(&tick.to_le_bytes()));
                }
            });
            assert!((1..=most).contains(&given[0]), "round {round}, {shape:?}: {given:?}");
        }
    }
}

#[test]
fn t15_neighbours_that_stay_in_the_same_group_change_nothing() {
    for (shape, most) in shapes() {
        for round in 0..20 {
            // The key and two others fit the smallest group there is.
            let world = World::new(ONE_GROUP, with_neighbours(shape.clone(), true));
            let given = race(&world, 1, |thread, _| {
                world.admits_by(1, &Subject::new().org(&[b"ab"[usize::from(thread % 2 == 0)]]));
            });
            assert_eq!(given, [most], "round {round}, {shape:?}");
        }
    }
}

#[test]
fn t15_a_table_that_is_full_of_others_admits_no_more() {
    for (shape, most) in shapes() {
        let world = World::new(room_for(4), with_neighbours(shape.clone(), true));
        let given = race(&world, 40, |thread, round| {
            let org = Dice(thread << 32 | round as u64).below(64).to_le_bytes();
            world.admits_by(1, &Subject::new().org(&org));
        });
        assert!(given.iter().all(|given| *given <= most), "{shape:?}: {given:?}");
        assert!(given.iter().any(|given| *given > 0), "{shape:?}: nobody was served");
    }
}

/// Two threads that begin each round within nanoseconds of each other: neither sleeps in between.
struct Starter {
    arrived: AtomicUsize,
}

impl Starter {
    /// Waits until both have come for the `nth` time.
    fn wait(&self, nth: usize) {
        self.arrived.fetch_add(1, Ordering::AcqRel);
        let mut spins = 0_u32;
        while self.arrived.load(Ordering::Acquire) < 2 * nth {
            spins += 1;
            if spins.is_multiple_of(1_000) {
                std::thread::yield_now();
            }
            std::hint::spin_loop();
        }
    }
}

/// The only entry that can be taken over is raced for: by the key it is of, which has seen it without
/// a lock, and by a newcomer. Whoever loses is counted in a cell. Each has one unit in each round.
fn race_for_an_entry(shape: Shape) {
    let others = if matches!(shape, Shape::Window(_)) { 6 } else { 4 };
    let world = World::new(ONE_GROUP, with_neighbours(shape, true));
    for other in 0..others {
        assert!(world.admits_by(1, &Subject::new().org(&[b'o', other])));
    }
    let starter = Starter { arrived: AtomicUsize::new(0) };
    // Nobody fails on the way: the other one would wait for ever.
    let wrong = together(2, |racer| {
        let mut wrong = 0;
        for round in 0..10_000_usize {
            if racer == 0 {
                // The key gets its place, and then only seems to have it.
                world.clock.advance(Span::from_micros(2));
                wrong += usize::from(!world.admits(&Subject::new().user("regular")));
                world.clock.advance(Span::from_micros(2));
            }
            starter.wait(2 * round + 1);
            let newcomer = round.to_le_bytes();
            let user: &[u8] = if racer == 0 { b"regular" } else { &newcomer };
            let given = [(); 3].map(|()| world.admits(&Subject::new().user(user)));
            wrong += usize::from(given != [true, false, false]);
            starter.wait(2 * round + 2);
        }
        wrong
    });
    assert_eq!(wrong, 0, "requests were not answered as if they were alone");
}

#[test]
fn t15_an_entry_taken_over_while_its_key_comes_back_loses_no_charge() {
    let tick = Span::from_micros(1);
    for shape in [bucket(1, tick, 1), quota_since_first_use(1, tick), window(1, tick)] {
        race_for_an_entry(shape);
    }
}
