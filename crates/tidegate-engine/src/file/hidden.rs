//! A text that nothing shows: a password is in it.

use schemars::json_schema;
use serde::Deserialize;

use super::written::schemas::inlined;

/// A text that must not show in a log, an error or a panic, even if a type around it derives `Debug`.
///
/// A field of this type is a secret: errors about a file cover the value wherever the field stands.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Hidden(String);

// === impl Hidden ===

impl Hidden {
    /// The text itself, for the code that needs it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl From<String> for Hidden {
    fn from(text: String) -> Self {
        Self(text)
    }
}

tidegate_core::debug_as!(Hidden, "***");

// `writeOnly` says that the value is not to be shown, which is also how errors know.
inlined!(Hidden, "Hidden", |_| json_schema!({ "type": "string", "writeOnly": true }));
