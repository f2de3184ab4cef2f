//! The server through real sockets.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests state what they expect, as tests do"
)]

mod admin;
mod attempts;
mod batch;
mod beside;
mod browser;
mod corpus;
mod decide;
mod drain;
mod explain;
mod failover;
mod gate;
mod health;
mod http1;
mod http2;
mod limits;
mod logs;
mod memory;
mod metrics;
mod openapi;
mod pages;
mod panics;
mod problems;
mod quotas;
mod raw;
mod reload;
mod settle;
mod slow;
mod smuggling;
mod world;
