//! The attacks.

use tidegate_core::Span;

use crate::actor::Actor;
use crate::world::{Tally, World};

/// What came of a day.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) name: &'static str,
    /// The most guesses let through at one account, and from one address prefix.
    pub(crate) per_account: u32,
    pub(crate) per_prefix: u32,
    /// Logins of owners with the right password that were let through, of all.
    pub(crate) vouched: (u32, u32),
    pub(crate) unvouched: (u32, u32),
    pub(crate) longest_wait: Span,
    pub(crate) attempts: u64,
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
    ]
}

fn day(name: &'static str, mut actors: Vec<Actor>) -> Outcome {
    actors.push(Actor::owner(0, Some("their own laptop")));
    actors.push(Actor::owner(0, None));
    let tally: Tally = World::new().day(actors);
    let most = |counts: &mut dyn Iterator<Item = &u32>| counts.copied().max().unwrap_or_default();
    Outcome {
        name,
        per_account: most(&mut tally.per_account.values()),
        per_prefix: most(&mut tally.per_prefix.values()),
        vouched: tally.vouched,
        unvouched: tally.unvouched,
        longest_wait: tally.longest_wait.unwrap_or(Span::ZERO),
        attempts: tally.attempts,
    }
}
