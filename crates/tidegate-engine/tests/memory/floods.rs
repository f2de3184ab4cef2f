//! T14 and A40: a million made-up keys from ten thousand networks, within the usual budget, keep nobody
//! out who comes from elsewhere.
//!
//! Those who come from an attacked network may be refused, and are told true waits. Victims, who had
//! their places before, stay exact.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use tidegate_core::{Shape, Span, Store as _, Subject};
use tidegate_engine::memory::Budget;

use crate::world::{
    Dice, World, attempts, bucket, ladder, per_user, quota, quota_since_first_use, window,
};

/// Keys of the flood, and the networks it comes from.
const KEYS: u64 = 1_000_000;
const NETWORKS: u32 = 10_000;

/// Those who come while the flood is at its height, each from a network of its own.
const HONEST: u32 = 1_000;

/// Every shape, with five to use and an hour or a day to remember.
fn shapes() -> [Shape; 7] {
    [
        bucket(5, Span::DAY, 5),
        quota(5, Span::DAY),
        quota_since_first_use(5, Span::DAY),
        window(5, Span::HOUR),
        window(70, Span::HOUR),
        attempts(6, Span::HOUR),
        ladder(6, Span::HOUR),
    ]
}

/// The networks of the flood: IPv4 addresses and IPv6 sites, and of a site any subnet.
fn attacked(network: u32, dice: &mut Dice) -> IpAddr {
    match network % 2 {
        0 => IpAddr::V4(Ipv4Addr::from_bits(0x0A00_0000 + network)),
        _ => {
            let site = 0x2001_0db8_0000_u128 << 80 | u128::from(network) << 80;
            IpAddr::V6(Ipv6Addr::from_bits(site | u128::from(dice.next())))
        }
    }
}

fn elsewhere(place: u32) -> IpAddr {
    IpAddr::V4(Ipv4Addr::from_bits(0xC612_0000 + place))
}

/// Sends the flood, `each` requests for a key.
fn flood(world: &World, each: usize, dice: &mut Dice) {
    for key in 0..KEYS {
        let network = u32::try_from(key % u64::from(NETWORKS)).unwrap();
        let user = dice.next().to_le_bytes();
        let address = attacked(network, dice);
        for _ in 0..each {
            world.admits(&Subject::new().user(&user).ip(address));
        }
        if key % 1_000 == 0 {
            world.clock.advance(Span::from_millis(10));
        }
    }
}

/// How many newcomers from other networks get all five of their requests.
fn served(world: &World) -> u32 {
    let mut served = 0;
    for place in 0..HONEST {
        let user = format!("honest {place}");
        let subject = Subject::new().user(&user).ip(elsewhere(place));
        served += u32::from(world.admitted_of(5, &subject) == 5);
    }
    served
}

fn newcomers_are_served(shape: &Shape, each: usize) {
    let world = World::new(Budget::default(), per_user(shape.clone()));
    flood(&world, each, &mut Dice(40));
    let served = served(&world);
    println!("{} {}, {each} each: {served} of {HONEST}", shape.kind().name(), shape.capacity());
    assert!(served >= HONEST * 99 / 100, "{served} of {HONEST}: {shape:?}, {each} for each key");
}

#[test]
fn t14_a_million_keys_from_ten_thousand_networks_keep_nobody_else_out() {
    for shape in shapes() {
        newcomers_are_served(&shape, 1);
    }
}

/// Logs that are longer than two attempts have fewer places.
#[test]
fn t14_a_million_keys_that_ask_three_times_keep_nobody_else_out() {
    for shape in [attempts(6, Span::HOUR), ladder(6, Span::HOUR)] {
        newcomers_are_served(&shape, 3);
    }
}

#[test]
fn t14_those_who_come_with_the_flood_are_told_true_waits() {
    for shape in shapes() {
        let world = World::new(Budget::default(), per_user(shape.clone()));
        let mut dice = Dice(41);
        flood(&world, 1, &mut dice);
        let mut refused = 0;
        for place in 0..200 {
            let user = format!("neighbour {place}");
            let subject = Subject::new().user(&user).ip(attacked(place, &mut dice));
            let readings = world.peek(0, &subject);
            let wait = readings[0].room.wait();
            if wait == Span::ZERO {
                assert!(world.admits(&subject), "{shape:?}");
                continue;
            }
            refused += 1;
            assert!(!world.admits(&subject), "{shape:?}");
            world.clock.advance(wait);
            assert!(world.admits(&subject), "{place} was told {wait}: {shape:?}");
        }
        println!("{} {}: {refused} of 200 had to wait", shape.kind().name(), shape.capacity());
    }
}

