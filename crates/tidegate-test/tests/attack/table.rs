//! What is found, as the table in the guide.

use std::fmt::Write as _;

use tidegate_test::document::MarkedPart;

use crate::scenarios::Outcome;

/// The place of the table.
const GUIDE: MarkedPart = MarkedPart {
    document: "docs/guides/login.md",
    begin: "<!-- begin: a day of attacks -->",
    end: "<!-- end: a day of attacks -->",
};

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

/// Fails unless the guide has this very table; with `UPDATE=1`, writes it there.
pub(crate) fn is_in_the_guide(table: &str) {
    GUIDE.record(table);
}
