//! Real outages under the checks of the simulator: real servers are killed, stopped, paused, filled and
//! replaced, real wires cut, while virtual time passes by command.
//!
//! What a node does meanwhile is recorded as the simulator records it, and the same checks look at it.
//! Real operations take real time, which the clock of the nodes does not see: minutes of an outage pass
//! in seconds, and nothing here depends on how busy the machine is. What was measured is written to
//! `docs/failure-semantics.md` ([`table`]).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test: what cannot be started or asked fails it, and what it measures is printed"
)]

mod figures;
mod flapping;
mod kept;
mod memory;
mod node;
mod oracle;
mod people;
mod policies;
mod process;
mod recorded;
mod refusals;
mod rows;
mod sentinel;
mod speed;
mod stalls;
mod still;
mod story;
mod table;
mod tape;
mod wire;
mod world;
