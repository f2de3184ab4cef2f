//! The names a script has for the numbers of its counters.
//!
//! Lua has room for 200 local variables in a script, and they are its fastest. Twelve counters of the
//! larger shapes need more than that. So as many as fit have local variables, and each of those after
//! them has a table with fields of the same names.

use super::former::has_former;
use super::{Part, STEP};

/// The most local variables that all counters of a script may have together. The others are the
/// functions, the time and the argument (15), one table for each counter without local variables (12 at
/// most), and what a single part needs for itself (13 at most).
const ROOM: usize = 160;

/// Where one counter is in a script, and how its numbers are named there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ScriptPlace {
    /// The number of the counter, which begins with one as those of `KEYS` do.
    pub(super) number: usize,
    /// Whether the counter's numbers are local variables; otherwise they are fields of a table.
    pub(super) is_local: bool,
}

/// The parts with their places.
pub(super) fn places(parts: &[Part]) -> impl Iterator<Item = (ScriptPlace, &Part)> {
    // Former names need a table of their own, and a variable where a counter is written.
    let mut room = if parts.iter().any(has_former) { ROOM - 2 } else { ROOM };
    parts.iter().zip(1..).map(move |(part, number)| {
        // Once a part does not fit, none after it has local variables, because arguments are taken in
        // order.
        room = room.saturating_sub(names(part));
        (ScriptPlace { number, is_local: room > 0 }, part)
    })
}

/// The most names that a part uses.
fn names(part: &Part) -> usize {
    let arguments = part.form.names().join(" ");
    let text = [arguments, part.read(true), part.count(), part.form.back()].concat();
    let mut names: Vec<&str> = text
        .split_inclusive('$')
        .filter_map(|piece| piece.strip_suffix('$'))
        .map(|piece| &piece[name_at_end(piece)..])
        .filter(|name| !name.is_empty())
        .collect();
    names.sort_unstable();
    names.dedup();
    names.len()
}

/// The index at which the name begins that `text` ends with.
fn name_at_end(text: &str) -> usize {
    text.trim_end_matches(|letter: char| letter.is_ascii_alphanumeric()).len()
}

// === impl ScriptPlace ===

impl ScriptPlace {
    /// Puts the text of a part at this place: `$` becomes its number, and `name$` a variable of its
    /// own.
    pub(super) fn put(self, text: &str) -> String {
        let mut expanded = String::with_capacity(text.len());
        for line in text.split_inclusive('\n') {
            let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
            let (before, rest) = line.split_once('@').unwrap_or((line, ""));
            let (name, after) = rest.split_once(' ').unwrap_or((rest, ""));
            expanded += before;
            match name {
                "" => {}
                "other" => expanded += &STEP.get(name).replace("OWN", after),
                _ => expanded += &[STEP.get(name).trim_end(), " ", after].concat(),
            }
            expanded += end;
        }
        match self.is_local {
            true => expanded.replace('$', &self.number.to_string()),
            false => self.fields(&expanded),
        }
    }

    /// The text with fields in place of local variables; fields are not declared.
    fn fields(self, text: &str) -> String {
        let mut named = String::with_capacity(2 * text.len());
        for line in text.split_inclusive('\n') {
            let statement = line.trim_start();
            let declared = statement.strip_prefix("local ").filter(|names| {
                let name = names.find(|letter: char| !letter.is_ascii_alphanumeric());
                name.is_some_and(|end| names[end..].starts_with('$'))
            });
            self.name(declared.unwrap_or(line), &mut named);
            if declared.is_some_and(|names| !names.contains('=')) {
                named.truncate(named.trim_end().len());
                named += " = nil\n";
            }
        }
        named
    }

    fn name(self, text: &str, named: &mut String) {
        for piece in text.split_inclusive('$') {
            let Some(before) = piece.strip_suffix('$') else {
                *named += piece;
                continue;
            };
            let (before, name) = before.split_at(name_at_end(before));
            *named += before;
            *named += &match name {
                "" => self.number.to_string(),
                name => format!("t{}.{name}", self.number),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    //! Both ways to name.

    use super::*;

    #[test]
    fn a_place_names_variables_or_fields() {
        let text = "local v$ = pcall('GET', keys[$])\n  local start$, finish$\nif #v$ > 1 then\n\
                    local tag, x = 0, cost$\nend\n";
        let place = |is_local| ScriptPlace { number: 11, is_local };
        assert_eq!(
            place(true).put(text),
            "local v11 = pcall('GET', keys[11])\n  local start11, finish11\nif #v11 > 1 then\n\
             local tag, x = 0, cost11\nend\n"
        );
        assert_eq!(
            place(false).put(text),
            "t11.v = pcall('GET', keys[11])\nt11.start, t11.finish = nil\nif #t11.v > 1 then\n\
             local tag, x = 0, t11.cost\nend\n"
        );
    }
}
