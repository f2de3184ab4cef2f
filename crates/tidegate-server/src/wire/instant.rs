//! Instants in answers.

use serde::{Serialize, Serializer};
use tidegate_core::{Rfc3339, Timestamp};

/// An instant that is serialised as text, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Instant(pub(crate) Timestamp);

// === impl Instant ===

impl Instant {
    pub(super) fn text(self) -> Rfc3339 {
        self.0.rfc3339()
    }
}

impl Serialize for Instant {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.text().as_str())
    }
}
