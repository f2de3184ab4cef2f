//! The scripts: constant texts, called by their hashes.

use sha1_smol::Sha1;

/// A constant text that the server runs, and the hash it is called by.
#[derive(Debug)]
pub(crate) struct Script {
    text: &'static str,
    hash: String,
}

// === impl Script ===

impl Script {
    pub(crate) fn new(text: &'static str) -> Self {
        Self { text, hash: Sha1::from(text).digest().to_string() }
    }

    /// What the server runs.
    pub(crate) const fn text(&self) -> &'static str {
        self.text
    }

    /// What it is called by: the SHA-1 of the text, in hex.
    pub(crate) fn hash(&self) -> &str {
        &self.hash
    }
}
