//! The argument that a script is sent: one packed string of bytes.
//!
//! It consists of unsigned integers of 64 bits, little-endian, in the order the script takes them
//! apart. The types they come from keep them below 2⁵³, except identities, which nobody counts with.
//! The first four bytes come back with the answer, so that it is known to be the answer to this call
//! and to no other.

use tidegate_core::{Charge, Span, Timestamp};

use super::form;

/// The argument of one call.
#[derive(Debug)]
pub(crate) struct ScriptArgs(Vec<u8>);

/// The bytes that come back with the answer, to match it to its call.
pub(crate) type Nonce = [u8; 4];

// === impl ScriptArgs ===

impl ScriptArgs {
    /// Begins the argument of a charge, a peek or an amendment.
    pub(crate) fn new(nonce: Nonce) -> Self {
        let mut bytes = Vec::with_capacity(256);
        bytes.extend(nonce);
        Self(bytes)
    }

    /// Begins the argument of a settlement.
    pub(crate) fn settling(nonce: Nonce, taken_at: Timestamp, until: Timestamp) -> Self {
        let mut args = Self::new(nonce);
        args.put(taken_at.as_micros());
        args.put(until.as_micros());
        args
    }

    /// Adds a charge.
    pub(crate) fn charge(&mut self, charge: &Charge<'_>) {
        self.put(charge.cost().get());
        self.put(charge.shape().capacity());
        form::pack(charge, self);
        if charge.member() != 0 {
            self.put(charge.member());
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(super) fn span(&mut self, span: Span) {
        self.put(span.as_micros());
    }

    pub(super) fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    pub(super) fn put(&mut self, number: u64) {
        self.0.extend(number.to_le_bytes());
    }
}
