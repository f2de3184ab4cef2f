//! A store in Redis or Valkey that a whole fleet shares.
//!
//! A decision is one call of one script, which reads the clock of the server once, looks at every
//! counter, and writes all or nothing. Its answer is what it found. The readings are worked out from
//! that by the rules of the core, so a client is told what the in-memory store would say.
//!
//! ```text
//! Batch ─▶ group ─▶ signature ─▶ template ─▶ script ─┐
//!            └────▶ args ────────────────────────────┴▶ servers ─▶ reply ─▶ Readings
//! ```
//!
//! | you look for | it is in |
//! |---|---|
//! | the scripts | `lua/`, chosen by `form.rs`, put together by `template.rs` |
//! | how a counter is stored | `Record` in `tidegate-core`; `reply.rs` reads it from answers |
//! | which counters are charged together | `group.rs`, `undo.rs` |
//! | whether the servers work | `probe.rs` |
//! | what operators do to blocks | `amend.rs`, `blocks.rs` |
//! | what happens when the secret is changed · whether it is that of the fleet | `carry.rs` · `secret.rs` |
//! | what a fleet agrees on | `fleet.rs`, `fleet/` |
//! | URLs and settings | `url.rs` |
//! | connections, Sentinel, Cluster, TLS | `servers/` |

mod amend;
mod args;
mod blocks;
mod carry;
mod fleet;
mod form;
#[doc(hidden)]
pub mod fuzz;
mod group;
mod parts;
mod probe;
mod reply;
mod runner;
mod scripts;
mod secret;
mod servers;
mod settle;
mod signature;
mod store;
mod template;
mod trouble;
mod turn;
mod undo;
mod url;

pub use fleet::RedisFleet;
#[doc(hidden)]
pub use runner::RunScript;
pub use store::RedisStore;
pub use trouble::Trouble;
pub use url::{Target, TargetError};
