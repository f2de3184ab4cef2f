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
use super::store::Connected;

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
}

/// Compares the value of this node with that of the fleet, which it keeps alive or makes if it can.
pub(super) async fn shared(store: &Connected) -> Result<bool, StoreError> {
    let nonce = store.nonce();
    let CheckValues { current, previous } = &store.check_values;
    let arg = [&nonce[..], current.as_bytes()].concat();
    let read = |reply: &[u8]| {
        let found = reply.strip_prefix(&nonce).ok_or(Garbled)?;
        Ok([Some(current), previous.as_ref()].iter().flatten().any(|it| it.as_bytes() == found))
    };
    store.call(&store.scripts.secret, &[KEY], &arg, read).await
}
