//! What takes the whole machine: the real binary under load, under attack, and behind a real proxy.
//!
//! `.config/nextest.toml` runs these alone, one after another, because they measure; plain `cargo
//! test` needs `--test-threads 1` for the same.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a test: what cannot be done fails it, and latency is what one of them is about"
)]

mod latency;
mod nginx;
#[path = "../it/process.rs"]
#[allow(dead_code, reason = "shared with the other tests, which use the rest")]
mod process;
mod reload;
mod slow;
#[path = "../it/wire.rs"]
#[allow(dead_code, reason = "shared with the other tests, which use the rest")]
mod wire;
