//! A block: read from the server's JSON, and shown to people.

use std::fmt;

use serde::Deserialize;

use crate::text::in_words;

/// The part of a reading of attempts that is shown.
#[derive(Debug, Deserialize)]
pub(super) struct Attempts {
    pub(super) block: Option<Block>,
}

/// A block, shown as `blocked (temp, L2) until 2026-11-15T11:15:50.123456Z, 58 s left`.
#[derive(Debug, Deserialize)]
pub(super) struct Block {
    scope: String,
    level: Option<String>,
    ends_at: String,
    ends_in_us: u64,
}

// === impl Block ===

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scope, level, ends_at, ends_in_us } = self;
        write!(f, "blocked ({scope}")?;
        if let Some(level) = level {
            write!(f, ", {level}")?;
        }
        write!(f, ") until {ends_at}, {} left", in_words(*ends_in_us))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_block_says_why_and_until_when() {
        let block = |level: Option<&str>| -> Block {
            serde_json::from_value(json!({
                "scope": "temp", "level": level, "ends_at": "2026-11-15T11:15:50.123456Z",
                "ends_in_us": 58_000_000, "begins": false,
            }))
            .unwrap()
        };
        let until = "until 2026-11-15T11:15:50.123456Z, 58 s left";
        assert_eq!(block(Some("L2")).to_string(), format!("blocked (temp, L2) {until}"));
        assert_eq!(block(None).to_string(), format!("blocked (temp) {until}"));
    }
}
