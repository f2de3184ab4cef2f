//! What an override or an environment says, made whole with the numbers of its limit.

use tidegate_core::Shape;

use super::Check;
use crate::file::place::{Place, Placed};
use crate::file::written::attempts::{AttemptsNumbers, ThresholdNumbers};
use crate::file::written::limit::{
    Bucket, Elsewhere, Limit, Override, Partly, QuotaNumbers, WindowNumbers,
};

/// The numbers of a shape as written, whichever it is.
#[derive(Clone, Copy)]
pub(super) enum Numbers<'w> {
    Bucket(&'w Placed<Bucket>),
    Window(&'w Placed<WindowNumbers>),
    Quota(&'w Placed<QuotaNumbers>),
    Attempts(&'w Placed<AttemptsNumbers>),
}

/// Some numbers as they are given, perhaps of several shapes or of none.
pub(super) struct Given {
    bucket: Option<Placed<Bucket>>,
    window: Option<Placed<WindowNumbers>>,
    quota: Option<Placed<QuotaNumbers>>,
    attempts: Option<Placed<AttemptsNumbers>>,
}

/// The numbers of an override, with those of its limit for what was left out.
pub(super) enum Filled {
    Bucket(Placed<Bucket>),
    Window(Placed<WindowNumbers>),
    Quota(Placed<QuotaNumbers>),
    Attempts(Placed<AttemptsNumbers>),
}

// === impl Numbers ===

impl<'w> Numbers<'w> {
    /// All that a limit gives: those of one shape, if it is in order.
    pub(super) fn of(limit: &'w Limit) -> Vec<Self> {
        let given = [
            limit.bucket.as_ref().map(Self::Bucket),
            limit.window.as_ref().map(Self::Window),
            limit.quota.as_ref().map(Self::Quota),
            limit.attempts.as_ref().map(Self::Attempts),
        ];
        given.into_iter().flatten().collect()
    }

    pub(super) const fn kind(self) -> &'static str {
        match self {
            Self::Bucket(_) => "bucket",
            Self::Window(_) => "window",
            Self::Quota(_) => "quota",
            Self::Attempts(_) => "attempts",
        }
    }

    pub(super) const fn place(self) -> Place {
        match self {
            Self::Bucket(bucket) => bucket.place,
            Self::Window(window) => window.place,
            Self::Quota(quota) => quota.place,
            Self::Attempts(attempts) => attempts.place,
        }
    }

    /// Where the most that fits at once is written.
    pub(super) fn at_capacity(self) -> Place {
        let number = match self {
            Self::Bucket(bucket) => bucket.value.burst.as_ref(),
            Self::Window(window) => window.value.count.as_ref(),
            Self::Quota(quota) => quota.value.count.as_ref(),
            Self::Attempts(attempts) => attempts.value.block_at(),
        };
        number.map_or_else(|| self.place(), |number| number.place)
    }
}

// === impl Check ===

impl Check {
    /// The shape of these numbers; of attempts, whether distinct values are counted matters.
    pub(super) fn shape(&mut self, numbers: Numbers<'_>, is_distinct: bool) -> Option<Shape> {
        match numbers {
            Numbers::Bucket(bucket) => self.bucket(&bucket.value, bucket.place),
            Numbers::Window(window) => self.window(&window.value, window.place),
            Numbers::Quota(quota) => self.quota(&quota.value, quota.place),
            Numbers::Attempts(attempts) => self.attempts(attempts, is_distinct),
        }
    }
}

// === impl Given ===

impl Given {
    pub(super) fn of_override(rule: &Override) -> Self {
        Self {
            bucket: rule.bucket.as_ref().map(whole),
            window: rule.window.as_ref().map(whole),
            quota: rule.quota.as_ref().map(whole),
            attempts: rule.attempts.as_ref().map(whole),
        }
    }

    pub(super) fn elsewhere(there: &Elsewhere) -> Self {
        Self {
            bucket: there.bucket.as_ref().map(whole),
            window: there.window.as_ref().map(whole),
            quota: there.quota.as_ref().map(whole),
            attempts: there.attempts.as_ref().map(whole),
        }
    }

    pub(super) fn numbers(&self) -> Vec<Numbers<'_>> {
        let given = [
            self.bucket.as_ref().map(Numbers::Bucket),
            self.window.as_ref().map(Numbers::Window),
            self.quota.as_ref().map(Numbers::Quota),
            self.attempts.as_ref().map(Numbers::Attempts),
        ];
        given.into_iter().flatten().collect()
    }
}

fn whole<T: Clone>(partly: &Placed<Partly<T>>) -> Placed<T> {
    Placed { value: partly.value.0.clone(), place: partly.place }
}

// === impl Filled ===

impl Filled {
    pub(super) const fn numbers(&self) -> Numbers<'_> {
        match self {
            Self::Bucket(bucket) => Numbers::Bucket(bucket),
            Self::Window(window) => Numbers::Window(window),
            Self::Quota(quota) => Numbers::Quota(quota),
            Self::Attempts(attempts) => Numbers::Attempts(attempts),
        }
    }
}

