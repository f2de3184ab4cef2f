//! Buckets, windows and quotas: numbers that make a shape.

use tidegate_core::{
    Backoff, Bucket, Calendar, CalendarError, Counts, Period, Quota, Rate, Shape, ShapeError, Span,
    Unit, Window,
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
        let checked = rate.and_then(|rate| self.rate(rate));
        let burst = burst.and_then(|burst| Some((self.number(burst, "burst")?, burst.place)));
        let (burst, at_burst) = burst?;
        match Bucket::try_new(checked?, burst) {
            Ok(bucket) => Some(Shape::Bucket(bucket)),
            Err(error) => {
                self.say(at_burst, error);
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
        match Rate::try_new(tokens, per) {
            Ok(rate) => Some(rate),
            Err(error) => {
                self.say(rate.place, error);
                None
            }
        }
    }

    pub(super) fn window(&mut self, window: &WindowNumbers, place: Place) -> Option<Shape> {
        let WindowNumbers { count, per, counts, backoff } = window;
        let owner = ("a window", place);
        let count = self.required(count.as_ref(), owner, "count", "count: 100");
        let per = self.required(per.as_ref(), owner, "per", "per: 10min");
        let checked_count = count.and_then(|count| self.number(count, "count"));
        let checked_per = per.and_then(|per| self.duration(per));
        let counts = self.counts(counts.as_ref(), backoff.as_ref());
        let (count, per) = (count?.place, per?.place);
        match Window::try_new(checked_count?, checked_per?, counts?) {
            Ok(window) => Some(Shape::Window(window)),
            Err(error) => {
                self.say(if is_of_count(error) { count } else { per }, error);
                None
            }
        }
    }

    pub(super) fn quota(&mut self, quota: &QuotaNumbers, place: Place) -> Option<Shape> {
        let owner = ("a quota", place);
        let count = self.required(quota.count.as_ref(), owner, "count", "count: 1000");
        let per = self.required(quota.per.as_ref(), owner, "per", "per: day");
        let checked_count = count.and_then(|count| self.number(count, "count"));
        let period = per.and_then(|per| self.period(quota, &per.value.0, per.place));
        let counts = self.counts(quota.counts.as_ref(), quota.backoff.as_ref());
        let (count, per) = (count?.place, per?.place);
        match Quota::try_new(checked_count?, period?, counts?) {
            Ok(quota) => Some(Shape::Quota(quota)),
            Err(error) => {
                self.say(if is_of_count(error) { count } else { per }, error);
                None
            }
        }
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
            let (zone, day) = (quota.zone.as_ref(), quota.billing_day.as_ref());
            goes_with("zone", "a calendar", zone.map(|zone| zone.place));
            goes_with("billing_day", "a month", day.map(|day| day.place));
        }
        for (field, with, place) in &misplaced {
            self.say(*place, Wrong::OtherPeriod { field, with, period: short(per) });
        }
        match unit {
            Some(unit) => self.calendar(quota, unit, place),
            None => {
                let length = self.duration_text(per, place);
                let starts = self.word_or(quota.starts.as_ref(), Starts::Epoch);
                match (starts?, length?) {
                    _ if !misplaced.is_empty() => None,
                    (Starts::Epoch, length) => Some(Period::Fixed(length)),
                    (Starts::FirstUse, length) => Some(Period::FirstUse(length)),
                }
            }
        }
    }

    fn calendar(&mut self, quota: &QuotaNumbers, unit: Unit, place: Place) -> Option<Period> {
        let zone = quota.zone.as_ref();
        let day = match &quota.billing_day {
            Some(day) => Some(u8::try_from(self.number(day, "billing_day")?).unwrap_or(u8::MAX)),
            None => None,
        };
        let name = zone.map_or("UTC", |zone| zone.value.as_str());
        if !self.fits(name, zone.map_or(place, |zone| zone.place)) {
            return None;
        }
        match Calendar::try_new(unit, name, day) {
            Ok(calendar) => Some(Period::Calendar(calendar)),
            Err(error) => {
                let at = match error {
                    CalendarError::UnknownZone { .. } => zone.map(|zone| zone.place),
                    _ => quota.billing_day.as_ref().map(|day| day.place),
                };
                self.say(at.unwrap_or(place), error);
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

const fn is_of_count(error: ShapeError) -> bool {
    match error {
        ShapeError::ZeroCount => true,
        ShapeError::OutOfRange { what, .. } => matches!(what.as_bytes(), b"count"),
        _ => false,
    }
}
