//! The in-memory store under attack: many threads, many keys, little memory.
//!
//! Rules and their arithmetic are judged elsewhere, one request at a time. Here it is about what only
//! shows in a crowd: counters that are raced for, places that are fought over, keys that do not fit.
//! Tests are named after the threats (`t11_…` to `t15_…`) and properties (`p44_…`, `p95_…`) they
//! hold. Nothing waits for real time to pass, and whatever is random comes from a seed that a failure
//! prints.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test: what cannot be built fails it, and figures are printed"
)]

mod batches;
mod blocks;
mod digests;
mod floods;
mod newcomers;
mod overflow;
mod plans;
mod races;
mod reclaim;
mod reload;
mod victims;
mod world;
