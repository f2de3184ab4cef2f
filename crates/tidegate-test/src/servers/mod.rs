//! Real servers, started by a test and broken by it.
//!
//! What a shared store does when its server dies, stalls, forgets or moves cannot be learnt from a
//! mock: the mock would know only the faults its author had thought of. So a test starts its own
//! [`RunningServer`] (or a [`Sentinel`] set, or a [`RunningCluster`]) on loopback, on ports and in a folder of its
//! own, and ends it by its pid. Nothing that somebody else started is ever touched, and a test that
//! is killed leaves no server behind ([`process`]).
//!
//! The waits here are for real processes, so they need tokio's real time, not the paused one.

mod admin;
pub mod checks;
pub mod cluster;
pub mod flavour;
pub mod port;
pub mod process;
pub mod sentinel;
mod server;
pub mod tls;
pub mod wait;

pub use cluster::RunningCluster;
pub use flavour::Flavour;
pub use sentinel::Sentinel;
pub use server::{Builder, RunningServer};
