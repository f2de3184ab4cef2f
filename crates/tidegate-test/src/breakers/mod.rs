//! The simulation of breakers: a few nodes, one upstream, and a fleet that they reach badly.
//!
//! A seed gives a schedule of misfortune: calls to the fleet and their answers get lost or come late, nodes
//! are cut off, crash in the middle of a probe, or stand still and wake up in the past; the clock of the
//! fleet is set forward and back, its memory is lost, and an operator interferes. The upstream fails and
//! recovers meanwhile. Then all of that ends, and the breakers have to close within the time that the design
//! promises. Everything happens in virtual time, one event after the other, so a seed that fails can be run
//! again.
//!
//! What is checked, and after which step, is in `checks.rs`.

mod checks;
mod node;
mod tally;
mod world;

pub use tally::BreakerTally;
pub use world::run;
