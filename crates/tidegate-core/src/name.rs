//! Names of limits and policies: what configuration, keys, metrics and answers call them.

use core::fmt;
use std::sync::Arc;

/// A short name: 1 to 64 of `a-z`, `0-9`, `_`, `-` and `.`, so that it can stand unescaped in a
/// key, a metric label or a header.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Arc<str>);

/// The error for a text that is not a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a name: use 1 to 64 of a-z, 0-9, '_', '-' and '.'")]
pub struct NameError(String);

// === impl Name ===

impl Name {
    /// The length of the longest name, in bytes.
    pub const MAX_LEN: usize = 64;

    /// Makes a name of `text`, which is checked.
    ///
    /// # Errors
    ///
    /// If the text is empty, too long, or has other characters than a name may have.
    pub fn try_new(text: &str) -> Result<Self, NameError> {
        let allowed =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-.".contains(&byte);
        if text.is_empty() || text.len() > Self::MAX_LEN || !text.bytes().all(allowed) {
            // The text that the error repeats is bounded too: it may come from a hostile file.
            return Err(NameError(text.chars().take(Self::MAX_LEN).collect()));
        }
        Ok(Self(Arc::from(text)))
    }

    /// The name with this text, which is known to be one.
    pub(crate) fn known(text: &'static str) -> Self {
        debug_assert!(Self::try_new(text).is_ok(), "{text}");
        Self(Arc::from(text))
    }

    /// The text of the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for Name {
    fn as_ref(&self) -> &str {
        &self.0
    }
}
