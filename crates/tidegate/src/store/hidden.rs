//! A text that nothing prints: a password is in it.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt;

use anyhow::{Result, anyhow};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

/// A text that must not show in a log, an error or a panic, even if a type around it derives `Debug`.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub(crate) struct Hidden(String);

// === impl Hidden ===

impl Hidden {
    /// The value of an environment variable, if it has one. There is no flag for it, which others on the
    /// machine could read, so clap does not read the variable either.
    ///
    /// # Errors
    ///
    /// If the value is not UTF-8 text.
    #[expect(clippy::disallowed_methods, reason = "the binary is where the environment is read")]
    pub(crate) fn of_environment(variable: &str) -> Result<Option<Self>> {
        let value = std::env::var_os(variable).filter(|value| !value.is_empty());
        let text = value.map(OsString::into_string).transpose();
        // The error is not shown: it would be the text.
        let text = text.map_err(|_| anyhow!("{variable} is not UTF-8 text"))?;
        Ok(text.map(Self))
    }

    /// The text itself, for the code that needs it.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl From<String> for Hidden {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// The schema of a hidden text in a policy file, where it is the URL of a store.
impl JsonSchema for Hidden {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Store".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": r"^(memory|rediss?(\+(sentinel|cluster))?://.+)$",
            "examples": ["memory", "redis://127.0.0.1:6379"],
        })
    }
}
