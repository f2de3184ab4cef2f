//! T15 for several limits: all of them are charged or none, whoever else is asking.
//!
//! Charging one after the other and giving back on refusal makes others miss a token that is there,
//! or have one that is not. Here both would show: as a false denial, or as a counter that does not
//! agree with the decisions that name it.

use std::sync::atomic::{AtomicUsize, Ordering};

use tidegate_core::{Dimension, PolicySet, PolicySpec, Shape, Span, Subject};

use crate::world::{Dice, World, bucket, limit, name, quota, room_for, spec, together, window};

const ORG: &[Dimension] = &[Dimension::Org];
const USER: &[Dimension] = &[Dimension::User];
const TOKEN: &[Dimension] = &[Dimension::Token];
const BOTH: &[Dimension] = &[Dimension::Org, Dimension::User];

/// The limits the policies share, and what each holds.
fn limits() -> [(&'static str, &'static [Dimension], Shape); 6] {
    [
        ("a", ORG, bucket(1, Span::DAY, 400)),
        ("b", USER, bucket(1, Span::DAY, 300)),
        ("c", TOKEN, quota(350, Span::DAY)),
        ("d", BOTH, quota(120, Span::DAY)),
        ("e", TOKEN, window(500, Span::DAY)),
        ("f", BOTH, window(60, Span::DAY)),
    ]
}

/// Overlapping limits in different orders.
const POLICIES: [&str; 6] = ["ab", "bac", "cda", "edbac", "fa", "dfbe"];

/// The values of each dimension.
const VALUES: u64 = 3;

/// Policies named after their limits, and one for each limit alone.
fn policies() -> PolicySet {
    let mut builder = PolicySet::builder();
    for (of, scope, shape) in limits() {
        builder = builder.shared(limit(of, scope, shape));
    }
    let alone = limits().map(|(of, _, _)| of);
    for of in POLICIES.into_iter().chain(alone) {
        let letters = (0..of.len()).map(|at| name(&of[at..=at]));
        builder = builder.policy(letters.fold(spec(of, []), PolicySpec::shared_limit));
    }
    builder.build(None).unwrap()
}

/// Which counter of a limit a request is counted on.
fn counter(scope: &[Dimension], [org, user, token]: [u64; 3]) -> usize {
    let part = |dimension: &Dimension| match dimension {
        Dimension::Org => org,
        Dimension::User => user,
        _ => token,
    };
    let number = scope.iter().map(part).fold(0, |number, value| number * VALUES + value);
    usize::try_from(number).unwrap()
}

