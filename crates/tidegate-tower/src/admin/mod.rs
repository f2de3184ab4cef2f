//! The guard of a listener for operators: the token they need, and what becomes of wrong ones.

mod guard;
mod token;

pub use guard::{AdminGuard, TokenRefusal};
pub use token::{AdminToken, AdminTokenError};
