//! The suite of the layers once more, on a store that makes every request wait: the same answers, and
//! every request charged exactly once.
//!
//! The store is neither shared nor fallible, which is what the layers once took for "never waits".
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test: what cannot be made fails it"
)]

#[path = "../it/budgets.rs"]
mod budgets;
mod counted;
#[path = "../it/enqueue.rs"]
mod enqueue;
#[path = "../it/grpc.rs"]
mod grpc;
#[path = "../it/outcomes.rs"]
mod outcomes;
#[path = "../it/plans.rs"]
mod plans;
#[path = "../it/refusals.rs"]
mod refusals;
#[path = "../it/settings.rs"]
mod settings;
#[path = "../it/stack.rs"]
mod stack;
mod store;
#[path = "../it/world.rs"]
mod world;
