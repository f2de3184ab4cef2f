//! A simulation in virtual time: a fleet, everything that can go wrong with its store, and the
//! properties that hold all the same.
//!
//! A seed is a [`Schedule`]; a schedule is run by a [`World`]: some nodes with the real engine,
//! clients, and a store that fails as it is told to. Everything observed goes into a [trace], and
//! after every step the [checks] examine it. Nothing else is involved: no thread, no clock, no
//! chance but the seed's. So a seed that fails, fails again, and can be [cut down](shrink) to the
//! few steps that matter.
//!
//! | file | holds |
//! |---|---|
//! | `schedule.rs`, `step.rs` | the events of a simulation, as data |
//! | `world.rs`, `world/time.rs` | the fleet, and its virtual time |
//! | `node.rs`, `hub.rs` | the nodes, and the state they share |
//! | `store.rs`, `counters.rs`, `fault.rs` | the store and what is wrong with it |
//! | `trace.rs`, `log.rs` | the observations, and a log of them |
//! | `checks/` | the properties |
//! | `run.rs` | runs of one seed, compared with each other |
//! | `adversary.rs` | a search for the outages that gain an attacker most |
//! | `shrink.rs` | the shortest schedule that still fails |

pub mod adversary;
pub mod checks;
mod counters;
mod fault;
mod hub;
mod log;
mod node;
mod policies;
mod rng;
mod run;
mod schedule;
pub mod shrink;
mod step;
mod store;
pub mod trace;
mod world;

pub use counters::Damage;
pub use fault::{Fault, Reach, Way};
pub use policies::{QUOTA, laws};
pub use rng::Rng;
pub use run::{RunFigures, compare, logs, run, run_and_compare};
pub use schedule::{MOST, Schedule};
pub use step::{Client, Landmark, OperatorVerb, Over, SimStep};
pub use world::{Variant, World};
