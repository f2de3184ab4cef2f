//! The endpoints, one file for each kind.

mod decide;
mod gate;
mod health;
mod policies;
mod settle;

pub(crate) use decide::{batch, decide, peek, undecided, unknown_policy, write};
pub(crate) use gate::gate;
pub(crate) use health::{ReadyAnswer, livez, metrics, openapi, readyz};
pub(crate) use policies::{explain, policies};
pub(crate) use settle::settle;
