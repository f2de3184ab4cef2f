//! A limit as probes charge it.

use super::{Limit, Stamp};
use crate::overrides::Overrides;
use crate::time::Timestamp;

// === impl Limit ===

impl Limit {
    /// The limit for the probes of this node: with keys of their own, and with numbers of the same form
    /// under which nothing of a probe is kept for long.
    pub(crate) fn on_trial(&self, node: u64, now: Timestamp) -> Self {
        Self {
            shapes: vec![self.shape().brief(now)],
            base: Stamp(0),
            current: Stamp(0),
            place: 0,
            overrides: Overrides::default(),
            trial: Some(node),
            ..self.clone()
        }
    }
}
