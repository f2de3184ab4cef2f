//! Scripts: constant texts, called by their hashes.

use sha1_smol::Sha1;

/// A constant text that the server runs, and the hash it is called by.
#[derive(Debug)]
pub(crate) struct Script {
    text: String,
    hash: String,
}

// === impl Script ===

impl Script {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        let hash = Sha1::from(&text).digest().to_string();
        Self { text, hash }
    }

    /// The text that the server runs.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The hash that the script is called by: the SHA-1 of the text, in hex.
    pub(crate) fn hash(&self) -> &str {
        &self.hash
    }
}
