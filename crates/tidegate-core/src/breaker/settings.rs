//! The numbers of a breaker, checked once.

use core::num::NonZeroU32;

use crate::time::Span;

/// How much longer a lease is valid than its probe can take: the time for the answers of the fleet, and for
/// a holder that is slow to notice its own timeout.
pub const LEASE_SLACK: Span = Span::from_secs(5);

/// When a breaker opens, for how long, and when it closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakerSettings {
    failure_threshold: NonZeroU32,
    recovery_window: Span,
    success_threshold: NonZeroU32,
    lease: Span,
}

/// Why these numbers are refused as the settings of a breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BreakerSettingsError {
    /// The recovery window is too short or too long.
    #[error("a recovery window must last from 1s to 1d; {0} does not")]
    Window(Span),
    /// The lease leaves no time for a probe, or is too long.
    #[error("a lease must last from 5s to 1h; {0} does not")]
    Lease(Span),
}

// === impl BreakerSettings ===

impl BreakerSettings {
    /// A breaker that opens after `failure_threshold` failures in a row, for `recovery_window`, and closes
    /// after one probe that succeeds. A lease is valid for `lease`, which is the longest that a probe can
    /// take, and [`LEASE_SLACK`].
    ///
    /// # Errors
    ///
    /// If the window is not between a second and a day, or the lease not between [`LEASE_SLACK`] and an
    /// hour.
    pub fn try_new(
        failure_threshold: NonZeroU32,
        recovery_window: Span,
        lease: Span,
    ) -> Result<Self, BreakerSettingsError> {
        if !(Span::SECOND..=Span::DAY).contains(&recovery_window) {
            return Err(BreakerSettingsError::Window(recovery_window));
        }
        if lease <= LEASE_SLACK || lease > Span::HOUR {
            return Err(BreakerSettingsError::Lease(lease));
        }
        let success_threshold = NonZeroU32::MIN;
        Ok(Self { failure_threshold, recovery_window, success_threshold, lease })
    }

    /// The same settings with another number of probes that have to succeed, one after the other, before
    /// the breaker closes.
    #[must_use]
    pub const fn closing_after(self, success_threshold: NonZeroU32) -> Self {
        Self { success_threshold, ..self }
    }

    /// Failures in a row that open the breaker of a node.
    #[must_use]
    pub const fn failure_threshold(&self) -> u32 {
        self.failure_threshold.get()
    }

    /// How long the breaker stays open before a probe is made.
    #[must_use]
    pub const fn recovery_window(&self) -> Span {
        self.recovery_window
    }

    /// Probes that have to succeed before the breaker closes.
    #[must_use]
    pub const fn success_threshold(&self) -> u32 {
        self.success_threshold.get()
    }

    /// How long a lease is valid.
    #[must_use]
    pub const fn lease(&self) -> Span {
        self.lease
    }
}
