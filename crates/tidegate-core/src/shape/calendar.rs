//! Calendar periods: which hour, day, week or billing month an instant belongs to, in a time zone.
//!
//! "1000 per day" means the customer's day, and that day has 23 hours when clocks go forward.
//! Dividing the time by 86 400 s would be simpler and wrong twice a year, and a store cannot do
//! better: neither Lua nor SQL has everyone's time zones. So the engine computes the boundaries
//! here and sends them, and the store only compares. The rules come from
//! the database compiled into the binary, never from the machine's zone files: the same inputs
//! give the same periods on every node of a fleet.
//!
//! The rules:
//!
//! * Periods are half-open, and tile time without gap or overlap.
//! * A day starts at the first instant at which the local clock has reached its midnight. If clocks
//!   jump over midnight, that is the instant of the jump; if midnight comes twice, the first one
//!   counts and what follows belongs to the new day. A date the zone skips altogether
//!   (`Pacific/Apia`, 2011-12-30) is no period. Weeks start with their Monday, months with their
//!   anchor day, or with their last day if they lack it.
//! * An hour lasts 60 minutes and then ends as soon as the local clock shows a full hour. So a
//!   repeated hour is a period of its own, and hours of `Asia/Kathmandu` start at :15 UTC. Only a
//!   shift by part of an hour makes one longer, never shorter: when `Australia/Lord_Howe` moves its
//!   clocks by 30 minutes, the hour around it has 90. A change of clocks hands out no extra quota.

use core::fmt;
use core::iter;
use std::sync::Arc;

use arc_swap::ArcSwap;
use jiff::civil::{Date, Time};
use jiff::tz::{AmbiguousOffset, Offset, TimeZone, TimeZoneDatabase};

use crate::named::names;
use crate::text::nearest;
use crate::time::{Span, Timestamp};

/// Seconds in an hour. All boundaries are whole seconds, because offsets and changes of clocks are.
const HOUR: i64 = 3_600;

/// How many seconds before an instant the count of hours begins. The two hours that must be found last
/// at most 120 minutes each, and after a change of clocks the count is right within two more hours.
const LOOK_BACK: i64 = 6 * HOUR;

/// The most period starts examined to find four in a row around an instant. Hours need ten; days, weeks
/// and months need seven, with a date that is skipped and one that starts early by a fold.
const MAX_STARTS: usize = 12;

/// The length of a calendar period for probes, in seconds. The clocks of a node and its store may
/// differ by a little more than this before the store has to ask for other periods.
const BRIEF: i64 = 3;

/// The length of one calendar period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// From one full hour of the local clock to the next.
    Hour,
    /// From midnight to midnight.
    Day,
    /// From Monday to Monday (ISO 8601).
    Week,
    /// From the anchor day of one month to that of the next.
    Month,
}

/// The calendar a quota follows: a unit, in a time zone, and the day its months start on.
///
/// It remembers the periods it was last asked to [`refresh`](Self::refresh). The store picks the
/// period by its own time, which the engine does not know beforehand; so the engine sends what is
/// remembered, and when the store says that its time lies outside, the engine refreshes with the
/// time it was told and sends again. That happens once per period: every other decision reads
/// four integers, without a lock, an allocation or a look at the time zone.
pub struct Calendar {
    unit: Unit,
    /// The zone's name as the database spells it, so that equal zones have equal names.
    name: Box<str>,
    /// The time zone that `name` stands for.
    zone: TimeZone,
    /// The day on which months start, 1..=31; 1 unless the unit is a month.
    anchor_day: u8,
    /// Whether periods last [`BRIEF`] seconds instead of a unit, for probes.
    brief: bool,
    /// The periods last refreshed to. This is a cache: two calendars are equal whatever it holds.
    memo: ArcSwap<Periods>,
}

/// Three periods in a row: the previous, the current and the next one.
///
/// There is one to each side because the store that picks among them may be a little behind the engine
/// or ahead of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Periods {
    /// The starts of the three periods, and of the one after them. They increase strictly, except where
    /// the range of [`Timestamp`] ends: starts outside it are moved to its edge.
    bounds: [Timestamp; 4],
}

