//! What a script is sent: one packed argument.
//!
//! Unsigned integers of 64 bits, little-endian, in the order the script takes them apart; the types
//! they come from keep them below 2⁵³. The first four bytes come back with the answer, so that it is
//! known to be the answer to this and to nothing else.

use tidegate_core::{Charge, Counts, Period, Periods, Shape, Span, Timestamp};

/// The argument of one call.
#[derive(Debug)]
pub(crate) struct Args(Vec<u8>);

/// What comes back with the answer.
pub(crate) type Nonce = [u8; 4];

// === impl Args ===

impl Args {
    /// Begins the argument of a charge or a peek.
    pub(crate) fn new(nonce: Nonce) -> Self {
        let mut bytes = Vec::with_capacity(256);
        bytes.extend(nonce);
        Self(bytes)
    }

    /// Begins that of a settlement.
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
        match charge.shape() {
            Shape::Bucket(bucket) => {
                self.put(bucket.units_per_micro());
                self.put(bucket.units_per_token());
            }
            Shape::Quota(quota) => match quota.period() {
                Period::Fixed(length) | Period::FirstUse(length) => self.span(*length),
                Period::Calendar(calendar) => self.periods(&calendar.periods()),
            },
            Shape::Window(window) => {
                self.span(window.per());
                if let Counts::Attempts(Some(backoff)) = window.counts() {
                    backoff.rows().iter().for_each(|row| self.span(*row));
                }
            }
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    fn periods(&mut self, periods: &Periods) {
        periods.bounds().iter().for_each(|bound| self.put(bound.as_micros()));
    }

    fn span(&mut self, span: Span) {
        self.put(span.as_micros());
    }

    fn put(&mut self, number: u64) {
        self.0.extend(number.to_le_bytes());
    }
}
