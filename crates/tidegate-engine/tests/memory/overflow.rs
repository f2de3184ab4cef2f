//! What is counted in the wrong place, or under the wrong numbers, is not counted.
//!
//! The smallest cases in which keys that share a batch, a cell or a reload could lose a charge.

use tidegate_core::{Dimension, Override, PolicySet, Shape, ShapeKind, Span, Subject};

use crate::world::{
    ONE_GROUP, START, World, attempts, bucket, ladder, limit, per_user, policy, quota,
    quota_since_first_use, room_for, spec, window,
};

/// Users that share the eight cells of a limit with those a test looks at.
const CROWD: u64 = 32;

/// A limit per user in a store whose only group is occupied for `occupied`, so that users overflow.
/// The numbers for a user whose name begins with `vip` may be others.
fn overflowing(shape: Shape, vips: Option<Shape>, occupied: Span) -> World {
    let (fill, fillers) = match shape {
        Shape::Bucket(_) => (bucket(1, occupied, 1), 5),
        Shape::Quota(_) => (quota_since_first_use(1, occupied), 5),
        Shape::Window(_) => (window(1, occupied), 7),
        Shape::Attempts(_) => (attempts(2, occupied), 7),
    };
    let mut own = limit("l", &[Dimension::User], shape);
    if let Some(shape) = vips {
        let vips = Override::pattern(Dimension::User, "vip*", shape).unwrap();
        own = own.overridden(vips).unwrap();
    }
    let fill = spec("z", [limit("fill", &[Dimension::Org], fill)]);
    let set = PolicySet::builder().policy(spec("p", [own])).policy(fill).build(None).unwrap();
    let world = World::new(ONE_GROUP, set);
    for filler in 0..fillers {
        assert!(world.admits_by(1, &Subject::new().org(&[b'f', filler])));
    }
    world
}

/// A few users for every cell of so small a store ask once each: all are charged, none is used up.
fn crowd_asks(world: &World) {
    let held = |world: &World| ShapeKind::ALL.map(|kind| world.engine.store().usage().of(kind));
    let before = held(world);
    for user in 0..CROWD {
        world.admits(&Subject::new().user(&user.to_le_bytes()));
    }
    assert_eq!(held(world), before, "none of them finds a place");
}

fn move_to(world: &World, after: Span) {
    world.clock.set(START.after(after));
}

#[test]
fn a_newcomer_does_not_take_the_place_of_a_key_in_the_same_batch() {
    // Organisations are as good as new after a second; users are not for a day.
    let org = || limit("org", &[Dimension::Org], bucket(1, Span::SECOND, 1));
    let user = || limit("user", &[Dimension::User], bucket(1, Span::DAY, 1));
    for limits in [[org(), user()], [user(), org()]] {
        let world = World::new(ONE_GROUP, policy(limits));
        assert!(world.admits(&Subject::new().org("acme")));
        for filler in ["a", "b", "c", "d"] {
            assert!(world.admits(&Subject::new().user(filler)));
        }
        move_to(&world, Span::from_secs(2));
        // Now acme's entry is the only one that can be taken over, and acme is asking.
        let both = Subject::new().org("acme").user("e");
        assert!(world.admits(&both));
        assert!(!world.admits(&Subject::new().org("acme")), "its charge must not be lost");
        assert!(!world.admits(&Subject::new().user("e")), "nor must the other's");
    }
}

/// How many of the quota of 10 an hour from the first use somebody gets within 20 seconds, where
/// others began the period of their cell an hour before.
fn given_around_the_end_of_a_cells_period(occupied: Span) -> usize {
    let world = overflowing(quota_since_first_use(10, Span::HOUR), None, occupied);
    crowd_asks(&world);
    let victims: Vec<String> = (0..20).map(|victim| format!("victim {victim}")).collect();
    let mut given = vec![0; victims.len()];
    for second in [3_590, 3_610] {
        move_to(&world, Span::from_secs(second));
        for (victim, given) in victims.iter().zip(&mut given) {
            *given += world.admitted_of(20, &Subject::new().user(victim));
        }
    }
    given.into_iter().max().unwrap()
}

#[test]
fn p44_a_cell_gives_nobody_a_second_quota_within_their_own_period() {
    let most = given_around_the_end_of_a_cells_period(Span::DAY);
    assert!((1..=10).contains(&most), "{most} of 10 within 20 s of the first use");
}

#[test]
fn p44_a_newcomer_gets_no_second_quota_from_the_period_of_its_cell() {
    // By the time the victims come there are places, and they begin with what their cells say.
    let most = given_around_the_end_of_a_cells_period(Span::from_secs(1_800));
    assert!((1..=10).contains(&most), "{most} of 10 within 20 s of the first use");
}

