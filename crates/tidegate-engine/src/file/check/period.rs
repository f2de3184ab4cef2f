//! The period of a quota: a calendar's or a fixed one, each with the fields that go with it.

use tidegate_core::{Calendar, Period, Unit};

use super::Check;
use crate::file::place::FilePlace;
use crate::file::written::limit::QuotaNumbers;
use crate::file::written::word::Starts;
use crate::file::wrong::Wrong;

/// The units of a calendar that a period can have.
const CALENDAR: [Unit; 4] = [Unit::Hour, Unit::Day, Unit::Week, Unit::Month];

impl Check {
    /// The period of a quota: a calendar's or a fixed one, each with the fields that go with it.
    pub(super) fn period(
        &mut self,
        quota: &QuotaNumbers,
        per: &str,
        place: FilePlace,
    ) -> Option<Period> {
        let unit = CALENDAR.into_iter().find(|unit| unit.name() == per);
        let mut misplaced = Vec::new();
        let mut goes_with = |field, with, place: Option<FilePlace>| {
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
            self.say(*place, Wrong::other_period(field, with, per));
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

    fn calendar(&mut self, quota: &QuotaNumbers, unit: Unit, place: FilePlace) -> Option<Period> {
        let day = quota.billing_day.as_ref().filter(|_| unit == Unit::Month);
        let day = day.map(|day| match self.number(day, "billing_day")? {
            number @ 1..=31 => u8::try_from(number).ok(),
            _ => self.refuse(day.place, Wrong::bad_billing_day()),
        });
        let zone = quota.zone.as_ref();
        let name = zone.map_or("UTC", |zone| zone.value.as_str());
        let place = zone.map_or(place, |zone| zone.place);
        if !self.fits(name, place) {
            return None;
        }
        let calendar = self.right(place, Calendar::try_new(unit, name, day.flatten()))?;
        // A billing day that was refused must not pass for one that was not given.
        (day != Some(None)).then_some(Period::Calendar(calendar))
    }
}
