//! governor: a keyed limiter on its default store (a concurrent map) and its default clock.
//!
//! Its key is owned, so a caller who has a borrowed one builds a `String` for each call, as its
//! users do. It is not asked how much is left, because its default middleware does not say.

use std::num::NonZeroU32;
use std::sync::Arc;

use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};

use super::{Contender, Numbers, Tally};
use crate::workload::Stream;

type Keyed = Arc<DefaultKeyedRateLimiter<String>>;

/// One governor limit.
pub(crate) struct Governor(Keyed);

/// Three governor limits, asked one after another: a token taken from the first stays taken even if
/// the third refuses.
pub(crate) struct Governors([Keyed; 3]);

fn keyed(numbers: Numbers) -> Keyed {
    let at_least_one = |number| NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN);
    let quota = Quota::per_second(at_least_one(numbers.per_second));
    Arc::new(RateLimiter::keyed(quota.allow_burst(at_least_one(numbers.burst))))
}

// === impl Governor ===

impl Governor {
    pub(crate) fn new(numbers: Numbers) -> Self {
        Self(keyed(numbers))
    }
}

impl Contender for Governor {
    fn name(&self) -> &'static str {
        "governor"
    }

    fn run(&mut self, stream: &Stream, start: usize, count: usize) -> Tally {
        Tally::of(stream.part(start, count), |key| Some(self.0.check_key(&key.to_owned()).is_ok()))
    }

    fn shared(&self) -> Option<Box<dyn Contender>> {
        Some(Box::new(Self(Arc::clone(&self.0))))
    }
}

// === impl Governors ===

impl Governors {
    pub(crate) fn new(numbers: Numbers) -> Self {
        Self([keyed(numbers), keyed(numbers), keyed(numbers)])
    }
}

impl Contender for Governors {
    fn name(&self) -> &'static str {
        "governor × 3 (not atomic)"
    }

    fn run(&mut self, stream: &Stream, start: usize, count: usize) -> Tally {
        Tally::of(stream.part(start, count), |key| {
            Some(self.0.iter().all(|limiter| limiter.check_key(&key.to_owned()).is_ok()))
        })
    }
}
