//! throttlecrab, the library: its limiter on the store its README calls the default.
//!
//! The limiter takes `&mut self`. So one thread calls it directly; two threads share it behind a
//! mutex, which costs less than its own server, where every request goes to one task.

use std::hint::black_box;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use throttlecrab::{PeriodicStore, RateLimiter};

use super::{BenchNumbers, BenchTally, Contender};
use crate::workload::Stream;

/// throttlecrab for one thread, or behind a mutex for several.
pub(crate) struct Throttlecrab {
    limiter: RateLimiter<PeriodicStore>,
    numbers: BenchNumbers,
}

// === impl Throttlecrab ===

impl Throttlecrab {
    pub(crate) fn new(numbers: BenchNumbers, keys: u32) -> Self {
        let store = PeriodicStore::builder().capacity(keys as usize).build();
        Self { limiter: RateLimiter::new(store), numbers }
    }

    fn admits(&mut self, key: &str) -> Option<bool> {
        let BenchNumbers { per_second, burst } = self.numbers;
        let (burst, rate) = (i64::from(burst), i64::from(per_second));
        let limited = self.limiter.rate_limit(key, burst, rate, 1, 1, SystemTime::now());
        let (admitted, result) = limited.ok()?;
        black_box(result.remaining);
        Some(admitted)
    }
}

impl Contender for Throttlecrab {
    fn name(&self) -> &'static str {
        "throttlecrab"
    }

    fn run(&mut self, stream: &Stream, start: usize, count: usize) -> BenchTally {
        BenchTally::of(stream.part(start, count), |key| self.admits(key))
    }
}

impl Contender for Arc<Mutex<Throttlecrab>> {
    fn name(&self) -> &'static str {
        "throttlecrab in a mutex"
    }

    fn run(&mut self, stream: &Stream, start: usize, count: usize) -> BenchTally {
        BenchTally::of(stream.part(start, count), |key| {
            self.lock().unwrap_or_else(PoisonError::into_inner).admits(key)
        })
    }

    fn shared(&self) -> Option<Box<dyn Contender>> {
        Some(Box::new(Self::clone(self)))
    }
}