/// Why a calendar could not be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CalendarError {
    /// The database has no zone of this name.
    #[error("there is no time zone {zone:?}; {}", advice(.suggestion.as_deref()))]
    UnknownZone {
        /// The name that was given.
        zone: String,
        /// A known zone name that resembles the one given.
        suggestion: Option<String>,
    },
    /// No month has this day.
    #[error("no month has a day {0}; give an anchor day from 1 to 31")]
    AnchorDayOutOfRange(u8),
    /// An anchor day was given, but the unit is not a month.
    #[error("only months start on an anchor day; leave it out, or count per month")]
    AnchorDayWithoutMonth,
}

// === impl Unit ===

names!(Unit { Hour: "hour", Day: "day", Week: "week", Month: "month" });

impl Unit {
    /// The longest that a period of this unit lasts, give or take an hour: a month is 31 days.
    #[must_use]
    pub const fn longest(self) -> Span {
        let days = match self {
            Self::Hour => return Span::HOUR,
            Self::Day => 1,
            Self::Week => 7,
            Self::Month => 31,
        };
        Span::from_secs(days * 86_400)
    }
}

// === impl Calendar ===

impl Calendar {
    /// The calendar of `unit` in the time zone named `zone`.
    ///
    /// `anchor_day` is the day on which months start, 1 unless given; a month that lacks it starts
    /// on its last day. Zone names are those of the IANA database, and their case matters: nodes
    /// that spell a zone differently would not agree that they have the same policy.
    ///
    /// # Errors
    ///
    /// If there is no such zone, no such day, or an anchor day for a unit that has none.
    pub fn try_new(unit: Unit, zone: &str, anchor_day: Option<u8>) -> Result<Self, CalendarError> {
        let anchor_day = match (unit, anchor_day) {
            (Unit::Month, Some(day @ 1..=31)) => day,
            (Unit::Month, Some(day)) => return Err(CalendarError::AnchorDayOutOfRange(day)),
            (_, Some(_)) => return Err(CalendarError::AnchorDayWithoutMonth),
            (_, None) => 1,
        };
        let name = Box::from(zone);
        let zone = find_zone(zone)?;
        let memo = ArcSwap::from_pointee(Periods { bounds: [Timestamp::ZERO; 4] });
        let calendar = Self { unit, name, zone, anchor_day, brief: false, memo };
        calendar.refresh(Timestamp::ZERO);
        Ok(calendar)
    }

    /// The unit of the calendar: how long one period is.
    #[must_use]
    pub const fn unit(&self) -> Unit {
        self.unit
    }

    /// The name of the time zone.
    #[must_use]
    pub const fn zone(&self) -> &str {
        &self.name
    }

    /// The day on which months start; 1 for the other units.
    #[must_use]
    pub const fn anchor_day(&self) -> u8 {
        self.anchor_day
    }

    /// The periods remembered by the last refresh; at first those around [`Timestamp::ZERO`].
    #[must_use]
    pub fn periods(&self) -> Periods {
        **self.memo.load()
    }

    /// Remembers the periods around `now`.
    ///
    /// Going back is allowed, and refreshing to the periods that are remembered already costs no write.
    /// Of several refreshes at once, one wins: each of them follows a refusal by a store, and a store
    /// whose time is still not covered refuses again.
    pub fn refresh(&self, now: Timestamp) {
        let [_, start, end, _] = self.periods().bounds();
        if now < start || now >= end {
            self.memo.store(Arc::new(self.around(now)));
        }
    }

    /// The period that contains `now`, the one before and the one after.
    #[must_use]
    pub fn around(&self, now: Timestamp) -> Periods {
        if self.brief {
            return Periods::brief(now);
        }
        let now = second_of(now);
        let starts = match self.unit {
            Unit::Hour => {
                let first = self.full_hour_from(now - LOOK_BACK);
                let next = |start: &i64| Some(self.full_hour_from(start + HOUR));
                surround(now, iter::successors(Some(first), next))
            }
            Unit::Day | Unit::Week | Unit::Month => {
                let first = self.stepped(self.opening(now), -2);
                let dates = iter::successors(Some(first), |date| Some(self.stepped(*date, 1)));
                surround(now, dates.map(|date| self.first_instant(date)))
            }
        };
        Periods { bounds: starts.map(timestamp_of) }
    }

