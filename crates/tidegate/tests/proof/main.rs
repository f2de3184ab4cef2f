//! What takes the whole machine: the real binary under load, under attack, and behind a real proxy.
//!
//! They measure, so each runs [`alone`]: `.config/nextest.toml` sees to it between processes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test: what cannot be done fails it"
)]

mod attacks;
mod chromium;
#[expect(dead_code, reason = "`main` is for `cargo run`")]
#[path = "../../examples/org-api/main.rs"]
mod example;
mod frames;
mod idle;
mod latency;
mod listeners;
mod memory;
mod nginx;
#[path = "../it/process.rs"]
#[allow(dead_code, reason = "shared with the other tests, which use the rest")]
mod process;
mod reload;
mod site;
mod slow;
#[path = "../it/wire.rs"]
#[allow(dead_code, reason = "shared with the other tests, which use the rest")]
mod wire;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Keeps the other tests of this process waiting for as long as it lives.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
