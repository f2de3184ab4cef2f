//! The argument that a script is sent: one packed string of bytes.
//!
//! It consists of unsigned integers of 64 bits, little-endian, in the order the script takes them
//! apart. The types they come from keep them below 2⁵³, except identities, which nobody counts with.
//! The first four bytes come back with the answer, so that it is known to be the answer to this call
//! and to no other.

use tidegate_core::{Charge, Level, Span, Timestamp};

use super::form;

/// The argument of one call.
#[derive(Debug)]
pub(crate) struct Args(Vec<u8>);

/// The bytes that come back with the answer, to match it to its call.
pub(crate) type Nonce = [u8; 4];

// === impl Args ===

impl Args {
    /// Begins the argument of a charge or a peek.
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

    /// The whole argument of an amendment.
    pub(crate) fn amending(
        nonce: Nonce,
        what: u8,
        limit: Option<u64>,
        lasts: Span,
        level: Option<Level>,
    ) -> Self {
        let mut args = Self::new(nonce);
        args.0.extend([what, u8::from(limit.is_some())]);
        args.put(limit.unwrap_or_default());
        // A block longer than the range of time ends with that range.
        args.put(lasts.as_micros().min(Timestamp::MAX.as_micros()));
        args.0.push(level.map_or(0, Level::get));
        args.span(Level::DECAY);
        args
    }

    /// Adds a charge.
    pub(crate) fn charge(&mut self, charge: &Charge<'_>) {
        self.counter(charge);
        if charge.member() != 0 {
            self.put(charge.member());
        }
    }

    /// Adds the numbers about the counter of a charge, whichever member is counted.
    fn counter(&mut self, charge: &Charge<'_>) {
        self.put(charge.cost().get());
        self.put(charge.shape().capacity());
        form::pack(charge, self);
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