    /// The end of the period that contains `at`. If that period was not remembered, it is from now on.
    pub(super) fn end_of(&self, at: Timestamp) -> Timestamp {
        let end = |periods: &Periods| periods.containing(at).map(|(_, end)| end);
        end(&self.periods()).unwrap_or_else(|| {
            self.refresh(at);
            end(&self.around(at)).unwrap_or(at)
        })
    }

    /// A copy of this calendar for [probes](crate::Trial): its periods are a few seconds long, around
    /// the time it was last refreshed to.
    pub(super) fn brief(&self, now: Timestamp) -> Self {
        let memo = ArcSwap::from_pointee(Periods::brief(now));
        Self { brief: true, memo, ..self.clone() }
    }

    /// The first full hour at or after `second`, on a clock that keeps the offset of that second.
    fn full_hour_from(&self, second: i64) -> i64 {
        let offset = i64::from(self.zone.to_offset(instant_of(second)).seconds());
        second + (-(second + offset)).rem_euclid(HOUR)
    }

    /// The date that opens the period which contains the local date at `second`.
    fn opening(&self, second: i64) -> Date {
        let date = self.zone.to_datetime(instant_of(second)).date();
        match self.unit {
            Unit::Hour | Unit::Day => date,
            Unit::Week => days_after(date, -i64::from(date.weekday().to_monday_zero_offset())),
            Unit::Month => {
                let opening = self.anchored(date);
                if opening <= date { opening } else { self.stepped(opening, -1) }
            }
        }
    }

    /// The date that opens the period `count` periods after the one that `opening` opens.
    fn stepped(&self, opening: Date, count: i64) -> Date {
        match self.unit {
            Unit::Hour | Unit::Day => days_after(opening, count),
            Unit::Week => days_after(opening, 7 * count),
            Unit::Month => {
                let months = jiff::Span::new().months(count);
                self.anchored(opening.first_of_month().saturating_add(months))
            }
        }
    }

    /// The anchor day in the month of `date`, or its last day if the month is too short.
    fn anchored(&self, date: Date) -> Date {
        let day = i64::from(self.anchor_day).min(i64::from(date.days_in_month()));
        days_after(date.first_of_month(), day - 1)
    }

    /// The first instant at which the local clock has reached the midnight that begins `date`.
    fn first_instant(&self, date: Date) -> i64 {
        let midnight = date.to_datetime(Time::midnight());
        // Always in range, for the reason given at `instant_of`.
        let as_utc = Offset::UTC.to_timestamp(midnight).map_or(0, jiff::Timestamp::as_second);
        let with = |offset: Offset| as_utc - i64::from(offset.seconds());
        match self.zone.to_ambiguous_timestamp(midnight).offset() {
            AmbiguousOffset::Unambiguous { offset } => with(offset),
            AmbiguousOffset::Fold { before, .. } => with(before),
            // Midnight was skipped, so it has two readings, and the jump lies between them. Mostly it
            // is at the later one, but a jump from 23:30 to 00:30 comes before it.
            AmbiguousOffset::Gap { before, after } => self
                .zone
                .following(instant_of(with(after)))
                .take_while(|jump| jump.timestamp().as_second() <= with(before))
                .find(|jump| jump.offset() == after)
                .map_or(with(before), |jump| jump.timestamp().as_second()),
        }
    }

    /// The configured values as text. No two different calendars have the same text.
    pub(super) fn text(&self) -> String {
        format!("{} {} {}", self.unit.name(), self.name, self.anchor_day)
    }
}

impl Clone for Calendar {
    /// A separate calendar, which starts with the periods remembered here.
    fn clone(&self) -> Self {
        Self {
            unit: self.unit,
            name: self.name.clone(),
            zone: self.zone.clone(),
            anchor_day: self.anchor_day,
            brief: self.brief,
            memo: ArcSwap::from_pointee(self.periods()),
        }
    }
}

impl fmt::Debug for Calendar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Calendar")
            .field("unit", &self.unit)
            .field("zone", &self.name)
            .field("anchor_day", &self.anchor_day)
            .finish_non_exhaustive()
    }
}

impl PartialEq for Calendar {
    /// Compares the configured values; the zone follows from its name, and the memo is a cache.
    fn eq(&self, other: &Self) -> bool {
        (self.unit, &self.name, self.anchor_day) == (other.unit, &other.name, other.anchor_day)
    }
}

