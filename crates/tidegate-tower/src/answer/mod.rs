//! What a client is told: status, header fields and bodies.
//!
//! | you look for | it is in |
//! |---|---|
//! | which header fields, which body: what a host chooses | [`Profile`] |
//! | why a request was refused: every reason there is | [`Code`] |
//! | a refusal by a decision, in the profile of a host | [`Profile::refusal`] |
//! | problem documents (RFC 9457) | [`Problem`] |
//! | the compact body, also for call sites of one's own | [`ErrorResponse`] |
//!
//! Every response has the numbers of one decision: of the layers that a request has passed, the one that
//! leaves the smallest share. All instants are by the clock of the store or server that decided, and
//! never by the client's; waits are rounded up and remainders down, so that a client that believes them
//! is not refused for it.
//!
//! A client that could be guessing a password is told less: numbers, but neither the names of limits nor
//! the dimensions they count by.

mod body;
mod code;
mod compact;
mod figures;
mod headers;
mod listing;
mod problem;
mod profile;
mod refusal;
#[cfg(test)]
mod tests;

pub use code::Code;
pub use compact::{ErrorCode, ErrorResponse};
pub use problem::{Problem, brief};
pub use profile::{BodyProfile, HeaderProfile, Headers, Profile, Reset, RetryAfter};

pub(crate) use figures::Figures;
pub(crate) use listing::Listings;
pub use refusal::Refused;

use tidegate_core::Protects;

/// Whether a policy guards identity. A client that it refuses may be guessing, and is told less.
const fn is_about_identity(protects: Option<Protects>) -> bool {
    matches!(protects, Some(Protects::Login | Protects::Otp | Protects::Auth | Protects::StepUp))
}
