//! What every rule and every store of Tidegate is held to, named after the properties of the
//! contract (`p86_…`), the pitfalls of its peers (`pitfall_b_…`) and the threats (`t09_…`).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test: what cannot be built fails it"
)]

mod blocks;
mod bounds;
mod costs;
mod differential;
mod eviction;
mod fleet_scripts;
mod fleets;
mod folding;
mod keys;
mod logs;
mod lua;
mod memory;
mod operators;
mod outcomes;
mod overflows;
mod pitfalls;
mod policies;
mod presets;
mod records;
mod reloads;
mod rollback;
mod rows;
mod settling;
mod shared;
mod spans;
mod threats;
mod tightening;
mod twelve;
mod vectors;
mod waits;

use proptest::prelude::ProptestConfig;

/// Multiplies the cases of every property. `PROPTEST_CASES` replaces their numbers altogether.
const THOROUGHNESS: u32 = 1;

/// So many cases, times [`THOROUGHNESS`].
fn cases(cases: u32) -> ProptestConfig {
    let usual = ProptestConfig::default();
    let cases = if usual.cases == 256 { cases * THOROUGHNESS } else { usual.cases };
    ProptestConfig { cases, ..usual }
}
