//! Buckets, windows and quotas: numbers that make a shape.

use tidegate_core::{
    Backoff, Bucket, Calendar, Counts, Period, Quota, Rate, Shape, ShapeError, Span, Unit, Window,
};

use super::Check;
use crate::file::place::{Place, Placed};
use crate::file::units;
use crate::file::written::limit::{self as written, QuotaNumbers, WindowNumbers};
use crate::file::written::scalar::RateText;
use crate::file::written::word::{Counted, Starts, Word};
use crate::file::wrong::Wrong;
use crate::file::yaml::short;

/// The units of a calendar, by their names.
const CALENDAR: [Unit; 4] = [Unit::Hour, Unit::Day, Unit::Week, Unit::Month];

impl Check {
    pub(super) fn bucket(&mut self, bucket: &written::Bucket, place: Place) -> Option<Shape> {
        let owner = ("a bucket", place);
        let rate = self.required(bucket.rate.as_ref(), owner, "rate", "rate: 10/s");
        let burst = self.required(bucket.burst.as_ref(), owner, "burst", "burst: 20");
        let rate = rate.and_then(|rate| self.rate(rate));
        let number = burst.and_then(|burst| self.number(burst, "burst"))?;
        // Without a rate, the burst is still looked at.
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

    pub(super) fn window(&mut self, window: &WindowNumbers, place: Place) -> Option<Shape> {
        let owner = ("a window", place);
        let count = self.required(window.count.as_ref(), owner, "count", "count: 100");
        let per = self.required(window.per.as_ref(), owner, "per", "per: 10min");
        let counts = self.counts(window.counts.as_ref(), window.backoff.as_ref());
        // Each number is tried alone first, so that one that is wrong does not hide the other.
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

    pub(super) fn quota(&mut self, quota: &QuotaNumbers, place: Place) -> Option<Shape> {
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

    /// What was made, or none and why.
    fn right<T>(&mut self, place: Place, made: Result<T, ShapeError>) -> Option<T> {
        made.map_err(|error| self.say(place, error)).ok()
    }

    /// A calendar's period or a fixed one, each with the fields that go with it.
    fn period(&mut self, quota: &QuotaNumbers, per: &str, place: Place) -> Option<Period> {
        let unit = CALENDAR.into_iter().find(|unit| unit.name() == per);
        let mut misplaced = Vec::new();
        let mut goes_with = |field, with, place: Option<Place>| {
            misplaced.extend(place.map(|place| (field, with, place)));
        };
        if unit.is_some() {
            goes_with("starts", "a duration", quota.starts.as_ref().map(|starts| starts.place));
        } else {
            goes_with("zone", "a calendar", quota.zone.as_ref().map(|zone| zone.place));
        }
        if unit != Some(Unit::Month) {
            goes_with("billing_day", "months", quota.billing_day.as_ref().map(|day| day.place));
        }
        for (field, with, place) in &misplaced {
            self.say(*place, Wrong::OtherPeriod { field, with, period: short(per) });
        }
        let period = match unit {
            Some(unit) => self.calendar(quota, unit, place),
            None => {
                let length = self.duration_text(per, place);
                let starts = self.word_or(quota.starts.as_ref(), Starts::Epoch);
                length.zip(starts).map(|(length, starts)| match starts {
                    Starts::Epoch => Period::Fixed(length),
                    Starts::FirstUse => Period::FirstUse(length),
                })
            }
        };
        period.filter(|_| misplaced.is_empty())
    }

    fn calendar(&mut self, quota: &QuotaNumbers, unit: Unit, place: Place) -> Option<Period> {
        let day = quota.billing_day.as_ref().filter(|_| unit == Unit::Month);
        let number = day.map(|day| (self.number(day, "billing_day"), day.place));
        let day = match number {
            None => None,
            Some((Some(number @ 1..=31), _)) => u8::try_from(number).ok(),
            Some((number, place)) => {
                if number.is_some() {
                    self.say(place, Wrong::BadBillingDay);
                }
                None
            }
        };
        let zone = quota.zone.as_ref();
        let name = zone.map_or("UTC", |zone| zone.value.as_str());
        let place = zone.map_or(place, |zone| zone.place);
        if !self.fits(name, place) {
            return None;
        }
        match Calendar::try_new(unit, name, day) {
            Ok(calendar) => {
                // A day that was refused is not to be taken for none.
                (day.is_some() == number.is_some()).then_some(Period::Calendar(calendar))
            }
            Err(error) => {
                self.say(place, error);
                None
            }
        }
    }

    fn counts(
        &mut self,
        counts: Option<&Placed<Word<Counted>>>,
        backoff: Option<&Placed<written::Backoff>>,
    ) -> Option<Counts> {
        let counted = self.word_or(counts, Counted::Admitted);
        let Some(backoff) = backoff else {
            return Some(match counted? {
                Counted::Admitted => Counts::Admitted,
                Counted::Attempts => Counts::Attempts(None),
            });
        };
        let checked = self.backoff(&backoff.value, backoff.place);
        match counted? {
            Counted::Attempts => Some(Counts::Attempts(Some(checked?))),
            Counted::Admitted => {
                self.say(backoff.place, Wrong::BackoffWithoutAttempts);
                None
            }
        }
    }

    fn backoff(&mut self, backoff: &written::Backoff, place: Place) -> Option<Backoff> {
        let owner = ("a backoff", place);
        let at_base = self.required(backoff.base.as_ref(), owner, "base", "base: 1s");
        let at_cap = self.required(backoff.cap.as_ref(), owner, "cap", "cap: 5min");
        let base = at_base.and_then(|base| self.duration(base));
        let cap = at_cap.and_then(|cap| self.duration(cap));
        let factor = match &backoff.factor {
            Some(factor) => self.number(factor, "factor")?,
            None => 2,
        };
        let (base, cap): (Span, Span) = (base?, cap?);
        let wrong = if base.is_zero() {
            Some((at_base?.place, "of 0 asks for no delay"))
        } else if cap < base {
            Some((at_cap?.place, "cannot be capped below its base"))
        } else if factor == 0 {
            Some((backoff.factor.as_ref()?.place, "with a factor of 0 asks for no delay"))
        } else {
            None
        };
        if let Some((place, why)) = wrong {
            self.say(place, Wrong::BadBackoff { why });
            return None;
        }
        Some(Backoff::exponential(base, u32::try_from(factor).unwrap_or(u32::MAX), cap))
    }
}
