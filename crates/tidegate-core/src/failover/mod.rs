//! What becomes of requests while the store is not trusted: the locked contract of failure.
//!
//! For each policy, every node by itself keeps a [`Standby`]. It has three parts, all of them pure:
//!
//! * [`Failover`], the state machine: when the store is asked, when local caps decide, when nothing
//!   passes, and when the store may be trusted again. One function, [`Failover::step`], shows every
//!   transition.
//! * [`Guardrails`], the exact local caps that decide meanwhile.
//! * [`Mirror`], the blocks this node knew of before.
//!
//! Beside them, one [`Headroom`] for each node says how many calls its store can answer in time: too
//! many requests at once are no failure of the store, and are shed instead.
//!
//! ```text
//!             3 failures in 10 s                4th entry in 30 min
//!   NORMAL ───────────────────────▶ DEGRADED   ┌──────────────────▶ FAIL_CLOSED, 10 min
//!     ▲  ▲                             │       │                        │      │
//!     │  └──── 5 min, 2 min healthy ───┘   NORMAL ◀──── healthy ────────┘      └─▶ DEGRADED
//!     │                                                                 otherwise
//!   unproven: since the start, until the store has answered once
//! ```
//!
//! The numbers are in [`contract`], and nowhere else.

pub mod contract;
mod failsafe;
mod guardrail;
mod headroom;
mod health;
mod input;
mod machine;
mod mirror;
mod outage;
mod signal;
mod standby;
#[cfg(test)]
mod tests;

pub use contract::Cap;
pub use failsafe::{Alarm, Failsafe, Guarded};
pub use guardrail::{Asked, Guardrails};
pub use headroom::Headroom;
pub use input::{Failure, Generation, Input, Probe};
pub use machine::{Course, Failover, Outputs};
pub use mirror::Mirror;
pub use signal::{Cause, Severity, Signal, Transition};
pub use standby::{Standby, Standing};
