//! Every module opens with why it exists.

use crate::demand_none;
use crate::tree::{self, File};

#[test]
fn every_module_opens_with_its_doc() {
    let files = tree::rust_files();
    let sources = files.iter().filter(|file| file.is_source());
    demand_none(&sources.filter_map(without_doc).collect::<Vec<_>>());
}

fn without_doc(file: &File) -> Option<String> {
    let first = file.text.lines().next().unwrap_or_default();
    let said = first.strip_prefix("//!").is_some_and(|doc| !doc.trim().is_empty());
    (!said).then(|| format!("{}: begin with `//!` and say why the module exists", file.path))
}

#[cfg(test)]
mod self_test {
    use super::*;

    #[test]
    fn a_module_without_doc_is_found() {
        let said = |text| without_doc(&File::new("a.rs", text)).is_some();
        assert!(!said("//! Why.\n"));
        for text in ["", "use std::fmt;\n", "//!\n", "// Why.\n", "\n//! Late.\n"] {
            assert!(said(text), "{text:?}");
        }
    }
}
