//! Which program speaks the protocol: a store has to pass on all of them.

use std::path::{Path, PathBuf};

/// A server program.
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
    /// Every one.
    pub const ALL: [Self; 3] = [Self::Redis, Self::Valkey8, Self::Valkey9];

    /// The executable.
    ///
    /// # Panics
    ///
    /// If a Valkey is not there, with the line that brings it. A test does not skip itself.
    #[must_use]
    pub fn program(self) -> PathBuf {
        let folder = match self {
            // By the PATH.
            Self::Redis => return PathBuf::from("redis-server"),
            Self::Valkey8 => "valkey-8",
            Self::Valkey9 => "valkey-9",
        };
        // In the root's own `target`, wherever this build goes: it is installed once.
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let program = root.join("target").join(folder).join("bin/valkey-server");
        assert!(program.exists(), "{folder} is missing: cargo xtask test --only install");
        program
    }
}
