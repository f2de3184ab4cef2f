//! T14 and A40: a million made-up keys from ten thousand networks, within the usual budget, keep nobody
//! out who comes from elsewhere.
//!
//! Those who come from an attacked network may be refused, and are told true waits. Victims, who had
//! their places before, stay exact.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use tidegate_core::{
    Attempts, Case, Dimension, Page, PolicySet, Shape, Span, Store as _, Subject, Threshold,
};
use tidegate_engine::memory::Budget;
use tidegate_engine::ready;

use crate::world::{
    Dice, ONE_GROUP, START, World, attempts, bucket, ladder, limit, per_user, policy, quota,
    quota_since_first_use, room_for, spec, window,
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

/// Networks that no flood comes from: IPv4 addresses and IPv6 sites too.
fn elsewhere(place: u32) -> IpAddr {
    match place % 2 {
        0 => IpAddr::V4(Ipv4Addr::from_bits(0xC612_0000 + place)),
        _ => IpAddr::V6(Ipv6Addr::from_bits(0x2a00_0000_0000_u128 << 80 | u128::from(place) << 80)),
    }
}

/// Sends the flood, `each` requests for a key.
fn flood(world: &World, each: usize, dice: &mut Dice) {
    flood_from(NETWORKS, world, each, dice);
}

/// Sends a flood from this number of networks.
fn flood_from(networks: u32, world: &World, each: usize, dice: &mut Dice) {
    for key in 0..KEYS {
        let network = u32::try_from(key % u64::from(networks)).unwrap();
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

/// The bar is ten thousand networks. Beyond it newcomers are counted with others, and whoever rents one IPv6
/// /32 has 65,536 of them: `docs/benchmarks.md` tells how many newcomers that leaves.
#[test]
fn t14_a_flood_from_every_site_of_a_slash_32_is_beyond_the_bar() {
    for shape in shapes() {
        let world = World::new(Budget::default(), per_user(shape.clone()));
        let mut dice = Dice(45);
        for key in 0..KEYS {
            let site = 0x2001_0db8_u128 << 96 | u128::from(key % 65_536) << 80;
            let address = IpAddr::V6(Ipv6Addr::from_bits(site | u128::from(dice.next())));
            world.admits(&Subject::new().user(&dice.next().to_le_bytes()).ip(address));
            if key % 1_000 == 0 {
                world.clock.advance(Span::from_millis(10));
            }
        }
        let (served, kind) = (served(&world), shape.kind().name());
        println!("65,536 sites of one /32, {kind} {}: {served} of {HONEST}", shape.capacity());
        let least = if matches!(shape, Shape::Bucket(_) | Shape::Quota(_)) { 400 } else { 0 };
        assert!((least..HONEST * 99 / 100).contains(&served), "{served}: tell docs/benchmarks.md");
    }
}

/// Logs that are longer than four attempts have fewer places.
#[test]
fn t14_a_million_keys_that_ask_five_times_keep_nobody_else_out() {
    for shape in [attempts(6, Span::HOUR), ladder(6, Span::HOUR)] {
        newcomers_are_served(&shape, 5);
    }
}

/// A request that is charged to two windows takes two of the few places there are. `docs/policy-file.md`
/// says how many networks that is enough for: about 7,000, and with 7,500 it is not.
#[test]
fn t14_with_two_windows_a_request_almost_7_000_networks_keep_nobody_else_out() {
    let windows = ["one", "another"].map(|it| limit(it, &[Dimension::User], window(5, Span::HOUR)));
    let world = World::new(Budget::default(), policy(windows));
    flood_from(6_800, &world, 1, &mut Dice(43));
    let served = served(&world);
    println!("two windows, 6,800 networks: {served} of {HONEST}");
    assert!(served >= HONEST * 99 / 100, "{served} of {HONEST}");
}

/// The share of a network is for all who are behind it and fail; `docs/policy-file.md` tells its size.
#[test]
fn t14_after_a_flood_one_network_has_some_25_logs_left() {
    let world = World::new(Budget::default(), per_user(ladder(6, Span::HOUR)));
    flood(&world, 1, &mut Dice(44));
    for place in [8, 9] {
        let fails_twice =
            |user: &str| world.admitted_of(2, &Subject::new().user(user).ip(elsewhere(place))) == 2;
        let served = (0..200).filter(|user| fails_twice(&format!("{place}, {user}"))).count();
        println!("{served} of 200 behind {}", elsewhere(place));
        assert!((20..=30).contains(&served), "{served} of 200 behind {}", elsewhere(place));
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
        assert!(refused > 0, "nobody had to wait: {shape:?}");
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

/// The usual budget, in numbers: a quarter of a million logs of up to four attempts.
#[test]
fn t14_a_quarter_of_a_million_short_logs_fit_the_usual_memory() {
    let world = World::new(Budget::default(), per_user(ladder(6, Span::DAY)));
    for key in 0..250_000_u32 {
        let user = key.to_le_bytes();
        let subject = Subject::new().user(&user).ip(elsewhere(key % 500));
        assert_eq!(world.admitted_of(4, &subject), 4, "key {key}");
    }
    let usage = world.engine.store().usage();
    assert!(usage.max_bytes <= 90_000_000, "{} bytes", usage.max_bytes);
    println!("{} bytes", usage.max_bytes);
}

/// A log that outgrows its entry, where there is no longer one left, brings its attempts along.
#[test]
fn p44_a_log_that_outgrows_its_entry_brings_along_what_was_counted() {
    // One group of seven middle logs, which others take.
    let budget = ONE_GROUP;
    for shape in [attempts(8, Span::HOUR), ladder(8, Span::HOUR)] {
        let world = World::new(budget, per_user(shape.clone()));
        let outgrowing = Subject::new().user("outgrowing");
        assert_eq!(world.admitted_of(4, &outgrowing), 4);
        for other in 0..7 {
            let other = format!("other {other}");
            assert_eq!(world.admitted_of(5, &Subject::new().user(&other)), 5);
        }
        assert_eq!(world.admitted_of(9, &outgrowing), 3, "seven in all: {shape:?}");
        world.clock.advance(Span::HOUR);
        assert_eq!(world.admitted_of(9, &outgrowing), 7, "and seven an hour later: {shape:?}");
    }
}

/// A refused attempt on a ladder leaves no trace, in neither of the cells that it is counted in.
#[test]
fn p38_what_is_refused_in_a_cell_leaves_no_trace_on_a_ladder() {
    let world = World::new(ONE_GROUP, per_user(ladder(6, Span::HOUR)));
    // Six short logs and seven middle ones have places.
    for other in 0..13 {
        let (other, tries) = (format!("other {other}"), if other < 7 { 5 } else { 1 });
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

/// A block for which there is no place is refused, and then nothing has changed.
#[test]
fn an_operator_whose_block_finds_no_place_changes_nothing() {
    let world = World::new(ONE_GROUP, per_user(ladder(6, Span::HOUR)));
    let subject = Subject::new().user("short");
    assert_eq!(world.admitted_of(2, &subject), 2);
    for other in 0..7 {
        let other = format!("other {other}");
        assert_eq!(world.admitted_of(5, &Subject::new().user(&other)), 5);
    }
    world.clock.advance(Span::from_secs(600));
    let set = world.engine.policies();
    let mut case = Case::new(&set.policies()[0], &subject);
    let blocked = ready(world.engine.block(&mut case, None, Span::HOUR, None)).unwrap();
    assert!(blocked.is_err(), "{blocked:?}");
    let left = world.peek(0, &subject)[0];
    assert_eq!((left.remaining, left.reset_after), (3, Span::from_secs(3_000)));
}

/// How many blocks there are, over all pages.
fn listed(world: &World) -> usize {
    let (mut listed, mut after) = (0, None::<String>);
    loop {
        let page = Page { after: after.as_deref(), at_most: 1_000 };
        let blocks = ready(world.engine.store().blocks(page, Span::SECOND)).unwrap().unwrap();
        listed += blocks.list.len();
        match blocks.next {
            Some(next) => after = Some(next),
            None => return listed,
        }
    }
}

/// What an operator does finds a log wherever it is, and a block is listed.
#[test]
fn a_short_log_that_is_blocked_is_listed_and_can_be_reset() {
    let world = World::new(Budget::default(), per_user(ladder(3, Span::HOUR)));
    let subject = Subject::new().user("u");
    assert_eq!(world.admitted_of(2, &subject), 2, "in a short log");
    assert!(!world.admits(&subject), "the third begins a block");
    assert_eq!(listed(&world), 1);
    let set = world.engine.policies();
    let mut case = Case::new(&set.policies()[0], &subject);
    let changes = ready(world.engine.reset(&mut case, None)).unwrap().unwrap();
    assert!(changes[0].amended.changed);
    assert_eq!((listed(&world), world.admitted_of(3, &subject)), (0, 2), "as if it were new");
}

/// A log moves to a larger entry when it outgrows one, twice if it must, and keeps every attempt.
#[test]
fn p44_a_log_that_moves_from_size_to_size_keeps_every_attempt() {
    let second = |number: u64| START.after(Span::from_secs(number));
    for block_at in [3, 4, 22, 23, 24, 61, 100] {
        let world = World::new(room_for(1_000), per_user(ladder(block_at, Span::HOUR)));
        let subject = Subject::new().user("a");
        for number in 1..u64::from(block_at) {
            world.clock.set(second(number));
            let (admitted, readings) = world.decide(0, &subject);
            assert!(admitted, "{number} of {block_at}");
            let left = i64::from(block_at) - 1 - i64::try_from(number).unwrap();
            assert_eq!(readings[0].remaining, left, "after {number} of {block_at}");
        }
        // One after another leaves the window as it came.
        for number in 1..u64::from(block_at) {
            world.clock.set(second(3_600 + number - 1));
            assert_eq!(world.peek(0, &subject)[0].remaining, i64::try_from(number).unwrap() - 1);
        }
    }
}

/// A reload may make a log longer than its entry; where there is no larger one, a block in it still holds.
#[test]
fn p47_a_block_holds_although_its_log_has_outgrown_its_entry() {
    let blocking = |block_at| {
        let temp = Threshold { block_at, per: Span::HOUR, block: Span::HOUR };
        Shape::Attempts(Attempts::try_new(temp, None).unwrap())
    };
    let spec = |block_at| spec("p", [limit("l", &[Dimension::User], blocking(block_at))]);
    let set = |block_at| PolicySet::builder().policy(spec(block_at));
    let world = World::new(ONE_GROUP, set(21).build(None).unwrap());
    let victim = Subject::new().user("victim");
    assert_eq!(world.admitted_of(21, &victim), 20, "the last one begins a block");
    world.engine.reload(&set(100)).unwrap();
    // Seven others take all long entries.
    for other in 0..7 {
        assert_eq!(world.admitted_of(30, &Subject::new().user(&format!("other {other}"))), 30);
    }
    for _ in 0..30 {
        assert!(!world.admits(&victim), "it is blocked, however often it tries");
    }
    world.clock.advance(Span::from_secs(3_599));
    assert_eq!(world.peek(0, &victim)[0].room.wait(), Span::SECOND);
    world.clock.advance(Span::SECOND);
    assert!(world.admits(&victim));
}

/// Whoever gets in leaves no log behind, so that many people of one network find places after each other,
/// and operators do in any case.
#[test]
fn t14_logins_that_succeed_take_no_share_of_their_network_and_operators_have_none() {
    let by_user = limit("l", &[Dimension::User], ladder(8, Span::DAY)).settling();
    let world = World::new(Budget::default(), policy([by_user]));
    flood(&world, 1, &mut Dice(42));
    let set = world.engine.policies();
    let mut served = 0;
    for place in 0..200 {
        let user = format!("colleague {place}");
        let subject = Subject::new().user(&user).ip(elsewhere(7));
        let mut case = Case::new(&set.policies()[0], &subject);
        let decision = ready(world.engine.decide(&mut case)).unwrap().unwrap();
        served += u32::from(decision.is_admitted());
        if let Some(ticket) = world.engine.ticket(&decision) {
            ready(world.engine.settle(ticket.as_str(), 0)).unwrap().unwrap();
        }
    }
    println!("{served} of 200 colleagues");
    assert!(served >= 198, "{served} of 200 at one address");
    let mut blocked = 0;
    for place in 0..500 {
        let user = format!("suspect {place}");
        let subject = Subject::new().user(&user);
        let mut case = Case::new(&set.policies()[0], &subject);
        blocked += u32::from(
            ready(world.engine.block(&mut case, None, Span::HOUR, None)).unwrap().is_ok(),
        );
    }
    assert!(blocked >= 495, "{blocked} of 500 blocks");
}
