//! The repository as a list of files: paths from its root, with `/`, and their text.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// One text file.
#[derive(Clone, Debug)]
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) text: String,
}

impl File {
    pub(crate) fn new(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), text: text.to_owned() }
    }

    /// The lines with their numbers, from one.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }

    /// Like [`File::lines`], without those that are comments from the start.
    pub(crate) fn code_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.lines().filter(|(_, line)| !line.trim_start().starts_with("//"))
    }

    /// Whether it is part of a crate's `src`.
    pub(crate) fn is_source(&self) -> bool {
        self.path.starts_with("crates/") && self.path.split('/').nth(2) == Some("src")
    }

    /// Whether it is compiled for tests alone, by the conventions of this repository.
    pub(crate) fn is_test(&self) -> bool {
        self.path.contains("/tests/") || self.path.ends_with("/tests.rs")
    }
}

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The text of one file, if it exists and is text.
pub(crate) fn read(path: &str) -> Option<File> {
    fs::read_to_string(root().join(path)).ok().map(|text| File { path: path.to_owned(), text })
}

/// Every Rust file of the crates and of xtask.
pub(crate) fn rust_files() -> Vec<File> {
    let paths = ["crates", "xtask"].into_iter().flat_map(walk);
    paths.filter(|path| path.ends_with(".rs")).filter_map(|path| read(&path)).collect()
}

/// The manifests of the members, not that of the workspace.
pub(crate) fn member_manifests() -> Vec<File> {
    let mut folders = children(&root().join("crates"));
    folders.extend(["fuzz", "xtask"].map(|folder| root().join(folder)));
    folders.iter().filter_map(|folder| read(&relative(&folder.join("Cargo.toml")))).collect()
}

/// What is committed; in a copy without git, every file that is not built.
pub(crate) fn committed() -> Vec<String> {
    let listing = Command::new("git")
        // A checkout made by another user is readable all the same.
        .args(["-c", "safe.directory=*", "ls-files", "-z"])
        .current_dir(root())
        .output();
    match listing {
        Ok(output) if output.status.success() => String::from_utf8(output.stdout)
            .unwrap()
            .split_terminator('\0')
            .map(ToOwned::to_owned)
            .collect(),
        _ => walk(""),
    }
}

/// Every file under `folder`, sorted, without what is built and what is git's.
pub(crate) fn walk(folder: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for path in children(&folder) {
            let built = path.ends_with("target") || path.ends_with(".git");
            if path.is_dir() && !built {
                folders.push(path);
            } else if path.is_file() {
                found.push(relative(&path));
            }
        }
    }
    found.sort();
    found
}

fn children(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect()
}

fn relative(path: &Path) -> String {
    path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned()
}
