//! A fleet in virtual time, everything that can go wrong with its store, and the properties that hold
//! all the same.
//!
//! A seed is a [`Schedule`]; a schedule is run by a [`World`]: some nodes with the real engine, clients,
//! and a store that fails as it is told to. What is observed goes into a [trace], and after every
//! step the [checks] look at it. Nothing else happens: no thread, no clock, no chance but the seed's. So
//! a seed that fails, fails again, and can be [cut down](shrink) to the few steps that matter.
//!
//! | file | holds |
//! |---|---|
//! | `schedule.rs`, `step.rs` | what happens, as data |
//! | `world.rs`, `world/time.rs` | what happens to a fleet, and when |
//! | `node.rs`, `hub.rs` | its nodes, and what they share |
//! | `store.rs`, `counters.rs`, `fault.rs` | the store and what is wrong with it |
//! | `trace.rs`, `log.rs` | what is observed, and what is remembered of it |
//! | `checks/` | the properties |
//! | `run.rs` | one seed, and the same again with something else |
//! | `adversary.rs` | somebody who brings the store down for a purpose |
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

pub use counters::Mark;
pub use fault::{Fault, Reach, Way};
pub use policies::{QUOTA, laws};
pub use rng::Rng;
pub use run::{Figures, compare, logs, run, run_and_compare};
pub use schedule::{MOST, Schedule};
pub use step::{Client, Landmark, Over, Step, Verb};
pub use world::{Variant, World};
