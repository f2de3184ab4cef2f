//! The outcome of an operator's command: read from the server's JSON, and shown to people.

use serde::Deserialize;

use crate::cli::reading::ShownBlock;
use crate::text::{escaped, in_words};

/// What a command of an operator does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Block,
    Unblock,
    Reset,
}

/// The part of the server's JSON that is shown.
#[derive(Debug, Deserialize)]
pub(super) struct ShownChange {
    policy: Option<String>,
    changes: Vec<Change>,
}

/// What became of one counter.
#[derive(Debug, Deserialize)]
struct Change {
    limit: Option<String>,
    changed: bool,
    block: Option<ShownBlock>,
}

// === impl Verb ===

impl Verb {
    /// The path of the verb, the word for a counter that was changed, what that means, and what it means
    /// if nothing was.
    pub(super) const fn words(self) -> [&'static str; 4] {
        match self {
            Self::Block => ["/admin/block", "BLOCKED", "", ": a block holds that ends later"],
            Self::Unblock => {
                ["/admin/unblock", "UNBLOCKED", "", ": there was no block, and no attempt"]
            }
            Self::Reset => {
                let forgotten = ": what was counted is forgotten";
                ["/admin/reset", "RESET", forgotten, ": nothing was counted"]
            }
        }
    }
}

// === impl ShownChange ===

impl ShownChange {
    /// The outcome of a verb as text, with a line for each counter.
    pub(super) fn of(&self, verb: Verb) -> String {
        let [_, done, changed_means, else_means] = verb.words();
        let mut lines = String::new();
        for Change { limit, changed, block } in &self.changes {
            let (word, what) =
                if *changed { (done, changed_means) } else { ("UNCHANGED", else_means) };
            let mut line = match (&self.policy, limit) {
                (Some(policy), Some(limit)) => {
                    format!("{word}  policy `{policy}`, limit `{limit}`{what}")
                }
                _ => format!("{word}  the counter of this key{what}"),
            };
            if let Some(ShownBlock { ends_at, ends_in_us, .. }) = block {
                line += &format!(", for {} until {ends_at}", in_words(*ends_in_us));
            }
            lines += &(escaped(&line) + "\n");
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_outcome_has_its_line() {
        let block = json!({
            "scope": "operator", "until": "2026-11-15T11:00:00.000000Z", "ends_in_us": 900_000_000,
        });
        let line = |verb, changed: bool, block| {
            let told = json!({"policy": "login", "changes": [
                {"limit": "tries", "changed": changed, "block": block},
            ]});
            serde_json::from_value::<ShownChange>(told).unwrap().of(verb).to_string()
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
        let text = serde_json::from_value::<ShownChange>(told).unwrap().of(Verb::Reset).to_string();
        assert!(!text.contains('\u{1b}') && text.lines().count() == 1, "{text:?}");
    }
}
