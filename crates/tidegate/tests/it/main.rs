//! The real binary, from outside: through its command line, its sockets, its signals and its files.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test: what cannot be done fails it"
)]

mod admin;
mod bench;
mod check;
mod commands;
mod curl;
mod drain;
mod environment;
mod examples;
mod explain;
mod fleet;
mod login;
mod logs;
mod one_file;
mod outage;
mod overload;
mod process;
mod reload;
mod serve;
mod store;
mod warnings;
mod wire;