fn with_subject<T>(values: [u64; 3], asked: impl FnOnce(&Subject<'_>) -> T) -> T {
    let [org, user, token] = values.map(u64::to_le_bytes);
    asked(&Subject::new().org(&org).user(&user).token(&token))
}

#[test]
fn t15_every_counter_agrees_with_the_decisions_that_name_it() {
    for seed in 0..6 {
        let world = World::new(room_for(200), policies());
        let set = PolicySet::clone(&world.engine.policies());
        let counted: Vec<Vec<AtomicUsize>> =
            limits().map(|_| (0..9).map(|_| AtomicUsize::new(0)).collect()).into();
        together(8, |thread| {
            let mut dice = Dice(seed << 8 | thread);
            for _ in 0..2_000 {
                let values = [dice.below(VALUES), dice.below(VALUES), dice.below(VALUES)];
                let of = POLICIES[usize::try_from(dice.below(6)).unwrap()];
                let place = set.place(of).unwrap();
                if with_subject(values, |subject| world.admits_by(place, subject)) {
                    for (at, (letter, scope, _)) in limits().iter().enumerate() {
                        if of.contains(letter) {
                            counted[at][counter(scope, values)].fetch_add(1, Ordering::Relaxed);
                        }
                    }
                }
            }
            0
        });
        agrees(&world, &set, &counted, seed);
    }
}

fn agrees(world: &World, set: &PolicySet, counted: &[Vec<AtomicUsize>], seed: u64) {
    let mut refused_by = 0;
    for ((of, scope, shape), counted) in limits().iter().zip(counted) {
        let place = set.place(of).unwrap();
        for number in 0..VALUES.pow(3) {
            let values = [number % VALUES, number / VALUES % VALUES, number / VALUES / VALUES];
            let reading = with_subject(values, |subject| world.peek(place, subject))[0];
            let admitted = counted[counter(scope, values)].load(Ordering::Relaxed);
            let left = usize::try_from(shape.capacity()).unwrap() - admitted;
            assert_eq!(
                usize::try_from(reading.remaining),
                Ok(left),
                "seed {seed}, `{of}` {values:?}"
            );
            refused_by += usize::from(left == 0);
        }
    }
    assert!(refused_by > 0, "seed {seed}: nothing ran out, so nothing was contended");
}

/// What is asked of a limit of 200 is exactly what is there, while others are refused elsewhere in
/// decisions that name it too.
#[test]
fn t15_who_is_refused_elsewhere_makes_nobody_miss_the_last_unit() {
    let shapes = [bucket(1, Span::DAY, 200), quota(200, Span::DAY), window(200, Span::DAY)];
    let mut false_denials = 0;
    for (round, shape) in shapes.iter().cycle().take(30).enumerate() {
        let set = PolicySet::builder()
            .shared(limit("scarce", ORG, shape.clone()))
            .policy(spec("honest", []).shared_limit(name("scarce")))
            .policy(
                spec("refused", [limit("empty", USER, bucket(1, Span::DAY, 1))])
                    .shared_limit(name("scarce")),
            );
        let world = World::new(room_for(10), set.build(None).unwrap());
        let both = Subject::new().org("acme").user("hammer");
        assert!(world.admits_by(1, &both), "takes one of 200, and all of the other");
        let denied = together(8, |thread| {
            let place = usize::from(thread % 2 == 1);
            let tries = if place == 1 {
                200
            } else if thread == 0 {
                49
            } else {
                50
            };
            let admitted = (0..tries).filter(|_| world.admits_by(place, &both)).count();
            if place == 1 {
                assert_eq!(admitted, 0, "round {round}: it had nothing left");
                return 0;
            }
            tries - admitted
        });
        assert_eq!(world.peek(0, &both)[0].remaining, i64::try_from(denied).unwrap());
        false_denials += denied;
    }
    println!("false denials: {false_denials} of {}", 30 * 199);
    assert_eq!(false_denials, 0);
}

/// Where order does not matter, so many are admitted as one after the other would be.
#[test]
fn t15_a_crowd_is_given_what_the_scarcest_limit_allows() {
    // The shared limit, the two of the policies, and what each policy and both together can give.
    let cases = [(100, [60, 30], [Some(60), Some(30)], 90), (100, [80, 80], [None, None], 100)];
    for (all, [one, other], expected, total) in cases {
        for round in 0..10 {
            let policy = |of, count| {
                spec(of, [limit(of, USER, quota(count, Span::DAY))]).shared_limit(name("all"))
            };
            let set = PolicySet::builder()
                .shared(limit("all", ORG, bucket(1, Span::DAY, all)))
                .policy(policy("one", one))
                .policy(policy("other", other));
            let world = World::new(room_for(10), set.build(None).unwrap());
            let subject = Subject::new().org("acme").user("u");
            let given = [AtomicUsize::new(0), AtomicUsize::new(0)];
            together(16, |thread| {
                let place = usize::from(thread % 2 == 1);
                let admitted = (0..20).filter(|_| world.admits_by(place, &subject)).count();
                given[place].fetch_add(admitted, Ordering::Relaxed);
                0
            });
            let given = given.map(AtomicUsize::into_inner);
            assert_eq!(given.iter().sum::<usize>(), total, "round {round}: {given:?}");
            for (given, expected) in given.iter().zip(expected) {
                assert!(expected.is_none_or(|expected| *given == expected), "round {round}");
            }
        }
    }
}
