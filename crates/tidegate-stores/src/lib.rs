//! Shared stores for Tidegate: they keep the counters of a whole fleet.
//!
//! Each is a feature and a module of its own, and implements [`Store`](tidegate_core::Store) for the
//! core's rules. None knows a policy or the engine.
//!
//! | feature | servers | module |
//! |---|---|---|
//! | `redis` | Redis and Valkey: single, Sentinel, Cluster | `redis/` |

#[cfg(feature = "redis")]
pub mod redis;
