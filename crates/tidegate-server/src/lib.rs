//! The oracle of Tidegate: decisions over HTTP.
//!
//! A [`Server`] answers with the decisions of an engine, over HTTP/1.1 and HTTP/2. What every endpoint
//! takes and answers is in [`openapi()`] and, for people, in `docs/server.md`.
//!
//! ```text
//! accept ──▶ threads ──▶ connection ──▶ service ──▶ route ──▶ routes/* ──▶ answer
//!   how many, from whom     │ watch: who is slow      wire/*: bodies in, answers out
//! ```
//!
//! | you look for | it is in |
//! |---|---|
//! | which thread serves which connection | `threads.rs` |
//! | timeouts, slow clients | `connection/watch.rs` |
//! | strict JSON, the field that is wrong | `wire/strict.rs`, `wire/requests.rs` |
//! | the gate for proxies | `routes/gate.rs`; the client behind them: [`tidegate_tower::client`] |
//! | every refusal there is | `problem.rs` |
//! | metrics and their labels | `metrics/` |
//! | what operators do, and who may | `admin/` |

mod accept;
mod admin;
mod answer;
mod attempts;
mod body;
mod connection;
#[doc(hidden)]
pub mod fuzz;
mod metrics;
mod openapi;
mod problem;
mod route;
mod routes;
mod server;
mod service;
mod settings;
mod suggest;
mod threads;
mod wire;
mod worker;

pub use admin::{AdminToken, AdminTokenError};
pub use openapi::openapi;
pub use problem::Problem;
pub use server::{Drained, Handle, Server};
pub use settings::{
    Header, Length, Network, Settings, SettingsError, Size, UnitError, WrittenAdmin, WrittenGate,
    WrittenHeaders, WrittenSettings,
};
