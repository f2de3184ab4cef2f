//! The endpoints, one file for each kind.

mod decide;
mod gate;
mod health;
mod pages;
mod policies;
mod settle;

pub(crate) use decide::{batch, decide, peek, undecided, unknown_policy};
pub(crate) use gate::gate;
pub(crate) use health::{ReadyAnswer, livez, readyz};
pub(crate) use pages::{metrics, openapi, policies};
pub(crate) use policies::explain;
pub(crate) use settle::settle;
