//! What one limit says: read from the server's JSON, and shown to people.

use std::fmt;

use serde::Deserialize;

use crate::text::in_words;

/// The part of a limit's reading that is shown.
#[derive(Debug, Deserialize)]
pub(super) struct ShownReading {
    pub(super) name: String,
    pub(super) scope: String,
    pub(super) shape: String,
    capacity: u64,
    remaining: i64,
    room: String,
    retry_after_us: Option<u64>,
    pub(super) reset_after_us: u64,
    pub(super) shadow: bool,
    /// `None` if the limit is of another shape.
    pub(super) attempts: Option<ShownAttempts>,
}

/// The part of a reading of attempts that is shown.
#[derive(Debug, Deserialize)]
pub(super) struct ShownAttempts {
    block: Option<ShownBlock>,
}

/// A block, shown as `blocked (temp, L2) until 2026-11-15T11:15:50.123456Z, 58 s left`.
#[derive(Debug, Deserialize)]
pub(super) struct ShownBlock {
    scope: String,
    level: Option<String>,
    /// The admin listener calls it `until`.
    #[serde(alias = "until")]
    pub(super) ends_at: String,
    pub(super) ends_in_us: u64,
}

// === impl ShownReading ===

impl ShownReading {
    /// The units that are left, such as `3 of 20`.
    pub(super) fn left(&self) -> String {
        format!("{} of {}", self.remaining, self.capacity)
    }

    /// Whether there is room: the text `now` or `never`, or `after` and the wait.
    pub(super) fn room(&self, [now, after, never]: [&str; 3]) -> String {
        match (self.room.as_str(), self.retry_after_us) {
            ("now", _) => now.to_owned(),
            ("after", Some(wait)) => format!("{after} {}", in_words(wait)),
            _ => never.to_owned(),
        }
    }

    pub(super) fn block(&self) -> Option<&ShownBlock> {
        self.attempts.as_ref()?.block.as_ref()
    }
}

// === impl ShownBlock ===

impl fmt::Display for ShownBlock {
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
        let block = |level: Option<&str>| -> ShownBlock {
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
