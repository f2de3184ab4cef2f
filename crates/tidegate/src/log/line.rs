//! One line of the log, made from an event.

use std::fmt::{Debug, Write};

use serde_json::{Map, Value};
use tidegate_core::Timestamp;
use tracing::field::{Field, Visit};
use tracing::{Level, Metadata};

use crate::text::{Capped, escaped, escaped_json};

/// The most bytes of a value; a diagnostic, which has several lines, may have [`MAX_DIAGNOSTIC`].
const MAX_VALUE: usize = 2 * 1024;
const MAX_DIAGNOSTIC: usize = 16 * 1024;

/// The field that holds several lines. For people they are shown below the line of the event, each
/// behind a bar, so that none can be taken for an event.
const DIAGNOSTIC: &str = "diagnostic";

/// The contents of an event, before they are written in one of the formats.
pub(super) struct Line {
    at: String,
    level: Level,
    target: &'static str,
    message: String,
    fields: Vec<(&'static str, Value)>,
}

// === impl Line ===

impl Line {
    pub(super) fn new(at: Timestamp, metadata: &Metadata<'static>) -> Self {
        Self {
            at: at.rfc3339().to_string(),
            level: *metadata.level(),
            target: metadata.target(),
            message: String::new(),
            fields: Vec::new(),
        }
    }

    /// The line for people: `2026-11-15T11:00:00.123456Z INFO  listening address=127.0.0.1:7700`
    pub(super) fn human(&self) -> String {
        let mut line = format!("{} {:<5} {}", self.at, self.level, escaped(&self.message));
        let (diagnostics, fields): (Vec<_>, Vec<_>) =
            self.fields.iter().partition(|(name, _)| *name == DIAGNOSTIC);
        for (name, value) in fields {
            // Writing to a String cannot fail.
            let _ = write!(line, " {name}={}", plain(value));
        }
        line.push('\n');
        for (_, value) in diagnostics {
            for text in value.as_str().unwrap_or_default().lines() {
                let _ = writeln!(line, "  | {}", escaped(text));
            }
        }
        line
    }

    /// The line for machines: `{"at":"…","level":"info","target":"…","message":"…",…}`
    pub(super) fn json(self) -> String {
        let mut object = Map::new();
        object.insert("at".to_owned(), self.at.into());
        object.insert("level".to_owned(), self.level.as_str().to_lowercase().into());
        object.insert("target".to_owned(), self.target.into());
        object.insert("message".to_owned(), self.message.into());
        for (name, value) in self.fields {
            object.entry(name).or_insert(value);
        }
        escaped_json(&Value::Object(object).to_string()) + "\n"
    }

    fn put(&mut self, field: &Field, value: Value) {
        match (field.name(), value) {
            ("message", Value::String(text)) => self.message = text,
            (name, value) => self.fields.push((name, value)),
        }
    }
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let most = if field.name() == DIAGNOSTIC { MAX_DIAGNOSTIC } else { MAX_VALUE };
        let mut text = Capped::new(most);
        let _ = write!(text, "{value:?}");
        self.put(field, text.finish().into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        // As plain text, not quoted as `Debug` would write it.
        self.record_debug(field, &format_args!("{value}"));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value.into());
    }
}

/// A value for people: in quotes only if it could otherwise be taken for more than one value.
fn plain(value: &Value) -> String {
    let Value::String(text) = value else { return value.to_string() };
    let text = escaped(text);
    let quoted = text.is_empty() || text.contains(|c: char| c.is_whitespace() || "\"=".contains(c));
    if quoted { format!("\"{}\"", text.replace('"', "\\\"")) } else { text }
}
