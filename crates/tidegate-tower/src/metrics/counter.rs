//! Counters that requests add to.
//!
//! One counter for all threads would be one cache line that all of them pull at. So counters come in
//! copies ([`Stripes`]): each thread adds to its own, and a scrape adds them up.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use tidegate_core::Span;

/// A count that only grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

/// Counts of durations by length, up to 2.5 s and beyond, and the sum of all of them.
#[derive(Debug, Default)]
pub struct Histogram {
    /// Durations of at most this one of [`BOUNDS`], and longer than the one before.
    buckets: [Counter; BOUNDS.len() + 1],
    /// All durations together, in microseconds.
    sum: Counter,
}

/// Copies of some counters. Threads that count at the same time use different ones.
#[derive(Debug)]
pub struct Stripes<T>(Box<[Stripe<T>]>);

/// One copy, alone on its cache lines.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Stripe<T>(T);

/// The upper bounds of a histogram of durations, in microseconds.
pub(super) const BOUNDS: [u64; 14] =
    [10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 100_000, 500_000, 2_500_000];

/// The number of threads that have a place so far.
static NEXT: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// The place of this thread among those that count; [`usize::MAX`] before it has one.
    static MINE: Cell<usize> = const { Cell::new(usize::MAX) };
}

// === impl Counter ===

impl Counter {
    /// Adds one.
    #[inline]
    pub fn add_one(&self) {
        self.add(1);
    }

    /// Adds a number.
    #[inline]
    pub fn add(&self, number: u64) {
        self.0.fetch_add(number, Relaxed);
    }

    /// The count.
    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

// === impl Histogram ===

impl Histogram {
    /// Counts a duration.
    #[inline]
    pub fn record(&self, took: Span) {
        let micros = took.as_micros();
        let bucket = BOUNDS.iter().position(|bound| micros <= *bound).unwrap_or(BOUNDS.len());
        self.buckets[bucket].add_one();
        self.sum.add(micros);
    }

    /// Adds everything that another histogram has counted.
    pub fn merge(&self, other: &Self) {
        for (to, from) in self.buckets.iter().zip(&other.buckets) {
            to.add(from.get());
        }
        self.sum.add(other.sum.get());
    }

    /// The count of each bucket, and the sum of all durations in microseconds.
    pub(super) fn counts(&self) -> ([u64; BOUNDS.len() + 1], u64) {
        (self.buckets.each_ref().map(Counter::get), self.sum.get())
    }
}

// === impl Stripes ===

impl<T: Default> Stripes<T> {
    /// Copies for so many threads; with more, some threads share one.
    #[must_use]
    pub fn new(threads: usize) -> Self {
        // A power of two, so that finding a copy takes no division.
        Self((0..threads.next_power_of_two()).map(|_| Stripe::default()).collect())
    }
}

impl<T> Stripes<T> {
    /// The copy of this thread.
    #[inline]
    #[must_use]
    pub fn mine(&self) -> &T {
        let place = MINE.with(|mine| match mine.get() {
            usize::MAX => first_place(mine),
            place => place,
        });
        &self.0[place & (self.0.len() - 1)].0
    }

    /// All copies.
    pub fn iter(&self) -> impl Iterator<Item = &T> + Clone {
        self.0.iter().map(|stripe| &stripe.0)
    }

    /// The sum of a number over all copies.
    pub fn sum(&self, of: impl Fn(&T) -> u64) -> u64 {
        self.iter().map(of).fold(0, u64::wrapping_add)
    }
}

/// Gives this thread a place.
#[cold]
fn first_place(mine: &Cell<usize>) -> usize {
    let place = NEXT.fetch_add(1, Relaxed);
    mine.set(place);
    place
}

#[cfg(test)]
mod tests {
    //! Nothing is lost, and nobody shares without need.

    use super::*;

    #[test]
    fn threads_count_apart_and_are_added_up() {
        let stripes = Stripes::<Counter>::new(3);
        assert_eq!(stripes.iter().count(), 4);
        std::thread::scope(|scope| {
            for _ in 0..9 {
                scope.spawn(|| (0..1_000).for_each(|_| stripes.mine().add_one()));
            }
        });
        assert_eq!(stripes.sum(Counter::get), 9_000);
        let used = stripes.iter().filter(|counter| counter.get() > 0).count();
        assert_eq!(used, 4, "nine threads in a row take turns");
    }

    #[test]
    fn a_duration_is_counted_in_the_bucket_that_it_fits_into() {
        let (one, all) = (Histogram::default(), Histogram::default());
        for micros in [0, 10, 11, 2_500_000, 2_500_001] {
            one.record(Span::from_micros(micros));
        }
        all.merge(&one);
        all.merge(&one);
        let (counts, sum) = all.counts();
        assert_eq!((counts[0], counts[1], counts[13], counts[14]), (4, 2, 2, 2));
        assert_eq!((counts.iter().sum::<u64>(), sum), (10, 2 * 5_000_022));
    }
}
