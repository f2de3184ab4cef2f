//! The parts of a file in `lua/`, from which scripts are put together.

use std::collections::HashMap;

/// The parts of one file, by the name that follows `--#`.
pub(super) struct Parts(HashMap<&'static str, String>);

// === impl Parts ===

impl Parts {
    /// Reads the parts of a file. Text before the first part is about the file, and comments are left
    /// out.
    pub(super) fn of(file: &'static str) -> Self {
        let mut parts = HashMap::new();
        let mut name = "";
        for line in file.lines() {
            if let Some(begun) = line.strip_prefix("--# ") {
                name = begun;
            } else if !line.trim_start().starts_with("--") {
                let part: &mut String = parts.entry(name).or_default();
                *part += line;
                part.push('\n');
            }
        }
        Self(parts)
    }

    /// The part of this name. All names are written out where they are asked for, and the tests ask for
    /// each of them.
    pub(super) fn get(&self, name: &str) -> &str {
        debug_assert!(self.0.contains_key(name), "there is no part {name}");
        self.0.get(name).map_or("", String::as_str)
    }
}
