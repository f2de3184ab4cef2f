//! The harness, tried: every guard and every switch does to a real server what it says.
//!
//! Conclusions about a store rest on these. A blackhole that lets a byte through, or a server that
//! was never killed, would make every test behind it pass for nothing.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test: what cannot be started or asked fails it"
)]

mod canned;
mod cluster;
mod crowd;
mod flavours;
mod proxy;
mod sentinel;
mod server;
mod tls;
mod wire;
