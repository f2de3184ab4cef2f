//! The breaker of an upstream: when calls pass, and who tries whether they may pass again.
//!
//! A [`Breaker`] is what one node knows of one upstream. It is a value like [`Failover`], the breaker of a
//! store: an input goes in with its time, and what follows comes out. They are two machines because they
//! answer two questions. A store that fails is replaced by local caps, for minutes, by a locked contract;
//! an upstream that fails is left alone, for a configured window, and then tried by one node of the fleet.
//!
//! ```text
//!            failures in a row                 window over
//!   CLOSED ────────────────────▶ OPEN ──────────────────────▶ HALF_OPEN ──┐ neutral, cancelled, expired,
//!     ▲                           ▲                            │  │  ▲    │ success below the threshold:
//!     │                           └────── the probe failed ────┘  │  └────┘ the next lease
//!     └──────────────── enough probes succeeded ──────────────────┘
//! ```
//!
//! Each node keeps to itself its count of failures, its local state and its probe. The fleet
//! [agrees](crate::Accord) on the generation, the state, and the lease of the node that may probe. A trip
//! opens the local state at once and is agreed on in the background. A probe needs a lease first. A record
//! with a higher generation replaces the local state as soon as this node hears of it.
//!
//! While the fleet cannot be reached, a node goes by its local state alone: it trips, waits, and makes one
//! probe at a time.
//!
//! [`Failover`]: crate::Failover

mod errand;
mod input;
mod machine;
mod settings;
mod signal;
#[cfg(test)]
mod tests;

pub use input::{BreakerInput, CallOutcome, FleetCall, Pass, ProbePass};
pub use machine::{Breaker, BreakerOutputs, Clearance};
pub use settings::{BreakerSettings, BreakerSettingsError, LEASE_SLACK};
pub use signal::{BreakerCause, BreakerChange, BreakerSignal, BreakerState};
