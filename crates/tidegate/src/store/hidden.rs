//! A text that nothing prints: a password is in it.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

/// What must not show in a log, an error or a panic, whoever derives `Debug` around it.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub(crate) struct Hidden(String);

// === impl Hidden ===

impl Hidden {
    /// The text itself, for whoever reads it.
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

/// In a file it is the URL of a store.
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
