//! Shared stores for Tidegate: they keep the counters of a whole fleet.
//!
//! Each is a feature and a module of its own, and implements [`Store`](tidegate_core::Store) for the
//! core's rules. None knows a policy or the engine. A module may have a [`Fleet`](tidegate_core::Fleet) beside
//! its store, in which the breakers of a fleet agree.
//!
//! | feature | servers | module |
//! |---|---|---|
//! | `redis` | Redis and Valkey: single, Sentinel, Cluster | `redis/` |
//!
//! # Adding a store
//!
//! Begin with the smallest one, in chapter 9 of the book of `tidegate-core`. A store that waits has
//! `charge`, `peek` and `settle` instead of the methods that end in `_now`; one that can fail has a
//! `probe` too, because the provided one finds every store well.
//!
//! | crate | new | changed |
//! |---|---|---|
//! | `tidegate-stores` | a feature and a module | `lib.rs` |
//! | `tidegate`, the binary | a feature | `lib.rs` (what library users import), `store/` (its URL, and how it is watched), `cli/serve.rs` and `cli/serve/node.rs` (serving with it), `warnings.rs` |
//! | `tidegate-test` | its faults, beside `tests/redis` | `tests/conformance` (the same traces as every store) |
//! | `xtask` | | `install.rs` (its server), `stages.rs` (its feature alone) |
//!
//! Its page is `docs/stores.md`, its URL is told in `docs/policy-file.md`.

#[cfg(feature = "redis")]
pub mod redis;
