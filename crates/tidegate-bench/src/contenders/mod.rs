//! The limiters that are measured, each called as its own users call it.

mod floor;
mod governor;
mod shapes;
mod throttlecrab;
mod tidegate;

pub(crate) use floor::Floor;
pub(crate) use governor::Governor;
pub(crate) use shapes::Shapes;
pub(crate) use throttlecrab::Throttlecrab;
pub(crate) use tidegate::Tidegate;

use core::ops::AddAssign;

use crate::Fallible;
use crate::workload::Stream;

/// A limiter that is measured.
pub(crate) trait Contender: Send {
    /// The name of this contender in tables.
    fn name(&self) -> &'static str;

    /// Decides `count` requests of `stream` from the one at `start`, one after another.
    fn run(&mut self, stream: &Stream, start: usize, count: usize) -> BenchTally;

    /// A handle to the same limiter for another thread, or `None` if it cannot be shared.
    fn shared(&self) -> Option<Box<dyn Contender>> {
        None
    }
}

/// How some requests were decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BenchTally {
    pub(crate) asked: u64,
    pub(crate) admitted: u64,
    /// Requests that were not decided. They are counted because a limiter that fails is quick.
    pub(crate) failed: u64,
}

/// The limit that every contender enforces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BenchNumbers {
    /// Requests admitted per second.
    pub(crate) per_second: u32,
    /// Requests admitted at once.
    pub(crate) burst: u32,
}

// === impl BenchTally ===

impl BenchTally {
    /// Asks `admits` about each of `keys`; `None` is a failure.
    #[inline]
    pub(crate) fn of<'k>(
        keys: impl Iterator<Item = &'k str>,
        mut admits: impl FnMut(&'k str) -> Option<bool>,
    ) -> Self {
        let (mut asked, mut admitted, mut failed) = (0, 0, 0);
        for key in keys {
            asked += 1;
            match admits(key) {
                Some(true) => admitted += 1,
                Some(false) => {}
                None => failed += 1,
            }
        }
        Self { asked, admitted, failed }
    }

    /// The share of requests that were admitted.
    pub(crate) fn share(&self) -> f64 {
        self.admitted as f64 / self.asked as f64
    }

    /// Returns this tally, or an error if any request failed.
    pub(crate) fn checked(self, name: &str) -> Fallible<Self> {
        match self.failed {
            0 => Ok(self),
            failed => Err(format!("{name} failed to decide {failed} of {}", self.asked).into()),
        }
    }
}

impl AddAssign for BenchTally {
    fn add_assign(&mut self, other: Self) {
        self.asked += other.asked;
        self.admitted += other.admitted;
        self.failed += other.failed;
    }
}

// === impl BenchNumbers ===

impl BenchNumbers {
    /// Admits everything. A token takes a second to come back, so no key fills up again during a
    /// run.
    pub(crate) const ROOMY: Self = Self { per_second: 1, burst: 1_000_000_000 };
    /// Refuses a key that asks more than ten times a second; a key that asks less often soon fills
    /// up again.
    pub(crate) const TIGHT: Self = Self { per_second: 10, burst: 20 };
}
