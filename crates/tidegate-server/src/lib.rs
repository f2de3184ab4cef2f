//! The oracle of Tidegate: decisions over HTTP.
//!
//! A [`Server`] answers with the decisions of an engine, over HTTP/1.1 and HTTP/2. What every endpoint
//! takes and answers is in [`openapi()`] and, for people, in `docs/server.md`.
//!
//! ```text
//! tidegate_tower::serve ──▶ service ──▶ route ──▶ routes/* ──▶ answer
//!   one listener for every door          wire/*: bodies in, answers out
//! ```
//!
//! | you look for | it is in |
//! |---|---|
//! | connections, threads, slow clients | [`tidegate_tower::serve`] |
//! | this server beside another service, on one listener | [`Server::service`] |
//! | strict JSON, the field that is wrong | [`tidegate_tower::json`], `wire/requests.rs` |
//! | the gate for proxies | `routes/gate.rs`; the client behind them: [`tidegate_tower::client`] |
//! | every refusal there is | [`tidegate_tower::answer`] |
//! | requests that pages in browsers may not send | `browser.rs`, `settings/hosts.rs` |
//! | metrics and their labels | `metrics/` |
//! | pages that are made once a second and shared | `pages.rs`, `routes/pages.rs` |
//! | what operators can do, and the token they need | `admin/`, [`tidegate_tower::admin`] |

mod admin;
mod answer;
mod attempts;
mod body;
mod browser;
#[doc(hidden)]
pub mod fuzz;
mod metrics;
mod openapi;
mod route;
mod routes;
mod server;
mod service;
mod settings;
mod state;
mod wire;

pub use answer::Payload;
pub use openapi::openapi;
pub use server::{Handle, Server};
pub use service::Oracle;
pub use settings::{
    Header, HostError, Length, Network, Settings, SettingsError, Size, UnitError, WrittenAdmin,
    WrittenGate, WrittenHeaders, WrittenHost, WrittenSettings,
};
pub use tidegate_tower::admin::{AdminToken, AdminTokenError};
pub use tidegate_tower::serve::Stopped;
