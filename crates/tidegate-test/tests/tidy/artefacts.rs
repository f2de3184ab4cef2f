//! Nothing is committed that a machine made, or that is true on one machine only.

use crate::demand_none;
use crate::tree::{self, File};

/// Larger binaries do not belong into the history; nothing here needs one.
const LARGEST_BINARY: usize = 256 * 1024;

/// Leftovers of editors, merges and profilers.
const LEFTOVERS: &[&str] = &[".orig", ".rej", ".bak", ".swp", "~", ".profraw", ".callgrind"];

/// Top folders under which people and machines keep their own things.
const MACHINE_FOLDERS: &[&str] = &["home", "root", "work", "Users"];

#[test]
fn no_artefact_is_committed() {
    let mut complaints = Vec::new();
    for path in tree::committed() {
        complaints.extend(leftover(&path));
        // A file that is staged for removal is listed and not there.
        let Ok(bytes) = std::fs::read(tree::root().join(&path)) else { continue };
        match String::from_utf8(bytes) {
            Ok(text) => complaints.extend(machine_paths(&File { path, text })),
            Err(binary) => complaints.extend(heavy(&path, binary.as_bytes().len())),
        }
    }
    demand_none(&complaints);
}

fn leftover(path: &str) -> Option<String> {
    let built = path.split('/').any(|part| part == "target");
    (built || LEFTOVERS.iter().any(|ending| path.ends_with(ending)))
        .then(|| format!("{path}: a leftover; `git rm --cached` it and add it to .gitignore"))
}

fn heavy(path: &str, size: usize) -> Option<String> {
    (size > LARGEST_BINARY).then(|| {
        format!("{path}: a binary of {size} bytes; let a test or xtask make it under target/")
    })
}

/// Lines with an absolute path into somebody's folder. A bare `/root/` of prose is not one.
fn machine_paths(file: &File) -> Vec<String> {
    let complaint = |number, path: &str| {
        format!("{}:{number}: `{path}…` is true on one machine; make it relative", file.path)
    };
    file.lines()
        .filter_map(|(number, line)| Some(complaint(number, &machine_path(line)?)))
        .collect()
}

fn machine_path(line: &str) -> Option<String> {
    let in_a_name = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    MACHINE_FOLDERS.iter().map(|folder| format!("/{folder}/")).find(|prefix| {
        line.match_indices(prefix.as_str()).any(|(at, _)| {
            let begins = !line[..at].ends_with(|c| in_a_name(c) || c == '/' || c == '}');
            begins && line[at + prefix.len()..].starts_with(in_a_name)
        })
    })
}

#[cfg(test)]
mod self_test {
    use super::*;

    #[test]
    fn leftovers_are_found() {
        for path in ["target/debug/x", "crates/a/target/x", "src/lib.rs.orig", "notes~"] {
            assert!(leftover(path).is_some(), "{path}");
        }
        assert!(leftover("crates/a/src/target.rs").is_none());
    }

    #[test]
    fn only_heavy_binaries_are_found() {
        assert!(heavy("logo.png", LARGEST_BINARY).is_none());
        assert!(heavy("logo.png", LARGEST_BINARY + 1).is_some());
    }

    #[test]
    fn paths_of_one_machine_are_found() {
        for folder in MACHINE_FOLDERS {
            let line = format!("see `/{folder}/me/notes.md`");
            assert_eq!(machine_paths(&File::new("a.md", &format!("ok\n{line}"))).len(), 1);
        }
        for line in ["a/home/b", "https://x.test/work/b", "keep it out of /root/", "${HOME}/work/x"]
        {
            assert_eq!(machine_path(line), None, "{line}");
        }
    }
}
