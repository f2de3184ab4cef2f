//! What every crate of the workspace has in common: its lints, and one file of fences.

use toml::{Table, Value};

use crate::demand_none;
use crate::tree::{self, File};

#[test]
fn every_member_inherits_the_lints() {
    let manifests = tree::member_manifests();
    demand_none(&manifests.iter().filter_map(without_lints).collect::<Vec<_>>());
}

#[test]
fn the_fences_stand_in_one_file() {
    demand_none(&second_fences(&tree::walk("")));
}

fn without_lints(manifest: &File) -> Option<String> {
    let table: Table = manifest.text.parse().unwrap();
    let inherited = table.get("lints").and_then(|lints| lints.get("workspace"));
    let path = &manifest.path;
    (inherited.and_then(Value::as_bool) != Some(true))
        .then(|| format!("{path}: add `[lints]` with `workspace = true`, or no fence holds there"))
}

fn second_fences(paths: &[String]) -> Vec<String> {
    let is_second =
        |path: &&String| path.ends_with("/clippy.toml") || path.ends_with(".clippy.toml");
    let complaint =
        |path| format!("{path}: clippy does not merge files; move it into the clippy.toml above");
    paths.iter().filter(is_second).map(complaint).collect()
}

#[cfg(test)]
mod self_test {
    use super::*;

    #[test]
    fn a_member_without_lints_is_found() {
        let said = |text| without_lints(&File::new("Cargo.toml", text));
        assert!(said("[lints]\nworkspace = true").is_none());
        assert!(said("[lints]\nworkspace = false").is_some());
        assert!(said("[lints.rust]\nunsafe_code = 'allow'").is_some());
        assert!(said("").is_some());
    }

    #[test]
    fn a_second_clippy_toml_is_found() {
        let said = |path: &str| second_fences(&[path.to_owned()]);
        assert!(said("clippy.toml").is_empty());
        assert_eq!(said("crates/a/clippy.toml").len(), 1);
        assert_eq!(said(".clippy.toml").len(), 1);
    }
}
