//! The example of an API that organisations share, driven through real sockets: what the layers promise
//! holds from the first byte of a connection to the last.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test: what cannot be done fails it"
)]

mod answers;
mod bursts;
#[expect(dead_code, reason = "`main` is for `cargo run`")]
#[path = "../../examples/org-api/main.rs"]
mod example;
#[path = "../../../tidegate-tower/src/client/forms.rs"]
mod forms;
mod forwarding;
mod frames;
mod isolation;
mod networks;
mod operators;
mod paths;
mod routes;
mod site;
mod slow;
mod uploads;