/// Whether no number is given at all.
pub(super) fn is_blank(numbers: Numbers<'_>) -> bool {
    match numbers {
        Numbers::Bucket(given) => given.value.rate.is_none() && given.value.burst.is_none(),
        Numbers::Window(given) => {
            let given = &given.value;
            given.count.is_none()
                && given.per.is_none()
                && given.counts.is_none()
                && given.backoff.is_none()
        }
        Numbers::Quota(given) => {
            let given = &given.value;
            given.count.is_none()
                && given.per.is_none()
                && given.zone.is_none()
                && given.billing_day.is_none()
                && given.starts.is_none()
                && given.counts.is_none()
                && given.backoff.is_none()
        }
        Numbers::Attempts(given) => {
            let AttemptsNumbers { temp, long, .. } = &given.value;
            let blank = |at: &Option<Placed<ThresholdNumbers>>| {
                at.as_ref().is_none_or(|at| {
                    let at = &at.value;
                    at.block_at.is_none() && at.per.is_none() && at.block.is_none()
                })
            };
            !given.value.climbs() && blank(temp) && blank(long)
        }
    }
}

/// What an override says, and what its limit says where it says nothing; none if they are of
/// different shapes. A period and what goes with it are taken from one of both, and so are the way
/// of counting and its backoff, and the manner of blocks.
pub(super) fn filled(given: Numbers<'_>, usual: Numbers<'_>) -> Option<Filled> {
    Some(match (given, usual) {
        (Numbers::Bucket(given), Numbers::Bucket(usual)) => {
            let mut bucket = given.clone();
            fill(&mut bucket.value.rate, &usual.value.rate);
            fill(&mut bucket.value.burst, &usual.value.burst);
            Filled::Bucket(bucket)
        }
        (Numbers::Window(given), Numbers::Window(usual)) => {
            let mut window = given.clone();
            let (numbers, usual) = (&mut window.value, &usual.value);
            fill(&mut numbers.count, &usual.count);
            fill(&mut numbers.per, &usual.per);
            if numbers.counts.is_none() {
                fill(&mut numbers.backoff, &usual.backoff);
            }
            fill(&mut numbers.counts, &usual.counts);
            Filled::Window(window)
        }
        (Numbers::Quota(given), Numbers::Quota(usual)) => {
            let mut quota = given.clone();
            let (numbers, usual) = (&mut quota.value, &usual.value);
            fill(&mut numbers.count, &usual.count);
            if numbers.per.is_none() {
                fill(&mut numbers.zone, &usual.zone);
                fill(&mut numbers.billing_day, &usual.billing_day);
                fill(&mut numbers.starts, &usual.starts);
            }
            fill(&mut numbers.per, &usual.per);
            if numbers.counts.is_none() {
                fill(&mut numbers.backoff, &usual.backoff);
            }
            fill(&mut numbers.counts, &usual.counts);
            Filled::Quota(quota)
        }
        (Numbers::Attempts(given), Numbers::Attempts(usual)) => {
            let mut attempts = given.clone();
            fill_attempts(&mut attempts.value, &usual.value);
            Filled::Attempts(attempts)
        }
        _ => return None,
    })
}

fn fill<T: Clone>(given: &mut Option<T>, usual: &Option<T>) {
    if given.is_none() {
        given.clone_from(usual);
    }
}

fn fill_attempts(given: &mut AttemptsNumbers, usual: &AttemptsNumbers) {
    if given.has_windows() {
        fill_threshold(&mut given.temp, &usual.temp);
        fill_threshold(&mut given.long, &usual.long);
    } else {
        fill(&mut given.block_at, &usual.block_at);
        fill(&mut given.per, &usual.per);
        fill(&mut given.ladder, &usual.ladder);
    }
}

fn fill_threshold(
    given: &mut Option<Placed<ThresholdNumbers>>,
    usual: &Option<Placed<ThresholdNumbers>>,
) {
    if let (Some(given), Some(usual)) = (given.as_mut(), usual) {
        fill(&mut given.value.block_at, &usual.value.block_at);
        fill(&mut given.value.per, &usual.value.per);
        fill(&mut given.value.block, &usual.value.block);
    }
    fill(given, usual);
}
