//! Checks whether this node has the secret of the fleet.
//!
//! With another secret a node would still serve, but count accounts, addresses, devices and agents
//! apart from all other nodes and open none of their tickets, and nobody would know. So a value that is
//! the same under the same secret is kept where all nodes can compare it, for as long as nodes with
//! that secret keep coming. No node replaces the value of another secret. While the secret is being
//! changed, nodes that know the previous one accept its value; theirs takes its place once no node
//! without the new secret has come for ten minutes.

use tidegate_core::{Secret, StoreError};

use super::servers::Garbled;
use super::store::Inner;

/// The key under which the value of the fleet is kept.
const KEY: &str = "tg:secret";

/// The values that this node accepts as right.
#[derive(Debug)]
pub(super) struct CheckValues {
    current: String,
    /// The value of the previous secret, while the secret is being changed.
    previous: Option<String>,
}

// === impl CheckValues ===

impl CheckValues {
    pub(super) fn of(secret: &Secret) -> Self {
        let previous = secret.previous().map(|previous| previous.check_value());
        Self { current: secret.check_value(), previous }
    }

    fn has(&self, value: &[u8]) -> bool {
        let mut known = [Some(&self.current), self.previous.as_ref()].into_iter().flatten();
        known.any(|known| known.as_bytes() == value)
    }
}

/// Compares the value of this node with that of the fleet, which it keeps alive or makes if it can.
pub(super) async fn shared(store: &Inner) -> Result<bool, StoreError> {
    let nonce = store.nonce();
    let arg = [&nonce[..], store.check_values.current.as_bytes()].concat();
    let read = |reply: &[u8]| match reply.strip_prefix(&nonce) {
        Some(found) => Ok(store.check_values.has(found)),
        None => Err(Garbled),
    };
    store.call(store.scripts.secret(), &[KEY], &arg, read).await
}
