//! governor: a keyed limiter on its default store (a concurrent map) and its default clock.
//!
//! Its key is owned, so a caller who has a borrowed one builds a `String` for each call, as its
//! users do. It is not asked how much is left, because its default middleware does not say.

use std::num::NonZeroU32;
use std::sync::Arc;

use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};

use super::{BenchNumbers, BenchTally, Contender};
use crate::workload::Stream;

type Keyed = Arc<DefaultKeyedRateLimiter<String>>;

/// Some governor limits, asked one after another: with three of them, a token taken from the first
/// stays taken even if the third refuses.
pub(crate) struct Governor<const LIMITS: usize>([Keyed; LIMITS]);

fn keyed(numbers: BenchNumbers) -> Keyed {
    let at_least_one = |number| NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN);
    let quota = Quota::per_second(at_least_one(numbers.per_second));
    Arc::new(RateLimiter::keyed(quota.allow_burst(at_least_one(numbers.burst))))
}

// === impl Governor ===

impl<const LIMITS: usize> Governor<LIMITS> {
    pub(crate) fn new(numbers: BenchNumbers) -> Self {
        Self([(); LIMITS].map(|()| keyed(numbers)))
    }
}

impl<const LIMITS: usize> Contender for Governor<LIMITS> {
    fn name(&self) -> &'static str {
        if LIMITS == 1 { "governor" } else { "governor × 3 (not atomic)" }
    }

    fn run(&mut self, stream: &Stream, start: usize, count: usize) -> BenchTally {
        BenchTally::of(stream.part(start, count), |key| {
            Some(self.0.iter().all(|limiter| limiter.check_key(&key.to_owned()).is_ok()))
        })
    }

    fn shared(&self) -> Option<Box<dyn Contender>> {
        Some(Box::new(Self(self.0.clone())))
    }
}
