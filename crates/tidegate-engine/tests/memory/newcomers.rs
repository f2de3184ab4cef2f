//! T14: a table that is full of attackers still serves those who come now, and gives none of them
//! more than their limit.
//!
//! Refusing everybody when the table is full lets one attacker lock everybody out; evicting lets him
//! wash counters away. What is left is a share: as many cells as a limit has, each at its rate.

use tidegate_core::{Dimension, PolicySet, Shape, ShapeKind, Span, Subject};

use crate::world::{
    Dice, World, bucket, limit, per_user, quota, quota_since_first_use, room_for, spec, window,
};

/// Room for so many keys, and the cells that each limit then has for those who do not fit.
const ROOM: usize = 51_200;
const CELLS: u64 = 50;

/// The attack: new keys per second of the clock, for so many seconds.
const ATTACK: u64 = 40_000;
const SECONDS: u64 = 30;

/// A limit whose counters last, to fill the table with, and the one that newcomers meet.
fn policies() -> PolicySet {
    let lasting = spec("z", [limit("lasting", &[Dimension::Org], bucket(1, Span::DAY, 1))]);
    let own = spec("p", [limit("l", &[Dimension::User], bucket(10, Span::SECOND, 5))]);
    PolicySet::builder().policy(own).policy(lasting).build(None).unwrap()
}

#[test]
fn t14_newcomers_are_served_during_a_flood() {
    let world = World::new(room_for(ROOM), policies());
    let mut dice = Dice(14);
    for _ in 0..20 * ROOM {
        world.admits_by(1, &Subject::new().org(&dice.next().to_le_bytes()));
    }
    let held = world.engine.store().usage().of(ShapeKind::Bucket);
    assert_eq!(held, ROOM, "one network gets what the table was made for");
    // Those we care for ask once; so do the others.
    let (mut flood, mut honest, mut asked, mut scarcest) = (0, 0, 0, u64::MAX);
    for second in 0..SECONDS {
        let before = flood + honest;
        for request in 0..ATTACK {
            world.clock.advance(Span::from_micros(1_000_000 / ATTACK));
            flood += u64::from(world.admits(&Subject::new().user(&dice.next().to_le_bytes())));
            if request % 100 == 0 {
                let newcomer = format!("honest {second} {request}");
                asked += 1;
                honest += u64::from(world.admits(&Subject::new().user(&newcomer)));
            }
        }
        scarcest = scarcest.min(flood + honest - before);
    }
    let all = ATTACK * SECONDS;
    println!("admitted of the flood: {flood} of {all} ({} per mille)", flood * 1_000 / all);
    println!("of honest newcomers: {honest} of {asked} ({} per mille)", honest * 1_000 / asked);
    // Every cell is asked some 40 times for each unit it has; hardly any is lost.
    let share = CELLS * 10;
    println!("in the scarcest second: {scarcest}; cells × rate: {share}");
    assert!(scarcest >= share * 9 / 10, "{scarcest} in the scarcest second");
    let share = asked * share / ATTACK;
    assert!(honest >= share / 2, "{honest} of {asked}, where {share} is the share");
}

/// Keys that keep asking while the flood comes and goes, so that they are now in a cell, now in an
/// entry. Whatever is admitted must fit a store in which they are alone.
fn never_more_than_alone(shape: &Shape) -> usize {
    let world = World::new(room_for(20), per_user(shape.clone()));
    let alone = World::new(room_for(1_000), per_user(shape.clone()));
    let (mut dice, mut admitted) = (Dice(44), 0);
    for tenth in 0..600_u64 {
        for clock in [&world.clock, &alone.clock] {
            clock.advance(Span::from_millis(100));
        }
        // Seven seconds of flood, then five of quiet.
        let attackers = if tenth % 120 < 70 { 40 } else { 0 };
        for _ in 0..attackers {
            world.admits(&Subject::new().user(&dice.next().to_le_bytes()));
        }
        for _ in 0..60 {
            let user = format!("regular {}", dice.below(40));
            let regular = Subject::new().user(&user);
            if world.admits(&regular) {
                assert!(
                    alone.admits(&regular),
                    "tenth {tenth}: {user} had nothing left, {shape:?}"
                );
                admitted += 1;
            }
        }
    }
    admitted
}

#[test]
fn t14_nobody_is_admitted_beyond_their_own_limit_wherever_they_are_counted() {
    let shapes = [
        bucket(1, Span::SECOND, 5),
        bucket(3, Span::from_secs(7), 2),
        quota(5, Span::from_secs(4)),
        quota_since_first_use(5, Span::from_secs(4)),
        window(5, Span::from_secs(3)),
        window(64, Span::from_secs(8)),
        window(70, Span::from_secs(9)),
    ];
    for shape in shapes {
        let admitted = never_more_than_alone(&shape);
        println!("{} {}: {admitted} of 36000 admitted", shape.kind().name(), shape.capacity());
        assert!(admitted > 100, "{admitted} were served, too few to mean anything: {shape:?}");
    }
}
