//! Redis and Valkey: one truth for a fleet.
#![allow(dead_code, reason = "the store on top of these follows")]

mod script;
mod servers;
mod target;
mod trouble;

pub use self::target::{Target, TargetError};
pub use self::trouble::Trouble;