impl Eq for Calendar {}

// === impl Periods ===

impl Periods {
    /// Three periods of [`BRIEF`] seconds, of which the second contains `now`. They begin with whole
    /// seconds, as all calendar periods do.
    fn brief(now: Timestamp) -> Self {
        let first = second_of(now) - 1 - BRIEF;
        Self { bounds: [0, 1, 2, 3].map(|place| timestamp_of(first + place * BRIEF)) }
    }

    /// The starts of the previous, the current and the next period, and of the one after that.
    #[must_use]
    pub const fn bounds(&self) -> [Timestamp; 4] {
        self.bounds
    }

    /// Start and end of the period that contains `now`, if it is one of the three.
    ///
    /// The end is the first instant that does not belong to it; only the last instant of all,
    /// [`Timestamp::MAX`], has nothing after it and belongs to the period that ends there.
    #[must_use]
    pub fn containing(&self, now: Timestamp) -> Option<(Timestamp, Timestamp)> {
        let [previous, current, next, after] = self.bounds;
        [(previous, current), (current, next), (next, after)].into_iter().find(|(start, end)| {
            *start <= now && (now < *end || (now == *end && now == Timestamp::MAX))
        })
    }
}

/// The advice about an unknown zone: the suggested name, or where to find names.
fn advice(suggestion: Option<&str>) -> String {
    match suggestion {
        Some(name) => format!("did you mean {name:?}?"),
        None => "use a name of the IANA database, like \"Europe/Berlin\" or \"UTC\"".to_owned(),
    }
}

/// Four period starts in a row, of which the second is the last one at or before `now`.
///
/// A start that does not come after the one before it belongs to a date that was skipped.
fn surround(now: i64, starts: impl Iterator<Item = i64>) -> [i64; 4] {
    let mut found = [i64::MIN; 4];
    for start in starts.take(MAX_STARTS) {
        let [_, second, third, fourth] = found;
        if start > fourth {
            found = [second, third, fourth, start];
        }
        if found[2] > now {
            break;
        }
    }
    found
}

/// The date `count` days after `date`.
fn days_after(date: Date, count: i64) -> Date {
    date.saturating_add(jiff::Span::new().days(count))
}

/// The second in which an instant lies. It decides the period, since starts are whole seconds.
fn second_of(now: Timestamp) -> i64 {
    i64::try_from(now.as_micros() / 1_000_000).unwrap_or(i64::MAX)
}

/// The start of a second, at least [`Timestamp::ZERO`] and at most [`Timestamp::MAX`].
fn timestamp_of(second: i64) -> Timestamp {
    Timestamp::from_micros(u64::try_from(second).unwrap_or(0).saturating_mul(1_000_000))
}

/// A second as the type that the time zone library wants. Its range reaches to the year 9999 and ours
/// to 2255, so no second is out of range.
fn instant_of(second: i64) -> jiff::Timestamp {
    jiff::Timestamp::from_second(second).unwrap_or(jiff::Timestamp::UNIX_EPOCH)
}

/// The zone of exactly this name, from the database in the binary.
fn find_zone(name: &str) -> Result<TimeZone, CalendarError> {
    let database = TimeZoneDatabase::bundled();
    match database.get(name) {
        Ok(zone) if zone.iana_name() == Some(name) && !zone.is_unknown() => Ok(zone),
        _ => {
            let suggestion = similar_zone(&database, name);
            Err(CalendarError::UnknownZone { zone: name.to_owned(), suggestion })
        }
    }
}

/// The zone that was most likely meant: that of the city called `name`, or else the nearest name.
fn similar_zone(database: &TimeZoneDatabase, name: &str) -> Option<String> {
    let zones: Vec<String> = database.available().map(|zone| zone.as_str().to_owned()).collect();
    let zones = || zones.iter().map(String::as_str);
    let is_city =
        |zone: &&str| zone.rsplit('/').next().is_some_and(|it| it.eq_ignore_ascii_case(name));
    // `UTC` is a place of its own, and one within `Etc`.
    let city = zones().filter(is_city).min_by_key(|zone| zone.len());
    city.or_else(|| nearest(name, zones())).map(str::to_owned)
}

#[cfg(test)]
mod tests;
