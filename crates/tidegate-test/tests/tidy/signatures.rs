//! Signatures say what they take and give: no `bool` under another name, nothing of `arc_swap`.
//!
//! An alias of `bool` looks like a type of its own and is checked like none. How shared values are
//! swapped is decided in one place each, and callers must not depend on it.

use crate::demand_none;
use crate::tree::{self, File};

#[test]
fn signatures_say_what_they_mean() {
    demand_none(&tree::rust_files().iter().flat_map(complaints).collect::<Vec<_>>());
}

fn complaints(file: &File) -> Vec<String> {
    let lines: Vec<(usize, &str)> = file.code_lines().collect();
    let complaint = |place: usize, (number, line): (usize, &str)| {
        let line = line.trim_start();
        if line.contains("type ") && line.ends_with("= bool;") {
            return Some(format!("{}:{number}: an alias of bool; make it an enum", file.path));
        }
        let is_public = line.starts_with("pub ") && line.contains("fn ");
        let rest = || lines.iter().skip(place).map(|(_, line)| *line);
        let ends = |line: &&str| line.trim_end().ends_with(['{', ';']);
        let mut signature = rest().take_while(|line| !ends(line)).chain(rest().find(|it| ends(it)));
        let is_swapped =
            |line: &str| ["arc_swap", "ArcSwap", "Guard<Arc<"].iter().any(|it| line.contains(it));
        (is_public && signature.any(is_swapped))
            .then(|| format!("{}:{number}: arc_swap in a public signature; wrap it", file.path))
    };
    lines.iter().enumerate().filter_map(|(place, line)| complaint(place, *line)).collect()
}

#[cfg(test)]
mod self_test {
    use super::*;

    #[test]
    fn aliases_and_guards_are_found_and_other_lines_are_not() {
        let said = |text| complaints(&File::new("a.rs", text)).len();
        assert_eq!(said(concat!("pub(crate) type Ask ", "= bool;")), 1);
        assert_eq!(said("pub fn policies(&self) -> Guard<Arc<Set>> {"), 1);
        assert_eq!(said("pub fn policies(\n    &self,\n) -> Guard<Arc<Set>> {\n}"), 1);
        assert_eq!(said("fn policies(&self) -> Guard<Arc<Set>> {"), 0);
        assert_eq!(said("pub fn is(&self) -> bool {\n    let it: Guard<Arc<Set>> = a;\n}"), 0);
    }
}
