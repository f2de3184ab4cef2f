//! What becomes of requests when the store fails, with an engine as hosts use it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test: what cannot be built fails it, and figures are printed"
)]

mod blocks;
mod calls;
mod deadline;
mod kinds;
mod modes;
mod outside;
mod overload;
mod races;
mod status;
mod world;
