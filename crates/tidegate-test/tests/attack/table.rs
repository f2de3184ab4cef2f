//! What is found, as the table in the guide.

use std::fmt::Write as _;
use std::path::Path;

use crate::scenarios::Outcome;

const BEGIN: &str = "<!-- begin: a day of attacks -->\n";
const END: &str = "<!-- end: a day of attacks -->";

pub(crate) fn of(outcomes: &[Outcome]) -> String {
    let mut table = String::from(
        "| attack, for 24 hours | attempts | guesses let through at one account | from one prefix | \
         from one IPv6 /48 | owner, vouched device | owner, unknown device |\n\
         |---|---|---|---|---|---|---|\n",
    );
    for outcome in outcomes {
        let Outcome { name, attempts, per_account, per_prefix, per_48, .. } = outcome;
        let of_all = |(good, all): (u32, u32)| match outcome.is_flood {
            true => "99 % or more".to_owned(),
            false => format!("{good} of {all}"),
        };
        let (vouched, unvouched) = (of_all(outcome.vouched), of_all(outcome.unvouched));
        // How many of a flood come through differs from one run to the next.
        let from = match outcome.is_flood {
            true => format!("under {0} | under {0}", (per_prefix + 1).next_multiple_of(100)),
            false => format!("{per_prefix} | {per_48}"),
        };
        let row =
            format!("| {name} | {attempts} | {per_account} | {from} | {vouched} | {unvouched} |");
        writeln!(table, "{row}").unwrap();
    }
    table
}

#[allow(clippy::disallowed_methods, reason = "how a person asks a test to write what it found")]
fn is_update() -> bool {
    std::env::var_os("UPDATE").is_some()
}

/// Fails unless the guide has this very table; with `UPDATE=1`, writes it there.
pub(crate) fn is_in_the_guide(table: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guides/login.md");
    let guide = std::fs::read_to_string(&path).expect("there is a guide to logins");
    let (before, rest) = guide.split_once(BEGIN).expect("a place for the table");
    let (there, after) = rest.split_once(END).expect("an end of that place");
    if is_update() {
        std::fs::write(&path, format!("{before}{BEGIN}{table}{END}{after}")).unwrap();
        return;
    }
    assert_eq!(there, table, "what the guide says is not what was found; run with UPDATE=1");
}
