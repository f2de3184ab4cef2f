//! The admin listener: it lists, sets and lifts blocks, resets counters, and shows what an organisation
//! has left of its quotas.
//!
//! It is a listener of its own and not a path on the other one: whoever may ask for decisions must not
//! thereby be able to lift a block, and a proxy that forwards too much must not reach it (threat T43).
//! Without a token there is no such listener, and the only token is the one that was handed in.
//! Connections have the same bounds as elsewhere, and pages in browsers are refused as elsewhere; beyond
//! that, anybody who knows the token is trusted.

pub(crate) mod answers;
mod quotas;
pub(crate) mod requests;
mod verbs;

pub(crate) use quotas::quotas;
pub(crate) use verbs::{block, blocks, reset, unblock};
