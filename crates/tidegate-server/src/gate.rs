//! The forward-auth door: a reverse proxy asks with the headers of a request whether it may pass.
//!
//! What is said here may reach an end user, so it names nothing from within: no limit, no policy, no
//! store, no mode (contract A29).

pub(crate) use tidegate_tower::client::{client, is_trusted};
