//! Placeholder, replaced within this session.
