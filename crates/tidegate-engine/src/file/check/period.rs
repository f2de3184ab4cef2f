//! The period of a quota: a calendar's or a fixed one, each with the fields that go with it.

use tidegate_core::{Calendar, Period, Unit};

use super::Check;
use crate::file::place::Place;
use crate::file::written::limit::QuotaNumbers;
use crate::file::written::word::Starts;
use crate::file::wrong::Wrong;
use crate::file::yaml::short;

/// The units of a calendar that a period can have.
const CALENDAR: [Unit; 4] = [Unit::Hour, Unit::Day, Unit::Week, Unit::Month];

impl Check {
    /// The period of a quota: a calendar's or a fixed one, each with the fields that go with it.
    pub(super) fn period(
        &mut self,
        quota: &QuotaNumbers,
        per: &str,
        place: Place,
    ) -> Option<Period> {
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
                // A billing day that was refused must not pass for one that was not given.
                (day.is_some() == number.is_some()).then_some(Period::Calendar(calendar))
            }
            Err(error) => {
                self.say(place, error);
                None
            }
        }
    }
}
