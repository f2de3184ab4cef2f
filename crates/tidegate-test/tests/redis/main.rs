//! The shared store on real servers, through its public door: exact under contention, honest under
//! every fault, and with no more rights than the documents ask for.
//!
//! Everything here runs as the user whose line is in `docs/stores.md`. The tests of faults (`r01_…`)
//! are named after their row in the table there, which they write themselves ([`table`]).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test: what cannot be started or asked fails it, and what it measures is printed"
)]

mod attempts;
mod blocks;
mod cancel;
mod deadline;
mod exact;
mod faults;
mod fleet_rights;
mod fleets;
mod hostile;
mod node;
mod overload;
mod permissions;
mod place;
mod probes;
mod reloads;
mod rotation;
mod scripts;
mod table;
mod trial;