/// The most that one of some users with numbers of their own is given within a minute, where others
/// of the limit ask too.
fn most_given_to_one_with_other_numbers(usual: Shape, other: Shape) -> usize {
    let world = overflowing(usual, Some(other), Span::DAY);
    let vips: Vec<String> = (0..20).map(|vip| format!("vip {vip}")).collect();
    let mut given = vec![0; vips.len()];
    for second in 0..60 {
        move_to(&world, Span::from_secs(second));
        for (vip, given) in vips.iter().zip(&mut given) {
            *given += world.admitted_of(3, &Subject::new().user(vip));
        }
        crowd_asks(&world);
    }
    given.into_iter().max().unwrap()
}

#[test]
fn p44_a_cell_shared_with_faster_buckets_gives_a_slow_one_no_more() {
    let (usual, other) = (bucket(10, Span::SECOND, 100), bucket(1, Span::MINUTE, 10));
    let most = most_given_to_one_with_other_numbers(usual, other);
    assert!((1..=10).contains(&most), "{most} where a burst of 10 and one a minute fit");
}

#[test]
fn p44_a_cell_shared_with_shorter_quotas_gives_a_long_one_no_more() {
    let (usual, other) = (quota(100, Span::SECOND), quota(10, Span::HOUR));
    let most = most_given_to_one_with_other_numbers(usual, other);
    assert!((1..=10).contains(&most), "{most} of 10 an hour");
}

#[test]
fn p44_a_cell_shared_with_shorter_windows_gives_a_long_one_no_more() {
    let (usual, other) = (window(60, Span::SECOND), window(10, Span::HOUR));
    let most = most_given_to_one_with_other_numbers(usual, other);
    assert!((1..=10).contains(&most), "{most} of 10 in an hour");
}

/// A reload makes no place free that was not: a key still counts for as long as it would have under
/// the numbers it was counted under. Once that is over it may be evicted, and is fresh.
#[test]
fn p95_reclaim_after_a_reload_changes_no_decision_before_its_time() {
    let cases = [
        [bucket(10, Span::SECOND, 10), bucket(10, Span::HOUR, 10)],
        [window(10, Span::SECOND), window(10, Span::HOUR)],
        [window(100, Span::SECOND), window(100, Span::HOUR)],
        [quota(10, Span::SECOND), quota(10, Span::HOUR)],
    ];
    for [fast, slow] in cases {
        let reloads =
            [(&fast, &slow, Span::from_millis(900)), (&slow, &fast, Span::from_secs(3_500))];
        for (old, new, late) in reloads {
            let given = [ONE_GROUP, room_for(1_000)].map(|budget| {
                let world = World::new(budget, per_user(old.clone()));
                let victim = Subject::new().user("victim");
                world.admitted_of(200, &victim);
                let limits = spec("p", [limit("l", &[Dimension::User], new.clone())]);
                world.engine.reload(&PolicySet::builder().policy(limits)).unwrap();
                move_to(&world, late);
                for other in 0..20_u8 {
                    world.admits(&Subject::new().user(&[other]));
                }
                world.admitted_of(200, &victim)
            });
            assert_eq!(given[0], given[1], "a small table and a large one, {old:?} → {new:?}");
        }
    }
}

#[test]
fn a_quota_whose_period_began_before_the_store_is_forgotten_with_its_period() {
    let world = World::new(ONE_GROUP, per_user(quota(1, Span::from_secs(7 * 24 * 3_600))));
    assert!(world.admits(&Subject::new().user("one")));
    let week = 7 * Span::DAY.as_micros();
    let end = (START.as_micros() / week + 1) * week;
    world.clock.set(START.after(Span::from_micros(end - START.as_micros() + week / 16)));
    assert_eq!(world.engine.store().usage().of(ShapeKind::Quota), 0, "the week is over");
}

#[test]
fn p44_a_cell_may_refuse_attempts_and_begins_no_block() {
    for shape in [attempts(3, Span::MINUTE), ladder(3, Span::MINUTE)] {
        let world = overflowing(shape, None, Span::DAY);
        let subject = Subject::new().user("u");
        let mut tallies = Vec::new();
        for _ in 0..5 {
            tallies.push(world.decide(0, &subject).1[0].attempts.unwrap());
        }
        assert!(tallies.iter().all(|tally| tally.block.is_none() && !tally.begins), "{tallies:?}");
        assert_eq!(world.admitted_of(5, &subject), 0, "too many in a minute all the same");
        move_to(&world, Span::from_secs(61));
        assert_eq!(world.admitted_of(5, &subject), 2, "and nothing is left of it");
    }
}
