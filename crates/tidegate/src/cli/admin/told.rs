//! The outcome of an operator's command: read from the server's JSON, and shown to people.

use std::fmt::{self, Write};

use serde::Deserialize;

use crate::text::{escaped, in_words};

/// What a command of an operator does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Verb {
    Block,
    Unblock,
    Reset,
}

/// The part of the server's JSON that is shown.
#[derive(Debug, Deserialize)]
pub(super) struct Told {
    policy: Option<String>,
    changes: Vec<Change>,
}

/// What became of one counter.
#[derive(Debug, Deserialize)]
struct Change {
    limit: Option<String>,
    changed: bool,
    block: Option<Block>,
}

#[derive(Debug, Deserialize)]
struct Block {
    until: String,
    ends_in_us: u64,
}

/// The outcome as text, with a line for each counter.
pub(super) struct Lines<'t>(&'t Told, Verb);

// === impl Verb ===

impl Verb {
    pub(super) const fn path(self) -> &'static str {
        match self {
            Self::Block => "/admin/block",
            Self::Unblock => "/admin/unblock",
            Self::Reset => "/admin/reset",
        }
    }
}

// === impl Told ===

impl Told {
    pub(super) const fn of(&self, verb: Verb) -> Lines<'_> {
        Lines(self, verb)
    }
}

// === impl Lines ===

impl fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(told, verb) = self;
        for Change { limit, changed, block } in &told.changes {
            let (word, what) = match (verb, changed) {
                (Verb::Block, true) => ("BLOCKED", ""),
                (Verb::Block, false) => ("UNCHANGED", ": a block holds that ends later"),
                (Verb::Unblock, true) => ("UNBLOCKED", ""),
                (Verb::Unblock, false) => ("UNCHANGED", ": there was no block, and no attempt"),
                (Verb::Reset, true) => ("RESET", ": what was counted is forgotten"),
                (Verb::Reset, false) => ("UNCHANGED", ": nothing was counted"),
            };
            let mut line = word.to_owned();
            match (&told.policy, limit) {
                (Some(policy), Some(limit)) => {
                    write!(line, "  policy `{policy}`, limit `{limit}`{what}")?;
                }
                _ => write!(line, "  the counter of this key{what}")?,
            }
            if let Some(block) = block {
                write!(line, ", for {} until {}", in_words(block.ends_in_us), block.until)?;
            }
            writeln!(f, "{}", escaped(&line))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_outcome_has_its_line() {
        let block = json!({"until": "2026-11-15T11:00:00.000000Z", "ends_in_us": 900_000_000});
        let line = |verb, changed: bool, block| {
            let told = json!({"policy": "login", "changes": [
                {"limit": "tries", "changed": changed, "block": block},
            ]});
            serde_json::from_value::<Told>(told).unwrap().of(verb).to_string()
        };
        assert_eq!(
            line(Verb::Block, true, block.clone()),
            "BLOCKED  policy `login`, limit `tries`, for 15 min until 2026-11-15T11:00:00.000000Z\n"
        );
        assert!(line(Verb::Block, false, block).contains("ends later, for 15 min until"));
        let none = || serde_json::Value::Null;
        assert_eq!(line(Verb::Unblock, true, none()), "UNBLOCKED  policy `login`, limit `tries`\n");
        assert!(line(Verb::Unblock, false, none()).starts_with("UNCHANGED"));
        assert!(line(Verb::Reset, true, none()).starts_with("RESET"));
        assert!(line(Verb::Reset, false, none()).ends_with("nothing was counted\n"));
    }

    #[test]
    fn t40_a_server_cannot_move_the_cursor() {
        let told = json!({"policy": "\u{1b}[2J", "changes": [
            {"limit": "a\nb", "changed": true, "block": null},
        ]});
        let text = serde_json::from_value::<Told>(told).unwrap().of(Verb::Reset).to_string();
        assert!(!text.contains('\u{1b}') && text.lines().count() == 1, "{text:?}");
    }
}