#[test]
fn t13_victims_stay_exact_whatever_networks_a_flood_comes_from() {
    for shape in shapes() {
        let [world, quiet] =
            [(); 2].map(|()| World::new(Budget::default(), per_user(shape.clone())));
        let names: Vec<String> = (0..300).map(|victim| format!("victim {victim}")).collect();
        let subject = |victim: usize| {
            let address = elsewhere(u32::try_from(victim).unwrap());
            Subject::new().user(&names[victim]).ip(address)
        };
        for (victim, _) in names.iter().enumerate() {
            for world in [&world, &quiet] {
                world.admitted_of(1 + victim % 5, &subject(victim));
            }
        }
        flood(&world, 1, &mut Dice(42));
        quiet.clock.set(tidegate_core::Clock::now(&*world.clock));
        for (victim, _) in names.iter().enumerate() {
            for _ in 0..6 {
                let (found, expected) =
                    (world.decide(0, &subject(victim)), quiet.decide(0, &subject(victim)));
                assert_eq!(found, expected, "victim {victim}: {shape:?}");
            }
        }
    }
}

/// The usual budget, in numbers: a quarter of a million logs of up to two attempts.
#[test]
fn t14_a_quarter_of_a_million_short_logs_fit_the_usual_memory() {
    let world = World::new(Budget::default(), per_user(ladder(6, Span::DAY)));
    for key in 0..250_000_u32 {
        let user = key.to_le_bytes();
        let subject = Subject::new().user(&user).ip(elsewhere(key % 500));
        assert_eq!(world.admitted_of(2, &subject), 2, "key {key}");
    }
    let usage = world.engine.store().usage();
    assert!(usage.max_bytes <= 90_000_000, "{} bytes", usage.max_bytes);
    println!("{} bytes", usage.max_bytes);
}

/// A log that outgrows its entry, where there is no longer one left, brings its attempts along.
#[test]
fn p44_a_log_that_outgrows_its_entry_brings_along_what_was_counted() {
    // One group of seven long logs, which others take.
    let budget = crate::world::ONE_GROUP;
    for shape in [attempts(6, Span::HOUR), ladder(6, Span::HOUR)] {
        let world = World::new(budget, per_user(shape.clone()));
        let outgrowing = Subject::new().user("outgrowing");
        assert_eq!(world.admitted_of(2, &outgrowing), 2);
        for other in 0..7 {
            let other = format!("other {other}");
            assert_eq!(world.admitted_of(3, &Subject::new().user(&other)), 3);
        }
        assert_eq!(world.admitted_of(9, &outgrowing), 3, "five in all: {shape:?}");
        world.clock.advance(Span::HOUR);
        assert_eq!(world.admitted_of(9, &outgrowing), 5, "and five an hour later: {shape:?}");
    }
}

/// A refused attempt on a ladder leaves no trace, in neither of the cells that it is counted in.
#[test]
fn p38_what_is_refused_in_a_cell_leaves_no_trace_on_a_ladder() {
    let world = World::new(crate::world::ONE_GROUP, per_user(ladder(6, Span::HOUR)));
    // Six short logs and seven long ones have places.
    for other in 0..13 {
        let (other, tries) = (format!("other {other}"), if other < 7 { 3 } else { 1 });
        world.admitted_of(tries, &Subject::new().user(&other).ip(elsewhere(1)));
    }
    let crowd = |number: u32, place: u32| (format!("crowd {number}"), elsewhere(1_000 + place));
    let asks =
        |(user, address): (String, IpAddr)| world.admits(&Subject::new().user(&user).ip(address));
    // One network uses up its cell; its keys are in all cells by key.
    let admitted = (0..200).filter(|number| asks(crowd(*number, 0))).count();
    assert_eq!(admitted, 5, "one network");
    // Whoever comes from other networks with the same keys finds what is left of the cells by key.
    let left = |first: u32| (0..200).filter(|number| asks(crowd(*number, first + number))).count();
    // There are eight cells of five, and chance says which key meets which.
    assert!(left(1) >= 15, "refused attempts were counted");
}

/// What an operator does finds a log wherever it is, and a block is listed.
#[test]
fn a_short_log_that_is_blocked_is_listed_and_can_be_reset() {
    let world = World::new(Budget::default(), per_user(ladder(3, Span::HOUR)));
    let subject = Subject::new().user("u");
    assert_eq!(world.admitted_of(2, &subject), 2, "in a short log");
    assert!(!world.admits(&subject), "the third begins a block");
    let page = tidegate_core::Page { after: None, at_most: 1_000 };
    let mut listed = 0;
    let mut next = Some(page);
    while let Some(page) = next {
        let blocks = tidegate_engine::ready(world.engine.store().blocks(page, Span::SECOND));
        let blocks = blocks.unwrap().unwrap();
        listed += blocks.list.len();
        let cursor: Option<&'static str> = blocks.next.map(|cursor| &*cursor.leak());
        next = cursor.map(|cursor| tidegate_core::Page { after: Some(cursor), at_most: 1_000 });
    }
    assert_eq!(listed, 1);
}
