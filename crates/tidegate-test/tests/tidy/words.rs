//! One word, one idea: a type that is visible outside its file has a name that no other such type has.
//!
//! A reader who finds `Route` by search must not have to find out which of three it is.

use std::collections::BTreeMap;

use crate::demand_none;
use crate::tree::{self, File};

#[test]
fn every_visible_type_has_a_name_of_its_own() {
    demand_none(&complaints(&tree::rust_files()));
}

fn complaints(files: &[File]) -> Vec<String> {
    let mut defined: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for file in files.iter().filter(|file| !file.is_test()) {
        for name in types(file) {
            defined.entry(name).or_default().push(&file.path);
        }
    }
    let doubled = defined.iter().filter(|(_, paths)| paths.len() > 1);
    let complaint = |(name, paths): (&&str, &Vec<&str>)| {
        format!("`{name}` names several types; give each a word of its own: {}", paths.join(", "))
    };
    doubled.map(complaint).collect()
}

/// The names of the types that a file shows to others, also if they stand indented within a macro. Those in
/// the file's own tests are left out.
fn types(file: &File) -> impl Iterator<Item = &str> {
    let lines = file.code_lines().take_while(|(_, line)| *line != "mod tests {");
    lines.filter_map(|(_, line)| {
        let rest = line.trim_start().strip_prefix("pub")?;
        let rest = rest.strip_prefix('(').map_or(Some(rest), |it| Some(it.split_once(')')?.1))?;
        let (kind, name) = rest.trim_start().split_once(' ')?;
        let name = name.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
        // In a table of a macro the name is a variable, and empty here.
        let is_type = ["struct", "enum", "trait", "type", "union"].contains(&kind);
        (is_type && !name.is_empty()).then_some(name)
    })
}

#[cfg(test)]
mod self_test {
    use super::*;

    #[test]
    fn doubled_names_are_found() {
        let files = [
            File::new("crates/a/src/lib.rs", "pub struct Route<T>(T);\npub(crate) enum Way {}"),
            File::new(
                "crates/b/src/lib.rs",
                "pub(super) trait Route {}\nstruct Way;\npub type X = u8;",
            ),
            File::new("crates/c/src/lib.rs", "#[cfg(test)]\nmod tests {\n    pub struct X;\n}"),
            File::new("crates/d/src/lib.rs", "pin_project! {\n    pub struct Future<T> {}\n}"),
            File::new("crates/e/src/lib.rs", "pub(crate) struct Future;"),
        ];
        let said = complaints(&files);
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said[0].starts_with("`Future` names several types"));
        assert!(said[1].starts_with("`Route` names several types"));
    }
}
