//! A day of attacks on a login, in virtual time: how many guesses come through, and whether owners get
//! in. The table it makes is in the guide to logins; `UPDATE=1` writes it there.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test: what cannot be built fails it, and what it finds is to be read"
)]

mod actor;
mod scenarios;
mod table;
mod world;

use scenarios::{Outcome, all};

/// What the guide promises, for any attacker and any number of addresses.
const GUESSES_PER_ACCOUNT: u32 = 75;
/// And for any number of accounts, for each address prefix.
const GUESSES_PER_PREFIX: u32 = 1_500;
/// And for any number of subnets, for each IPv6 /48.
const GUESSES_PER_48: u32 = 24_000;

#[test]
fn t19_t15_a_day_of_attacks_stays_within_what_the_guide_says() {
    let outcomes = all();
    let table = table::of(&outcomes);
    println!("{table}");
    outcomes.iter().filter(|outcome| outcome.is_flood).for_each(|flood| println!("{flood:?}"));
    for outcome in &outcomes {
        let Outcome { name, per_account, per_prefix, per_48, is_flood, .. } = outcome;
        assert!(
            *per_account <= GUESSES_PER_ACCOUNT,
            "{name}: {per_account} guesses at one account"
        );
        assert!(*per_prefix <= GUESSES_PER_PREFIX, "{name}: {per_prefix} guesses of one prefix");
        assert!(*per_48 <= GUESSES_PER_48, "{name}: {per_48} guesses of one /48");
        let (vouched, of) = outcome.vouched;
        assert!(of >= 24, "{name}: owners tried");
        match is_flood {
            true => assert!(outcome.serves_nearly_all(), "{name}: {outcome:?}"),
            false => assert_eq!(vouched, of, "{name}: owners on their own devices always get in"),
        }
        let hours = outcome.longest_wait.as_secs_ceil() / 3600;
        // Who is counted with others may have to wait for the end of the longest window.
        let most = if *is_flood { 24 } else { 6 };
        assert!(hours <= most, "{name}: somebody was told to stay away for {hours} h");
    }
    table::is_in_the_guide(&table);
}
