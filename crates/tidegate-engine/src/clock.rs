//! The one file that reads a clock.
//!
//! The wall clock is read once, at the start; from then on time is that instant plus what the
//! monotonic clock has counted. So a step of the wall clock, forwards or backwards, moves no window
//! and opens no limit. The price is that a clock that runs for months, or through a suspended
//! machine, may come to differ from the wall clock by seconds or more; calendar quotas then end
//! that much too early or too late.

#![expect(clippy::disallowed_methods, reason = "this is the file that reads the clock")]

use std::sync::{Arc, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

use tidegate_core::{Clock, Timestamp};

/// Real time: monotonic, and set by the wall clock when it is made.
#[derive(Clone, Debug)]
pub struct SystemClock {
    clock: quanta::Clock,
    /// The monotonic clock's ticks when this one was made.
    start: u64,
    /// Microseconds per tick, as a fraction of 2⁶⁴: one multiplication tells the time.
    scale: u64,
    /// Wall time at `start`, in microseconds since the Unix epoch.
    wall: u64,
}

/// The clock of a node, by which it judges its store.
#[derive(Clone)]
pub(crate) enum Time {
    /// Real time. The clock is set when it is first read.
    Real(Arc<OnceLock<SystemClock>>),
    Given(Arc<dyn Clock>),
}

// === impl SystemClock ===

impl SystemClock {
    /// A clock set by the wall clock of this moment.
    #[must_use]
    pub fn new() -> Self {
        const SAMPLE: u32 = 50;
        let clock = quanta::Clock::new();
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let nanos = u128::from(clock.delta_as_nanos(0, 1 << SAMPLE));
        // A tick is a nanosecond or less, so the scale is well below one.
        let scale = (nanos << (64 - SAMPLE)) / 1_000;
        Self {
            start: clock.raw(),
            scale: u64::try_from(scale).unwrap_or(u64::MAX),
            wall: u64::try_from(wall.as_micros()).unwrap_or(u64::MAX),
            clock,
        }
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
        let ticks = self.clock.raw().saturating_sub(self.start);
        let elapsed = (u128::from(ticks) * u128::from(self.scale)) >> 64;
        let elapsed = elapsed as u64;
        Timestamp::from_micros(self.wall.saturating_add(elapsed))
    }
}

// === impl Time ===

impl Clock for Time {
    fn now(&self) -> Timestamp {
        match self {
            Self::Real(clock) => clock.get_or_init(SystemClock::new).now(),
            Self::Given(clock) => clock.now(),
        }
    }
}

impl core::fmt::Debug for Time {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Real(_) => "Time(real)",
            Self::Given(_) => "Time(given)",
        })
    }
}

#[cfg(test)]
mod tests {
    //! The one test that needs real time to pass, and asks for no particular amount of it.

    use super::*;

    #[test]
    fn it_never_goes_back_and_agrees_with_the_wall_clock_at_the_start() {
        let clock = SystemClock::new();
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let mut last = clock.now();
        let apart = u128::from(last.as_micros()).abs_diff(wall.as_micros());
        assert!(apart < 60_000_000, "the clocks are {apart} µs apart at the start");
        for _ in 0..100_000 {
            let now = clock.now();
            assert!(now >= last);
            last = now;
        }
    }

    #[test]
    fn a_second_of_ticks_is_a_second() {
        let clock = SystemClock::new();
        let nanos = u128::from(clock.clock.delta_as_nanos(0, 1 << 40));
        let micros = (u128::from(clock.scale) << 40) >> 64;
        assert!(micros.abs_diff(nanos / 1_000) <= 1, "{micros} µs for {nanos} ns");
    }
}
