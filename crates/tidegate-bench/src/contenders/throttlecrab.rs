//! throttlecrab, the library: its limiter on the store its README calls the default.
//!
//! The limiter takes `&mut self`. So one thread calls it directly; two threads share it behind a
//! mutex, which costs less than its own server, where every request goes to one task.

use std::hint::black_box;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use throttlecrab::{PeriodicStore, RateLimiter};

use super::{Contender, Numbers, Tally};
use crate::workload::Stream;

/// throttlecrab for one thread.
pub(crate) struct Throttlecrab(Limiter);

/// throttlecrab for several threads, behind a mutex.
pub(crate) struct SharedThrottlecrab(Arc<Mutex<Limiter>>);

struct Limiter {
    limiter: RateLimiter<PeriodicStore>,
    numbers: Numbers,
}

// === impl Limiter ===

impl Limiter {
    fn new(numbers: Numbers, keys: u32) -> Self {
        let store = PeriodicStore::builder().capacity(keys as usize).build();
        Self { limiter: RateLimiter::new(store), numbers }
    }

    fn admits(&mut self, key: &str) -> Option<bool> {
        let Numbers { per_second, burst } = self.numbers;
        let (burst, rate) = (i64::from(burst), i64::from(per_second));
        let limited = self.limiter.rate_limit(key, burst, rate, 1, 1, SystemTime::now());
        let (admitted, result) = limited.ok()?;
        black_box(result.remaining);
        Some(admitted)
    }
}

// === impl Throttlecrab ===

impl Throttlecrab {
    pub(crate) fn new(numbers: Numbers, keys: u32) -> Self {
        Self(Limiter::new(numbers, keys))
    }
}

impl Contender for Throttlecrab {
    fn name(&self) -> &'static str {
        "throttlecrab"
    }

    fn run(&mut self, stream: &Stream, start: usize, count: usize) -> Tally {
        Tally::of(stream.part(start, count), |key| self.0.admits(key))
    }
}

// === impl SharedThrottlecrab ===

impl SharedThrottlecrab {
    pub(crate) fn new(numbers: Numbers, keys: u32) -> Self {
        Self(Arc::new(Mutex::new(Limiter::new(numbers, keys))))
    }
}

impl Contender for SharedThrottlecrab {
    fn name(&self) -> &'static str {
        "throttlecrab in a mutex"
    }

    fn run(&mut self, stream: &Stream, start: usize, count: usize) -> Tally {
        Tally::of(stream.part(start, count), |key| {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).admits(key)
        })
    }

    fn shared(&self) -> Option<Box<dyn Contender>> {
        Some(Box::new(Self(Arc::clone(&self.0))))
    }
}
