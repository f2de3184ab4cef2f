//! The one file that reads a clock.
//!
//! The wall clock is read once, at the start; from then on time is that instant plus what the
//! monotonic clock has counted. A step of the wall clock, forwards or backwards, so moves no
//! window and opens no limit.

#![expect(clippy::disallowed_methods, reason = "this is the file that reads the clock")]

use std::time::{SystemTime, UNIX_EPOCH};

use tidegate_core::{Clock, Timestamp};

/// Real time: monotonic, and right about the date as of when it was made.
#[derive(Clone, Debug)]
pub struct SystemClock {
    clock: quanta::Clock,
    start: u64,
    /// Wall time at `start`, in nanoseconds since the Unix epoch.
    wall: u64,
}

// === impl SystemClock ===

impl SystemClock {
    /// A clock set by the wall clock of this moment.
    #[must_use]
    pub fn new() -> Self {
        let clock = quanta::Clock::new();
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let wall = u64::try_from(wall.as_nanos()).unwrap_or(u64::MAX);
        Self { start: clock.raw(), wall, clock }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    #[inline]
    fn now(&self) -> Timestamp {
        let elapsed = self.clock.delta_as_nanos(self.start, self.clock.raw());
        Timestamp::from_micros(self.wall.saturating_add(elapsed) / 1_000)
    }
}
