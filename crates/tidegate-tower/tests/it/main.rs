//! The layers, as a stack meets them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test: what cannot be made fails it"
)]

mod budgets;
mod enqueue;
mod entrances;
mod extras;
mod grpc;
mod outage;
mod outcomes;
mod plans;
mod refusals;
#[cfg(feature = "serve")]
mod serve;
mod settings;
mod shared;
mod stack;
mod store;
mod world;
