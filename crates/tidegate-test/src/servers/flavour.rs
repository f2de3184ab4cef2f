//! The server programs that speak the protocol; a store has to pass on all of them.

use std::path::{Path, PathBuf};

/// A server program and its version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flavour {
    /// The distribution's Redis, 7.0 or later.
    #[default]
    Redis,
    /// Valkey 8.1.
    Valkey8,
    /// Valkey 9.1.
    Valkey9,
}

// === impl Flavour ===

impl Flavour {
    /// All server programs.
    pub const ALL: [Self; 3] = [Self::Redis, Self::Valkey8, Self::Valkey9];

    /// The path of the executable.
    ///
    /// # Panics
    ///
    /// If a Valkey is not installed, with the command that installs it. A test does not skip
    /// itself.
    #[must_use]
    pub fn program(self) -> PathBuf {
        let folder = match self {
            // Found in the `PATH`.
            Self::Redis => return PathBuf::from("redis-server"),
            Self::Valkey8 => "valkey-8",
            Self::Valkey9 => "valkey-9",
        };
        // In the `target` of the workspace root, wherever this build goes, because it is installed
        // once.
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let program = root.join("target").join(folder).join("bin/valkey-server");
        assert!(program.exists(), "{folder} is missing: cargo xtask test --only install");
        program
    }
}
