//! Which servers, as written.
