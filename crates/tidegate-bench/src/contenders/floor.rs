//! The least a limiter can do: read the clock and swap one word.

use std::sync::atomic::{AtomicU64, Ordering};

use tidegate_core::Clock as _;
use tidegate_engine::SystemClock;

use super::{BenchNumbers, BenchTally, Contender};
use crate::workload::Stream;

/// A bucket in one atomic word that all keys share, on the same clock as Tidegate's.
pub(crate) struct Floor {
    /// When the bucket is full again, in microseconds.
    full_at: AtomicU64,
    clock: SystemClock,
    token: u64,
    capacity: u64,
}

// === impl Floor ===

impl Floor {
    pub(crate) fn new(numbers: BenchNumbers) -> Self {
        let token = 1_000_000 / u64::from(numbers.per_second);
        Self {
            full_at: AtomicU64::new(0),
            clock: SystemClock::new(),
            token,
            capacity: token * u64::from(numbers.burst),
        }
    }

    fn admits(&self) -> bool {
        let now = self.clock.now().as_micros();
        let mut full_at = self.full_at.load(Ordering::Relaxed);
        loop {
            let next = full_at.max(now) + self.token;
            if next - now > self.capacity {
                return false;
            }
            let swapped = self.full_at.compare_exchange_weak(
                full_at,
                next,
                Ordering::AcqRel,
                Ordering::Relaxed,
            );
            match swapped {
                Ok(_) => return true,
                Err(other) => full_at = other,
            }
        }
    }
}

impl Contender for Floor {
    fn name(&self) -> &'static str {
        "one atomic + clock (floor)"
    }

    fn run(&mut self, stream: &Stream, start: usize, count: usize) -> BenchTally {
        BenchTally::of(stream.part(start, count), |key| {
            std::hint::black_box(key);
            Some(self.admits())
        })
    }
}
