//! Documents name real paths.
//!
//! A guide that points at a file that has moved costs more trust than one that points at nothing.
//! Checked are relative links, and words in backticks that can only be paths of this repository:
//! they begin with one of its folders, or they have a folder and a known ending. Code blocks,
//! patterns and placeholders are left alone. In the table "Where is …" of ARCHITECTURE.md a file or folder
//! may be named alone, if another path in its row says where it is.

use crate::demand_none;
use crate::tree::{self, File};

const DOCUMENTS: &[&str] = &["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"];

const FOLDERS: &[&str] = &["crates/", "xtask/", "docs/", ".ci/", ".cargo/", ".config/"];

const ENDINGS: &[&str] =
    &[".rs", ".md", ".toml", ".yaml", ".yml", ".json", ".lua", ".sql", ".sh", ".txt", ".proto"];

#[test]
fn documents_name_paths_that_exist() {
    let documents = DOCUMENTS.iter().map(ToString::to_string).chain(tree::walk("docs"));
    let documents = documents.filter(|path| path.ends_with(".md"));
    let complaints: Vec<String> = documents
        .map(|path| tree::read(&path).unwrap_or_else(|| panic!("{path} is gone")))
        .flat_map(|document| dead_paths(&document, &|path| tree::root().join(path).exists()))
        .collect();
    demand_none(&complaints);
}

#[test]
fn names_without_a_folder_are_in_a_folder_of_their_row() {
    let document = tree::read("ARCHITECTURE.md").unwrap();
    demand_none(&stray_names(&document, &|path| tree::root().join(path).exists()));
}

/// Every file or folder that a row of the table "Where is …" names alone, and that is in no folder of the
/// same row.
fn stray_names(document: &File, exists: &dyn Fn(&str) -> bool) -> Vec<String> {
    let table = document.lines().skip_while(|(_, line)| !line.starts_with("### Where is"));
    let rows = table.skip(1).take_while(|(_, line)| !line.starts_with('#'));
    let mut complaints = Vec::new();
    for (number, row) in rows {
        let paths: Vec<&str> = backticked(row).filter(|word| is_path(word)).collect();
        let is_there = |name: &str| {
            paths.iter().any(|path| {
                let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
                exists(&join(folder, name)) || exists(&join(path.trim_end_matches('/'), name))
            })
        };
        for name in backticked(row).filter(|word| is_name(word) && !is_there(word)) {
            complaints.push(format!(
                "{}:{number}: `{name}` is in no folder that its row names; name one, or its whole path",
                document.path
            ));
        }
    }
    complaints
}

/// Whether a word is a file or a folder without the way to it.
fn is_name(word: &str) -> bool {
    let (stem, is_folder) = word.strip_suffix('/').map_or((word, false), |stem| (stem, true));
    let is_plain = stem.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b));
    is_plain && !stem.is_empty() && (is_folder || ENDINGS.iter().any(|end| word.ends_with(end)))
}

/// Every path `document` names that is neither beside it nor at the root.
fn dead_paths(document: &File, exists: &dyn Fn(&str) -> bool) -> Vec<String> {
    let folder = document.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let beside = |path: &str| exists(&join(folder, path));
    let mut complaints = Vec::new();
    for (number, line) in prose(document) {
        let words = backticked(line).filter(|word| is_path(word));
        for path in words.chain(links(line)).map(without_place) {
            if !exists(path) && !beside(path) {
                complaints.push(format!(
                    "{}:{number}: `{path}` does not exist; write the path from the root, as it is",
                    document.path
                ));
            }
        }
    }
    complaints
}

/// The lines outside fenced code.
fn prose(document: &File) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    document.lines().filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fence && !fenced
    })
}

fn backticked(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// The targets of `[text](target)` that stay within the repository.
fn links(line: &str) -> impl Iterator<Item = &str> {
    let targets = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.filter(|target| !target.contains(':') && !target.starts_with('#'))
}

fn is_path(word: &str) -> bool {
    let pattern = |c: char| c.is_whitespace() || "*<>{}[]()…$|=\"':@".contains(c);
    let word = without_place(word);
    if word.starts_with(['/', '-', '~']) || word.contains(pattern) || word.contains("...") {
        return false;
    }
    FOLDERS.iter().any(|folder| word.starts_with(folder))
        || word.contains('/') && ENDINGS.iter().any(|ending| word.ends_with(ending))
}

/// The path without `#heading` or `:line`.
fn without_place(path: &str) -> &str {
    let path = path.split('#').next().unwrap_or(path);
    match path.rsplit_once(':') {
        Some((path, line)) if line.bytes().all(|b| b.is_ascii_digit()) => path,
        _ => path,
    }
}

fn join(folder: &str, path: &str) -> String {
    if folder.is_empty() { path.to_owned() } else { format!("{folder}/{path}") }
}

#[cfg(test)]
mod self_test {
    use super::*;

    fn said(text: &str) -> Vec<String> {
        let real = ["crates/a/src/lib.rs", "docs/guide.md", "crates/a", "README.md"];
        let document = File::new("docs/page.md", text);
        let exists = |path: &str| real.contains(&path.trim_end_matches('/'));
        dead_paths(&document, &exists)
    }

    #[test]
    fn real_paths_and_other_words_pass() {
        for text in [
            "`crates/a/src/lib.rs`, `crates/a/`, `crates/a/src/lib.rs:12`",
            "[guide](guide.md#start), [readme](README.md), [web](https://x.test/y.md), [up](#up)",
            "`crates/*/src`, `crates/<name>/src`, `429/503`, `/etc/tidegate/policy.yaml`, `lib.rs`",
            "```\ncat crates/gone.rs `crates/gone.rs`\n```",
            "`cargo run -p x crates/gone.rs`",
        ] {
            assert_eq!(said(text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn names_that_no_folder_of_the_row_has_are_found() {
        let real = ["crates/a/src/lib.rs", "crates/a/src/b/c.rs", "crates/a/src/d"];
        let exists = |path: &str| real.contains(&path.trim_end_matches('/'));
        let said = |row: &str| {
            let text = format!("`gone.rs`\n### Where is …\n|---|\n{row}\n## Next\n`gone.rs`");
            stray_names(&File::new("ARCHITECTURE.md", &text), &exists)
        };
        assert!(
            said("| `d/`, `lib.rs` in `crates/a/src` · `c.rs` in `crates/a/src/b/` |").is_empty()
        );
        assert!(
            said("| `crates/a/src/lib.rs` · `d/` there, `Engine::decide`, `a.b-c` |").is_empty()
        );
        for row in ["| `lib.rs` there |", "| `crates/a/src/b/c.rs` · `lib.rs` there |"] {
            let said = said(row);
            assert_eq!(said.len(), 1, "{said:?}");
            assert!(said[0].starts_with("ARCHITECTURE.md:4: `lib.rs` is in no folder"), "{said:?}");
        }
    }

    #[test]
    fn dead_paths_are_found_with_their_line() {
        assert!(said("fine\nsee `crates/gone`")[0].starts_with("docs/page.md:2: `crates/gone`"));
        assert_eq!(said("`src/gone.rs` and [gone](gone.md)").len(), 2);
        assert_eq!(said("```\ncode\n```\n`docs/gone.md:3`").len(), 1);
    }
}
