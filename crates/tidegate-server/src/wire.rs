//! What goes over the wire: request bodies in, answers out.

pub(crate) mod answers;
pub(crate) mod ask;
pub(crate) mod json;
pub(crate) mod listing;
pub(crate) mod query;
pub(crate) mod requests;
