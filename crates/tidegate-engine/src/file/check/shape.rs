//! The shapes: which of them is written, its numbers completed with those of its limit, and what
//! they mean. The rest of the checks hardly tells one shape from another.

use tidegate_core::{Bucket, Counts, Period, Quota, Rate, Shape, ShapeError, Span, Window};

use super::Check;
use crate::file::place::{Place, Placed};
use crate::file::units;
use crate::file::written::attempts::{AttemptsNumbers, ThresholdNumbers};
use crate::file::written::limit::{
    self as written, Elsewhere, Limit, Override, Partly, QuotaNumbers, WindowNumbers,
};
use crate::file::written::scalar::RateText;
use crate::file::wrong::Wrong;
use crate::file::yaml::short;

/// The numbers of a shape as they are written, whichever shape it is.
#[derive(Clone, Copy)]
pub(super) enum Numbers<'w> {
    Bucket(&'w Placed<written::Bucket>),
    Window(&'w Placed<WindowNumbers>),
    Quota(&'w Placed<QuotaNumbers>),
    Attempts(&'w Placed<AttemptsNumbers>),
}

/// Some numbers as they are given, perhaps of several shapes or of none.
pub(super) struct Given {
    bucket: Option<Placed<written::Bucket>>,
    window: Option<Placed<WindowNumbers>>,
    quota: Option<Placed<QuotaNumbers>>,
    attempts: Option<Placed<AttemptsNumbers>>,
}

/// The numbers of an override or an environment, completed with those of its limit.
pub(super) enum Filled {
    Bucket(Placed<written::Bucket>),
    Window(Placed<WindowNumbers>),
    Quota(Placed<QuotaNumbers>),
    Attempts(Placed<AttemptsNumbers>),
}

// === impl Numbers ===

impl<'w> Numbers<'w> {
    /// The numbers that a limit gives: those of one shape, if it is in order.
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

    /// Where the number is written that says how much fits at once.
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

/// The given numbers, completed with the usual ones of their limit; `None` if they are of different
/// shapes. A period and its fields are taken together from one of the two, and so are the way of
/// counting and its backoff, and the manner of blocks.
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

// === impl Check ===

impl Check {
    /// The shape of these numbers; whether distinct values are counted matters for attempts only.
    pub(super) fn shape(&mut self, numbers: Numbers<'_>, is_distinct: bool) -> Option<Shape> {
        match numbers {
            Numbers::Bucket(bucket) => self.bucket(&bucket.value, bucket.place),
            Numbers::Window(window) => self.window(&window.value, window.place),
            Numbers::Quota(quota) => self.quota(&quota.value, quota.place),
            Numbers::Attempts(attempts) => self.attempts(attempts, is_distinct),
        }
    }

    fn bucket(&mut self, bucket: &written::Bucket, place: Place) -> Option<Shape> {
        let owner = ("a bucket", place);
        let rate = self.required(bucket.rate.as_ref(), owner, "rate", "rate: 10/s");
        let burst = self.required(bucket.burst.as_ref(), owner, "burst", "burst: 20");
        let rate = rate.and_then(|rate| self.rate(rate));
        let number = burst.and_then(|burst| self.number(burst, "burst"))?;
        // Without a rate, the burst is still checked.
        let usual = Rate::per_second(1).ok()?;
        match Bucket::try_new(rate.unwrap_or(usual), number) {
            Ok(bucket) => rate.map(|_| Shape::Bucket(bucket)),
            Err(error) => {
                self.say(burst?.place, error);
                None
            }
        }
    }

    fn rate(&mut self, rate: &Placed<RateText>) -> Option<Rate> {
        let text = &rate.value.0;
        let (tokens, per) = match units::rate(text) {
            Ok(rate) => rate,
            Err(advice) => {
                self.say(rate.place, Wrong::BadRate { text: short(text), advice });
                return None;
            }
        };
        self.right(rate.place, Rate::try_new(tokens, per))
    }

    fn window(&mut self, window: &WindowNumbers, place: Place) -> Option<Shape> {
        let owner = ("a window", place);
        let count = self.required(window.count.as_ref(), owner, "count", "count: 100");
        let per = self.required(window.per.as_ref(), owner, "per", "per: 10min");
        let counts = self.counts(window.counts.as_ref(), window.backoff.as_ref());
        // Each number is tried alone first, so that a wrong one does not hide the other.
        let count = count.and_then(|at| {
            let count = self.number(at, "count")?;
            self.right(at.place, Window::try_new(count, Span::SECOND, Counts::Admitted))
        });
        let per = per.and_then(|at| {
            let per = self.duration(at)?;
            self.right(at.place, Window::try_new(1, per, Counts::Admitted))
        });
        let window = Window::try_new(count?.count(), per?.per(), counts?);
        self.right(place, window).map(Shape::Window)
    }

    fn quota(&mut self, quota: &QuotaNumbers, place: Place) -> Option<Shape> {
        let owner = ("a quota", place);
        let count = self.required(quota.count.as_ref(), owner, "count", "count: 1000");
        let per = self.required(quota.per.as_ref(), owner, "per", "per: day");
        let counts = self.counts(quota.counts.as_ref(), quota.backoff.as_ref());
        let count = count.and_then(|at| {
            let count = self.number(at, "count")?;
            let usual = Period::Fixed(Span::SECOND);
            self.right(at.place, Quota::try_new(count, usual, Counts::Admitted))
        });
        let period = per.and_then(|at| {
            let period = self.period(quota, &at.value.0, at.place)?;
            self.right(at.place, Quota::try_new(1, period, Counts::Admitted))
        });
        let quota = Quota::try_new(count?.count(), period?.period().clone(), counts?);
        self.right(place, quota).map(Shape::Quota)
    }

    /// The result, or `None` after its error has been reported.
    fn right<T>(&mut self, place: Place, made: Result<T, ShapeError>) -> Option<T> {
        made.map_err(|error| self.say(place, error)).ok()
    }
}
