//! The door of Tidegate: layers for any [tower](https://docs.rs/tower) stack.
//!
//! ```text
//! request ─▶ early layer ─▶ authentication ─▶ org layer ─▶ service
//!            client, path,   puts an Identity   scope first, then
//!            request id,     into the request's org, user and token:
//!            address limits  extensions         bursts and quotas
//! response ◀─ headers, outcome ◀───────────────── headers, outcome ◀─┘
//! ```
//!
//! | you look for | it is in |
//! |---|---|
//! | who the client is, behind proxies | [`client`] |
//! | which route a path belongs to, and its canonical form | [`Routes`], [`path`] |
//! | who asks, once that is known | [`Identity`] |
//! | everything the layers share | [`Gate`] |
//! | the layers | [`Gate::early`], [`Gate::org`] |
//! | a guard for jobs that are enqueued | [`Gate::enqueue`] |
//! | all of this from a file | [`settings`] |
//! | limits from a database or a claim | [`LimitSource`] |
//! | what a client is told: header and body profiles | [`answer`] |
//! | what an operator is told: log, metrics, audit | [`report`] |
//! | counters, histograms and the text of a scrape | [`metrics`] |
//! | strict JSON, and the field that is wrong | [`json`] |
//! | the token of operators, and its guard | [`admin`] |
//! | a listener that slow clients cannot take over | `serve` (feature `serve`) |
//! | documents that are rendered once a second for everybody | `pages` (feature `serve`) |

pub mod admin;
pub mod answer;
#[cfg(feature = "axum")]
pub mod axum;
mod body;
pub mod client;
mod enqueue;
#[doc(hidden)]
pub mod fuzz;
mod gate;
mod identity;
pub mod json;
mod layer;
pub mod metrics;
mod outcome;
#[cfg(feature = "serve")]
pub mod pages;
pub mod path;
mod plan;
pub mod report;
mod request_id;
pub mod routes;
#[cfg(feature = "serve")]
pub mod serve;
pub mod settings;
mod trace;
mod unguessable;
mod visit;

pub use body::Body;
pub use enqueue::NotEnqueued;
pub use gate::{Gate, GateBuilder, GateError};
pub use identity::Identity;
pub use layer::{GateFuture, GateLayer, GateService};
pub use plan::{LimitSource, LimitTable, Plan, Remembered};
pub use request_id::RequestId;
pub use routes::{Endpoint, Routes, RoutesBuilder, RoutesError};
pub use trace::TraceContext;
pub use visit::{Degraded, Peer, Visit};
