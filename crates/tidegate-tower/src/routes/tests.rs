//! Which endpoint a request belongs to.
