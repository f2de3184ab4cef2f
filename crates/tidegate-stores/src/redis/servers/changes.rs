//! Counts how often the servers were not the same as before.
//!
//! A server that was started again, or that took over, may have forgotten what was counted. Nothing can
//! be done about it afterwards, but it can be reported.

use core::sync::atomic::{AtomicU32, Ordering};

use tidegate_core::Changes;

#[derive(Debug, Default)]
pub(super) struct ChangeTally {
    restarts: AtomicU32,
    failovers: AtomicU32,
}

// === impl ChangeTally ===

impl ChangeTally {
    pub(super) fn restarted(&self) {
        self.restarts.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn failed_over(&self) {
        self.failovers.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn read(&self) -> Changes {
        Changes {
            restarts: self.restarts.load(Ordering::Relaxed),
            failovers: self.failovers.load(Ordering::Relaxed),
        }
    }
}
