//! Where policies are read from: a file, standard input, or the built-in example.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

use tidegate_engine::file::MAX_BYTES;

use crate::config::BUILT_IN;
use crate::descriptors;

/// The most bytes that are read: twice what a policy file may have, so that its parser can say that it is
/// too large.
const MAX_FILE: u64 = 2 * MAX_BYTES as u64;

/// The place that policies are read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PolicySource {
    /// The example in this binary.
    BuiltIn,
    /// A file.
    File(PathBuf),
    /// Standard input.
    Stdin,
}

// === impl PolicySource ===

impl PolicySource {
    /// The file if there is one, otherwise the example.
    pub(crate) fn file_or_built_in(file: Option<&PathBuf>) -> Self {
        file.map_or(Self::BuiltIn, |path| Self::File(path.clone()))
    }

    /// Reads the text of the policies.
    ///
    /// # Errors
    ///
    /// If the text cannot be read, is too large, or is not UTF-8; or if no file descriptor is left.
    pub(crate) fn read(&self) -> io::Result<String> {
        match self {
            Self::BuiltIn => Ok(BUILT_IN.to_owned()),
            Self::File(path) => read(File::open(path).map_err(descriptors::explained)?),
            Self::Stdin => read(io::stdin().lock()),
        }
    }
}

impl fmt::Display for PolicySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("built-in example"),
            Self::File(path) => path.display().fmt(f),
            Self::Stdin => f.write_str("standard input"),
        }
    }
}

fn read(input: impl Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    input.take(MAX_FILE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(io::Error::other("it is larger than any policy file; is it the right one?"));
    }
    String::from_utf8(bytes)
        .map_err(|_| io::Error::other("it is not UTF-8 text; is it the right one?"))
}
