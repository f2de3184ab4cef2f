//! The shapes: which of them is written, its numbers completed with those of its limit, and what
//! they mean. The rest of the checks hardly tells one shape from another.

use tidegate_core::{Bucket, Counts, Period, Quota, Rate, Shape, Span, Window};

use super::Check;
use crate::file::place::{FilePlace, Placed};
use crate::file::rate;
use crate::file::written::attempts::{AttemptsNumbers, ThresholdNumbers};
use crate::file::written::limit::{self as written, QuotaNumbers, WindowNumbers};
use crate::file::written::scalar::RateText;
use crate::file::wrong::Wrong;

/// The numbers of a shape as they are written, whichever shape it is.
#[derive(Clone)]
pub(super) enum Numbers {
    Bucket(written::WrittenBucket),
    Window(WindowNumbers),
    Quota(QuotaNumbers),
    Attempts(AttemptsNumbers),
}

/// The numbers that a limit, an override or an environment gives, of each shape that it names.
macro_rules! numbers_of {
    ($given:expr) => {
        [
            $given.bucket.clone().map(|at| at.map(Numbers::Bucket)),
            $given.window.clone().map(|at| at.map(Numbers::Window)),
            $given.quota.clone().map(|at| at.map(Numbers::Quota)),
            $given.attempts.clone().map(|at| at.map(Numbers::Attempts)),
        ]
        .into_iter()
        .flatten()
    };
}
pub(super) use numbers_of;

// === impl Numbers ===

impl Numbers {
    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::Bucket(_) => "bucket",
            Self::Window(_) => "window",
            Self::Quota(_) => "quota",
            Self::Attempts(_) => "attempts",
        }
    }

    /// Where the number is written that says how much fits at once.
    pub(super) fn at_capacity(&self) -> Option<FilePlace> {
        let number = match self {
            Self::Bucket(bucket) => bucket.burst.as_ref(),
            Self::Window(window) => window.count.as_ref(),
            Self::Quota(quota) => quota.count.as_ref(),
            Self::Attempts(attempts) => attempts.block_at(),
        };
        number.map(|number| number.place)
    }

    /// Whether no number is given at all.
    pub(super) fn is_blank(&self) -> bool {
        match self {
            Self::Bucket(given) => *given == written::WrittenBucket::default(),
            Self::Window(given) => *given == WindowNumbers::default(),
            Self::Quota(given) => *given == QuotaNumbers::default(),
            Self::Attempts(given) => {
                let mut windows = [&given.temp, &given.long].into_iter().flatten();
                !given.climbs() && windows.all(|at| at.value == ThresholdNumbers::default())
            }
        }
    }

    /// These numbers, completed with the usual ones of their limit; `None` if they are of different
    /// shapes. A period and its fields are taken together from one of the two, and so are the way of
    /// counting and its backoff, and the manner of blocks.
    pub(super) fn filled(self, usual: &Self) -> Option<Self> {
        Some(match (self, usual) {
            (Self::Bucket(mut given), Self::Bucket(usual)) => {
                fill(&mut given.rate, &usual.rate);
                fill(&mut given.burst, &usual.burst);
                Self::Bucket(given)
            }
            (Self::Window(mut given), Self::Window(usual)) => {
                fill(&mut given.count, &usual.count);
                fill(&mut given.per, &usual.per);
                if given.counts.is_none() {
                    fill(&mut given.backoff, &usual.backoff);
                }
                fill(&mut given.counts, &usual.counts);
                Self::Window(given)
            }
            (Self::Quota(mut given), Self::Quota(usual)) => {
                fill(&mut given.count, &usual.count);
                if given.per.is_none() {
                    fill(&mut given.zone, &usual.zone);
                    fill(&mut given.billing_day, &usual.billing_day);
                    fill(&mut given.starts, &usual.starts);
                }
                fill(&mut given.per, &usual.per);
                if given.counts.is_none() {
                    fill(&mut given.backoff, &usual.backoff);
                }
                fill(&mut given.counts, &usual.counts);
                Self::Quota(given)
            }
            (Self::Attempts(mut given), Self::Attempts(usual)) => {
                if given.has_windows() {
                    fill_threshold(&mut given.temp, &usual.temp);
                    fill_threshold(&mut given.long, &usual.long);
                } else {
                    fill(&mut given.block_at, &usual.block_at);
                    fill(&mut given.per, &usual.per);
                    fill(&mut given.ladder, &usual.ladder);
                }
                Self::Attempts(given)
            }
            _ => return None,
        })
    }
}

fn fill<T: Clone>(given: &mut Option<T>, usual: &Option<T>) {
    if given.is_none() {
        given.clone_from(usual);
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
    pub(super) fn shape(&mut self, numbers: &Placed<Numbers>, is_distinct: bool) -> Option<Shape> {
        let place = numbers.place;
        match &numbers.value {
            Numbers::Bucket(bucket) => self.bucket(bucket, place),
            Numbers::Window(window) => self.window(window, place),
            Numbers::Quota(quota) => self.quota(quota, place),
            Numbers::Attempts(attempts) => self.attempts(attempts, place, is_distinct),
        }
    }

    fn bucket(&mut self, bucket: &written::WrittenBucket, place: FilePlace) -> Option<Shape> {
        let owner = ("a bucket", place);
        let rate = self.required(bucket.rate.as_ref(), owner, "rate", "rate: 10/s");
        let burst = self.required(bucket.burst.as_ref(), owner, "burst", "burst: 20");
        let rate = rate.and_then(|rate| self.rate(rate));
        let number = burst.and_then(|burst| self.number(burst, "burst"))?;
        // Without a rate, the burst is still checked.
        let usual = Rate::per_second(1).ok()?;
        let made = Bucket::try_new(rate.unwrap_or(usual), number);
        let bucket = self.right(burst?.place, made)?;
        rate.map(|_| Shape::Bucket(bucket))
    }

    fn rate(&mut self, rate: &Placed<RateText>) -> Option<Rate> {
        let text = &rate.value.0;
        let parsed = rate::parse(text).map_err(|advice| Wrong::bad_rate(text, &advice));
        let (tokens, per) = self.right(rate.place, parsed)?;
        self.right(rate.place, Rate::try_new(tokens, per))
    }

    fn window(&mut self, window: &WindowNumbers, place: FilePlace) -> Option<Shape> {
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

    fn quota(&mut self, quota: &QuotaNumbers, place: FilePlace) -> Option<Shape> {
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
}
