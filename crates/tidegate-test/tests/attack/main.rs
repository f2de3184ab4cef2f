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

#[test]
fn t19_t15_a_day_of_attacks_stays_within_what_the_guide_says() {
    let outcomes = all();
    let table = table::of(&outcomes);
    println!("{table}");
    for Outcome { name, per_account, per_prefix, vouched, .. } in &outcomes {
        assert!(
            *per_account <= GUESSES_PER_ACCOUNT,
            "{name}: {per_account} guesses at one account"
        );
        assert!(*per_prefix <= GUESSES_PER_PREFIX, "{name}: {per_prefix} guesses of one prefix");
        assert_eq!(vouched.0, vouched.1, "{name}: owners on their own devices always get in");
        assert!(vouched.1 >= 24, "{name}: and they tried");
    }
    table::is_in_the_guide(&table);
}

#[test]
fn p92_blocks_of_attackers_end() {
    for Outcome { name, longest_wait, .. } in all() {
        let hours = longest_wait.as_secs_ceil() / 3600;
        assert!(hours <= 6, "{name}: somebody was told to stay away for {hours} h");
    }
}
