//! The attacks.

use tidegate_core::Span;

use crate::actor::Actor;
use crate::world::{Tally, World};

/// What came of a day.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) name: &'static str,
    /// The most guesses let through at one account, from one address prefix, and from one IPv6 /48 or
    /// IPv4 address.
    pub(crate) per_account: u32,
    pub(crate) per_prefix: u32,
    pub(crate) per_48: u32,
    /// Logins of owners with the right password that were let through, of all.
    pub(crate) vouched: (u32, u32),
    pub(crate) unvouched: (u32, u32),
    pub(crate) longest_wait: Span,
    /// Whether there are more keys than places, so that some are counted with others, by chance.
    pub(crate) is_flood: bool,
    pub(crate) attempts: u64,
}

impl Outcome {
    /// Whether 99 in a hundred owners get in, on devices that are vouched for and on others.
    pub(crate) fn serves_nearly_all(&self) -> bool {
        [self.vouched, self.unvouched].iter().all(|(good, all)| good * 100 >= all * 99)
    }
}

const SECOND: Span = Span::SECOND;

/// Every attack for a day, each in a world of its own: with an owner on a vouched device and one without
/// among the accounts that are attacked.
pub(crate) fn all() -> Vec<Outcome> {
    let spray = |pace| vec![Actor::guesser(1, (0, 5_000), pace)];
    let crowd = |count: u32, pace| (0..count).map(move |ip| Actor::guesser(ip, (0, 1), pace));
    vec![
        day("nobody attacks", vec![]),
        day("guessing at one account, as fast as told", vec![Actor::guesser(1, (0, 1), SECOND)]),
        day(
            "guessing at one account, patiently: 5 in 10 minutes",
            vec![Actor::guesser(1, (0, 1), Span::from_secs(121))],
        ),
        day("spraying 5,000 accounts, as fast as told", spray(SECOND)),
        day("spraying 5,000 accounts, patiently: 20 in 10 minutes", spray(Span::from_secs(31))),
        day("1,000 addresses at one account, as fast as told", crowd(1_000, SECOND).collect()),
        day("1,000 addresses at one account, each every 10 minutes", {
            crowd(1_000, Span::from_secs(600)).collect()
        }),
        day(
            "64 guesses in the same microsecond, every second",
            vec![Actor::guesser(1, (0, 1), SECOND).in_parallel(64)],
        ),
        day(
            "lockout: hammering at one account, 1 a second",
            vec![Actor::guesser(1, (0, 1), SECOND).hammering()],
        ),
        day("lockout: 50 addresses hammering at one account", {
            crowd(50, Span::from_secs(10)).map(Actor::hammering).collect()
        }),
        day("IPv6 block: 1,000 subnets of one /48, each another account every 5 minutes", {
            let spray = |subnet: u16| {
                let accounts = (1_000 * u32::from(subnet), 1_000);
                Actor::guesser(0, accounts, Span::from_secs(300)).within_a_48(subnet)
            };
            (0..1_000).map(spray).collect()
        }),
        flood(),
    ]
}

/// More keys than there are places for. Where a key finds none, chance decides whom it is counted with, so
/// there are more owners, each of another account.
fn flood() -> Outcome {
    let spray = |ip: u32| Actor::guesser(ip, (100 * ip, 100), Span::from_secs(864)).hammering();
    let mut actors: Vec<Actor> = (0..10_000).map(spray).collect();
    for account in 0..100 {
        actors.push(Actor::owner(2_000_000 + account, Some("their own laptop")));
        actors.push(Actor::owner(3_000_000 + account, None));
    }
    let name = "flood: a million guesses at as many accounts, from 10,000 addresses";
    Outcome { is_flood: true, ..outcome(name, actors) }
}

fn day(name: &'static str, mut actors: Vec<Actor>) -> Outcome {
    actors.push(Actor::owner(0, Some("their own laptop")));
    actors.push(Actor::owner(0, None));
    outcome(name, actors)
}

fn outcome(name: &'static str, actors: Vec<Actor>) -> Outcome {
    let tally: Tally = World::new().day(actors);
    let most = |counts: &mut dyn Iterator<Item = &u32>| counts.copied().max().unwrap_or_default();
    Outcome {
        name,
        per_account: most(&mut tally.per_account.values()),
        per_prefix: most(&mut tally.per_prefix.values()),
        per_48: most(&mut tally.per_48.values()),
        vouched: tally.vouched,
        unvouched: tally.unvouched,
        longest_wait: tally.longest_wait.unwrap_or(Span::ZERO),
        attempts: tally.attempts,
        is_flood: false,
    }
}
