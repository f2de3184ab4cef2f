//! The rules of Tidegate.

pub mod time;
