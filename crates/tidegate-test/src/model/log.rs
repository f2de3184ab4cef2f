//! The record of one key, whatever its shape.

use std::borrow::Cow;

use tidegate_core::{Bucket, Shape, Tally};

use super::attempts::AttemptsLog;
use super::bucket::BucketLog;
use super::quota::QuotaLog;
use super::window::WindowLog;

/// Everything recorded for one key.
#[derive(Clone, Debug)]
pub(super) enum ModelLog {
    Bucket(BucketLog),
    Window(WindowLog),
    Quota(QuotaLog),
    Attempts(AttemptsLog),
}

/// What one request asks of a counter: a number of units, or an attempt of a member.
#[derive(Clone, Copy)]
pub(super) struct Demand {
    pub(super) cost: u64,
    pub(super) member: u64,
}

/// A log at one instant, and the numbers to read it under.
pub(super) struct LogView<'a> {
    log: Cow<'a, ModelLog>,
    shape: Cow<'a, Shape>,
}

/// Calls the same method of the log with the numbers of its shape.
macro_rules! under {
    ($log:expr, $shape:expr, |$inner:ident, $numbers:ident| $call:expr) => {
        match ($log, $shape) {
            (ModelLog::Bucket($inner), Shape::Bucket($numbers)) => $call,
            (ModelLog::Window($inner), Shape::Window($numbers)) => $call,
            (ModelLog::Quota($inner), Shape::Quota($numbers)) => $call,
            (ModelLog::Attempts($inner), Shape::Attempts($numbers)) => $call,
            _ => panic!("a limit of another shape has another identity, and so another log"),
        }
    };
}

// === impl ModelLog ===

impl ModelLog {
    /// A log with nothing recorded.
    pub(super) fn empty(shape: &Shape) -> Self {
        match shape {
            Shape::Bucket(_) => Self::Bucket(BucketLog::default()),
            Shape::Window(_) => Self::Window(WindowLog::default()),
            Shape::Quota(_) => Self::Quota(QuotaLog::default()),
            Shape::Attempts(_) => Self::Attempts(AttemptsLog::default()),
        }
    }

    /// The last instant this log has seen; time is never taken to be earlier.
    pub(super) fn seen(&self, shape: &Shape) -> u64 {
        under!(self, shape, |log, numbers| log.seen(numbers))
    }

    /// Records the request at `at`, and returns whether that begins a block.
    pub(super) fn push(&mut self, shape: &Shape, at: u64, asked: Demand) -> bool {
        match (self, shape) {
            (Self::Bucket(log), Shape::Bucket(numbers)) => log.push(numbers, at, asked.cost),
            (Self::Window(log), Shape::Window(numbers)) => log.push(numbers, at, asked.cost),
            (Self::Quota(log), Shape::Quota(numbers)) => log.push(numbers, at, asked.cost),
            (Self::Attempts(log), Shape::Attempts(numbers)) => {
                return log.record(numbers, asked.member, at);
            }
            _ => panic!("a limit of another shape has another identity, and so another log"),
        }
        false
    }

    /// Refuses everything until `until`. Only a window needs this: a quota has no room before its
    /// period ends anyway.
    pub(super) fn block(&mut self, until: u64) {
        if let Self::Window(log) = self {
            log.block(until);
        }
    }

    /// Whether a log that was written under the numbers of `old` is as good as none under `new`.
    pub(super) fn is_void(&self, old: &Shape, new: &Shape, at: u64) -> bool {
        match (self, old, new) {
            (Self::Bucket(log), Shape::Bucket(old), Shape::Bucket(new)) if old != new => {
                log.inherited(old, &stricter(old, new), at).is_none()
            }
            _ => false,
        }
    }

