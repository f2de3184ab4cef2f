//! P44 for more limits than the sketch tells apart: those who share cells may be refused for each
//! other, and still nobody is given more.

use tidegate_core::{Dimension, PolicySet, Shape, Span, Subject};

use crate::world::{
    ONE_GROUP, START, World, bucket, limit, quota, quota_since_first_use, spec, window,
};

/// Blocks of a sketch; each of these limits takes one.
const BLOCKS: usize = 64;

/// Limits that have to share: those with long memories, and those that forget within a second.
const SLOW: usize = 64;
const FAST: usize = 8;

const SLOW_USERS: u64 = 10;
const FAST_USERS: u64 = 2_000;

/// Policies named after their kind and number, with one limit each.
fn policies(fill: &Shape, slow: &Shape, fast: &Shape) -> PolicySet {
    let kinds =
        [("fill", 1, fill), ("taker", BLOCKS, fast), ("slow", SLOW, slow), ("fast", FAST, fast)];
    let mut builder = PolicySet::builder();
    for (kind, count, shape) in kinds {
        for number in 0..count {
            let of = format!("{kind}-{number}");
            builder = builder.policy(spec(&of, [limit(&of, &[Dimension::User], shape.clone())]));
        }
    }
    builder.build(None).unwrap()
}

/// Lets everybody of one kind ask; returns what each was given, in order.
fn ask(world: &World, set: &PolicySet, kind: &str, limits: usize, users: u64) -> Vec<i64> {
    let mut given = Vec::new();
    for number in 0..limits {
        let place = set.place(&format!("{kind}-{number}")).unwrap();
        for user in 0..users {
            let user = user.to_le_bytes();
            let subject = Subject::new().user(&user);
            given.push((0..3).map(|_| i64::from(world.admits_by(place, &subject))).sum());
        }
    }
    given
}

#[test]
fn p44_limits_that_share_a_cell_forget_nothing_of_each_other() {
    let occupied = Span::from_secs(100);
    let cases = [
        (bucket(1, occupied, 1), bucket(1, Span::HOUR, 3), bucket(3, Span::SECOND, 3)),
        (quota_since_first_use(1, occupied), quota(3, Span::HOUR), quota(3, Span::SECOND)),
        (window(1, occupied), window(3, Span::HOUR), window(3, Span::SECOND)),
        // The other way round: a period that began later is overwritten by one that began earlier.
        (quota_since_first_use(1, occupied), quota(3, Span::HOUR), quota(3, Span::DAY)),
    ];
    // Well after the store was made, so that the hour is not the one it began in.
    let begin = START.after(Span::from_secs(4_200));
    for (fill, slow, fast) in cases {
        let set = policies(&fill, &slow, &fast);
        let world = World::new(ONE_GROUP, set.clone());
        world.clock.set(begin);
        ask(&world, &set, "fill", 1, 7);
        ask(&world, &set, "taker", BLOCKS, 1);
        let given = ask(&world, &set, "slow", SLOW, SLOW_USERS);
        assert!(given.iter().any(|given| *given > 0), "nobody was served: {slow:?}");
        for second in [5, 20, 40] {
            world.clock.set(begin.after(Span::from_secs(second)));
            ask(&world, &set, "fast", FAST, FAST_USERS);
        }
        // Now there are places again. Nobody takes one; they only ask what they would find.
        world.clock.set(begin.after(Span::from_secs(110)));
        let mut given = given.into_iter();
        for number in 0..SLOW {
            let place = set.place(&format!("slow-{number}")).unwrap();
            for user in 0..SLOW_USERS {
                let user = user.to_le_bytes();
                let left = world.peek(place, &Subject::new().user(&user))[0].remaining;
                let given = given.next().unwrap();
                assert!(left + given <= 3, "{given} were given and {left} are left: {slow:?}");
            }
        }
    }
}
