//! The scripts in use, by their signatures.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;

use super::script::Script;
use super::signature::Signature;
use super::template::{CARRY, amend, compose};

/// The scripts made so far. There are as many as policies have sequences of shapes, so none is ever
/// thrown away.
#[derive(Debug)]
pub(crate) struct Scripts {
    made: ArcSwap<HashMap<Signature, Arc<Script>>>,
    amend: Script,
    carry: [Script; 3],
    secret: Script,
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

    pub(crate) const fn amend(&self) -> &Script {
        &self.amend
    }

    /// The scripts that carry a counter over to another name: find, adopt, forget.
    pub(crate) const fn carry(&self) -> &[Script; 3] {
        &self.carry
    }

    /// The script that compares secrets.
    pub(crate) const fn secret(&self) -> &Script {
        &self.secret
    }
}
