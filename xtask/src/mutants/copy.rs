//! A copy of the tree that can be broken without endangering anybody's work.
//!
//! It is kept from run to run, and only files that differ are written: cargo goes by the times of
//! files, and would compile a fresh copy from scratch.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::shell::{self, Cmd, CommandFailure, root, target_dir};

/// The folder for mutants in the target directory.
const FOLDER: &str = "mutants";

/// The folder where cargo and the tests expect built and installed files.
const TARGET: &str = "target";

/// The copy of the tree, and the folder where it is built.
#[derive(Clone, Debug)]
pub(crate) struct Copy {
    pub(crate) tree: PathBuf,
    pub(crate) build: PathBuf,
}

/// Brings the copy up to date with the working tree, including uncommitted changes.
pub(crate) fn bring() -> Result<Copy, CommandFailure> {
    let folder = target_dir().join(FOLDER);
    let copy = Copy { tree: folder.join("tree"), build: folder.join("build") };
    let line = "-c safe.directory=* ls-files -z --cached --others --exclude-standard";
    let listing = Cmd::new("git", line).read()?;
    let files: Vec<&Path> = listing.split_terminator('\0').map(Path::new).collect();
    sync(root(), &copy.tree, &files).map_err(|error| {
        let tree = copy.tree.display();
        CommandFailure::new(format!("copying the tree to {tree}: {error}"), format!("rm -r {tree}"))
    })?;
    Ok(copy)
}

/// Makes `to` contain `files` of `from` and nothing else, without touching files that are already
/// right.
fn sync(from: &Path, to: &Path, files: &[&Path]) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for file in shell::files(to)? {
        if file.strip_prefix(to).is_ok_and(|inside| !files.contains(&inside)) {
            fs::remove_file(file)?;
        }
    }
    // Git also lists files that are deleted but not yet committed.
    for file in files.iter().filter(|file| from.join(file).is_file()) {
        let (original, copied) = (from.join(file), to.join(file));
        if fs::read(&copied).ok() != Some(fs::read(&original)?) {
            fs::create_dir_all(copied.parent().unwrap_or(to))?;
            fs::copy(&original, &copied)?;
        }
    }
    // Tests look for the installed servers here.
    let target = to.join(TARGET);
    if !target.exists() {
        let _ = fs::remove_file(&target);
        std::os::unix::fs::symlink(from.join(TARGET), target)?;
    }
    Ok(())
}

#[cfg(test)]
mod self_test {
    use super::*;

    #[test]
    fn the_copy_follows_the_tree_and_what_is_right_is_not_touched() {
        let folder = std::env::temp_dir().join(format!("tidegate-copy-{}", std::process::id()));
        let (from, to) = (folder.join("from"), folder.join("to"));
        fs::create_dir_all(from.join("src")).unwrap();
        fs::create_dir_all(from.join(TARGET)).unwrap();
        for (file, text) in [("a", "1"), ("src/b", "2")] {
            fs::write(from.join(file), text).unwrap();
        }
        let read = |file: &str| fs::read_to_string(to.join(file)).ok();
        let files = ["a", "src/b", "deleted"].map(Path::new);
        sync(&from, &to, &files).unwrap();
        assert_eq!((read("a").as_deref(), read("src/b").as_deref()), (Some("1"), Some("2")));
        let untouched = fs::metadata(to.join("a")).unwrap().modified().unwrap();
        fs::write(to.join("src/b"), "mutated").unwrap();
        fs::write(to.join("stale"), "").unwrap();
        sync(&from, &to, &files).unwrap();
        assert_eq!((read("src/b").as_deref(), read("stale")), (Some("2"), None));
        assert_eq!(fs::metadata(to.join("a")).unwrap().modified().unwrap(), untouched);
        assert!(from.join(TARGET).is_dir() && to.join(TARGET).is_dir());
        fs::remove_dir_all(&folder).unwrap();
    }
}
