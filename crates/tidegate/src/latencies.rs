//! Latencies in a histogram, for `tidegate bench` and for the benchmarks of the repository.

use core::time::Duration;

use hdrhistogram::{CreationError, Histogram};

/// How long answers took, exact to three digits. More than a minute counts as a minute.
#[derive(Clone, Debug)]
pub struct Latencies(Histogram<u64>);

/// The longest latency that is recorded, in nanoseconds.
const LONGEST: u64 = 60_000_000_000;

impl Latencies {
    /// A histogram that has recorded nothing yet.
    ///
    /// # Errors
    ///
    /// If the histogram cannot be made.
    pub fn try_new() -> Result<Self, CreationError> {
        Histogram::new_with_bounds(1, LONGEST, 3).map(Self)
    }

    /// Records one latency.
    pub fn record(&mut self, latency: Duration) {
        self.0.saturating_record(u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX));
    }

    /// The time within which this share of the answers came, such as 0.5 for the median; `None` if there
    /// were no answers.
    #[must_use]
    pub fn within(&self, share: f64) -> Option<Duration> {
        let nanos = self.0.value_at_quantile(share);
        (!self.0.is_empty()).then_some(Duration::from_nanos(nanos))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_the_answers_came_within_its_time() {
        let mut latencies = Latencies::try_new().unwrap();
        assert_eq!(latencies.within(0.5), None);
        (1..=1_000).for_each(|millis| latencies.record(Duration::from_millis(millis)));
        for (share, millis) in [(0.5, 500), (0.99, 990), (1.0, 1_000)] {
            assert_eq!(latencies.within(share).unwrap().as_millis(), millis);
        }
        latencies.record(Duration::MAX);
        assert_eq!(latencies.within(1.0).unwrap().as_secs(), 60, "as long as is recorded");
    }
}