    /// The view at `at` of a log that was written under the numbers of `old`, with those of `new`
    /// in force.
    pub(super) fn under<'a>(
        &'a self,
        old: &'a Shape,
        new: &'a Shape,
        at: u64,
        born: u64,
    ) -> LogView<'a> {
        match (self, old, new) {
            _ if old == new => LogView { log: Cow::Borrowed(self), shape: Cow::Borrowed(new) },
            (Self::Bucket(log), Shape::Bucket(old), Shape::Bucket(numbers)) => {
                let stricter = stricter(old, numbers);
                match log.inherited(old, &stricter, at) {
                    Some(log) => LogView {
                        log: Cow::Owned(Self::Bucket(log)),
                        shape: Cow::Owned(Shape::Bucket(stricter)),
                    },
                    None => LogView::fresh(new),
                }
            }
            _ => {
                let log = self.rewritten(old, new, at, born);
                LogView { log: Cow::Owned(log), shape: Cow::Borrowed(new) }
            }
        }
    }

    /// The log as it continues under the numbers of `new`, when a charge is to be recorded at `at`.
    pub(super) fn rewritten(&self, old: &Shape, new: &Shape, at: u64, born: u64) -> Self {
        match (self, old, new) {
            _ if old == new => self.clone(),
            (Self::Bucket(log), Shape::Bucket(old), Shape::Bucket(new)) => {
                let stricter = stricter(old, new);
                let log = log.inherited(old, &stricter, at);
                Self::Bucket(
                    log.map_or_else(BucketLog::default, |log| log.carried_to(&stricter, new, at)),
                )
            }
            (Self::Window(log), Shape::Window(old), Shape::Window(new)) => {
                Self::Window(log.rewritten(old, new))
            }
            (Self::Quota(log), Shape::Quota(old), Shape::Quota(_)) => {
                Self::Quota(log.rewritten(old, born))
            }
            (Self::Attempts(log), ..) => Self::Attempts(log.rewritten()),
            _ => panic!("a limit of another shape has another identity, and so another log"),
        }
    }
}

// === impl LogView ===

impl<'a> LogView<'a> {
    /// A view of a log with nothing recorded.
    pub(super) fn fresh(shape: &'a Shape) -> Self {
        Self { log: Cow::Owned(ModelLog::empty(shape)), shape: Cow::Borrowed(shape) }
    }

    /// Whether the request stays within the limit at `at`.
    pub(super) fn fits(&self, asked: Demand, at: u64) -> bool {
        let asked = match &*self.log {
            ModelLog::Attempts(_) => asked.member,
            ModelLog::Bucket(_) | ModelLog::Window(_) | ModelLog::Quota(_) => asked.cost,
        };
        under!(&*self.log, &*self.shape, |log, numbers| log.fits(numbers, asked, at))
    }

    /// The counts of attempts, and the block; `None` for other shapes.
    pub(super) fn tally(&self, begins: bool, at: u64) -> Option<Tally> {
        match (&*self.log, &*self.shape) {
            (ModelLog::Attempts(log), Shape::Attempts(numbers)) => {
                Some(log.tally(numbers, begins, at))
            }
            _ => None,
        }
    }

    /// Whole units left at `at`; below zero where more was counted than fits.
    pub(super) fn left(&self, at: u64) -> i128 {
        under!(&*self.log, &*self.shape, |log, numbers| log.left(numbers, at))
    }

    /// Whether the counter at `at` is as if never used.
    pub(super) fn is_fresh(&self, at: u64) -> bool {
        under!(&*self.log, &*self.shape, |log, numbers| log.is_fresh(numbers, at))
    }
}

/// The slower of both rates with the smaller burst.
fn stricter(a: &Bucket, b: &Bucket) -> Bucket {
    let tokens_in = |bucket: &Bucket, time: &Bucket| {
        u128::from(bucket.rate().tokens()) * u128::from(time.rate().per().as_micros())
    };
    let slower = if tokens_in(a, b) < tokens_in(b, a) { a } else { b };
    let burst = a.burst().min(b.burst());
    Bucket::try_new(slower.rate(), burst).expect("a smaller burst at the same rate is exact too")
}
