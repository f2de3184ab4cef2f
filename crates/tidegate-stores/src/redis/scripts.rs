//! Scripts: constant texts, called by their hashes, and kept by their signatures.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use sha1_smol::Sha1;

use super::signature::Signature;
use super::template::{CARRY, amend, compose};

/// A constant text that the server runs, and the hash it is called by.
#[derive(Debug)]
pub(crate) struct Script {
    /// The text that the server runs.
    pub(crate) text: String,
    /// The hash that the script is called by: the SHA-1 of the text, in hex.
    pub(crate) hash: String,
}

/// The scripts made so far. There are as many as policies have sequences of shapes, so none is ever
/// thrown away.
#[derive(Debug)]
pub(crate) struct Scripts {
    made: ArcSwap<HashMap<Signature, Arc<Script>>>,
    /// The script that amends a counter for an operator.
    pub(crate) amend: Script,
    /// The scripts that carry a counter over to another name: find, adopt, forget.
    pub(crate) carry: [Script; 3],
    /// The script that compares secrets.
    pub(crate) secret: Script,
}

// === impl Script ===

impl Script {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        let hash = Sha1::from(&text).digest().to_string();
        Self { text, hash }
    }
}

// === impl Scripts ===

impl Scripts {
    pub(crate) fn new() -> Self {
        let amend = Script::new(amend());
        let secret = Script::new(include_str!("lua/secret.lua"));
        Self { made: ArcSwap::default(), amend, carry: CARRY.map(Script::new), secret }
    }

    /// The script for a signature.
    pub(crate) fn get(&self, signature: &Signature) -> Arc<Script> {
        if let Some(script) = self.made.load().get(signature) {
            return Arc::clone(script);
        }
        let script = Arc::new(Script::new(compose(signature)));
        self.made.rcu(|made| {
            let mut made = HashMap::clone(made);
            made.insert(signature.clone(), Arc::clone(&script));
            made
        });
        script
    }
}
