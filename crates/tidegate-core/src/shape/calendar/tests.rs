//! Periods follow their zone, and tile time.

mod all_zones;

use super::*;
use crate::time::Span;

const UNITS: [Unit; 4] = [Unit::Hour, Unit::Day, Unit::Week, Unit::Month];

/// Zones with every oddity: part-hour offsets and shifts, changes at and around midnight, skipped
/// dates, summer time in the south, in winter and by the Ramadan.
const ZONES: [&str; 18] = [
    "UTC",
    "Europe/Berlin",
    "Europe/Dublin",
    "America/New_York",
    "America/Sao_Paulo",
    "America/St_Johns",
    "America/Caracas",
    "America/Scoresbysund",
    "America/Nuuk",
    "Africa/Cairo",
    "Africa/Casablanca",
    "Asia/Beirut",
    "Asia/Kathmandu",
    "Asia/Pyongyang",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "Pacific/Chatham",
    "Pacific/Kiritimati",
];

const MICRO: u64 = 1;
const MINUTE: i64 = 60;

fn calendar(unit: Unit, zone: &str) -> Calendar {
    Calendar::try_new(unit, zone, None).unwrap()
}

fn months(zone: &str, anchor_day: u8) -> Calendar {
    Calendar::try_new(Unit::Month, zone, Some(anchor_day)).unwrap()
}

fn at(text: &str) -> Timestamp {
    timestamp_of(text.parse::<jiff::Timestamp>().unwrap().as_second())
}

fn before(now: Timestamp) -> Timestamp {
    Timestamp::from_micros(now.as_micros() - MICRO)
}

/// Four starts in a row, the second of which opens the period that `now` and all instants to the
/// third belong to.
#[track_caller]
fn check(calendar: &Calendar, now: &str, starts: [&str; 4]) {
    let bounds = starts.map(at);
    let show = |periods: Periods| periods.bounds().map(|at| instant_of(second_of(at)).to_string());
    for now in [at(now), bounds[1], before(bounds[2])] {
        let found = calendar.around(now);
        assert_eq!(show(found), show(Periods { bounds }), "{calendar:?} at {now:?}");
        assert_eq!(found.containing(now), Some((bounds[1], bounds[2])));
    }
}

#[test]
fn quota_day_is_23_hours_long_when_clocks_go_forward() {
    check(
        &calendar(Unit::Day, "Europe/Berlin"),
        "2026-03-29T12:00:00Z",
        [
            "2026-03-27T23:00:00Z",
            "2026-03-28T23:00:00Z",
            "2026-03-29T22:00:00Z",
            "2026-03-30T22:00:00Z",
        ],
    );
}

#[test]
fn day_is_25_hours_long_when_clocks_go_back() {
    check(
        &calendar(Unit::Day, "Europe/Berlin"),
        "2026-10-25T12:00:00Z",
        [
            "2026-10-23T22:00:00Z",
            "2026-10-24T22:00:00Z",
            "2026-10-25T23:00:00Z",
            "2026-10-26T23:00:00Z",
        ],
    );
}

#[test]
fn quota_billing_month_from_the_31st() {
    check(
        &months("UTC", 31),
        "2026-02-10T12:00:00Z",
        [
            "2025-12-31T00:00:00Z",
            "2026-01-31T00:00:00Z",
            "2026-02-28T00:00:00Z",
            "2026-03-31T00:00:00Z",
        ],
    );
    check(
        &months("UTC", 31),
        "2026-03-30T23:59:59Z",
        [
            "2026-01-31T00:00:00Z",
            "2026-02-28T00:00:00Z",
            "2026-03-31T00:00:00Z",
            "2026-04-30T00:00:00Z",
        ],
    );
}

#[test]
fn anchor_day_that_february_lacks_is_its_last_day() {
    for (year, anchor_day, day) in [
        (2026, 28, 28),
        (2026, 29, 28),
        (2026, 30, 28),
        (2026, 31, 28),
        (2028, 28, 28),
        (2028, 29, 29),
        (2028, 30, 29),
        (2028, 31, 29),
        (2100, 29, 28),
    ] {
        let march = anchor_day.min(31);
        let april = anchor_day.min(30);
        check(
            &months("UTC", anchor_day),
            &format!("{year}-03-01T00:00:00Z"),
            [
                &format!("{year}-01-{anchor_day}T00:00:00Z"),
                &format!("{year}-02-{day}T00:00:00Z"),
                &format!("{year}-03-{march}T00:00:00Z"),
                &format!("{year}-04-{april}T00:00:00Z"),
            ],
        );
    }
}

#[test]
fn months_follow_the_zone_and_the_year() {
    check(
        &calendar(Unit::Month, "America/New_York"),
        "2026-01-01T04:59:59Z",
        [
            "2025-11-01T04:00:00Z",
            "2025-12-01T05:00:00Z",
            "2026-01-01T05:00:00Z",
            "2026-02-01T05:00:00Z",
        ],
    );
}

#[test]
fn weeks_start_on_monday_across_the_year() {
    // 2027-01-01 is a Friday, in week 53 of 2026.
    check(
        &calendar(Unit::Week, "UTC"),
        "2027-01-01T00:00:00Z",
        [
            "2026-12-21T00:00:00Z",
            "2026-12-28T00:00:00Z",
            "2027-01-04T00:00:00Z",
            "2027-01-11T00:00:00Z",
        ],
    );
    check(
        &calendar(Unit::Week, "Europe/Berlin"),
        "2026-03-29T21:59:59Z",
        [
            "2026-03-15T23:00:00Z",
            "2026-03-22T23:00:00Z",
            "2026-03-29T22:00:00Z",
            "2026-04-05T22:00:00Z",
        ],
    );
}

#[test]
fn hours_are_those_of_the_local_clock() {
    check(
        &calendar(Unit::Hour, "Asia/Kathmandu"),
        "2026-05-01T12:00:00Z",
        [
            "2026-05-01T10:15:00Z",
            "2026-05-01T11:15:00Z",
            "2026-05-01T12:15:00Z",
            "2026-05-01T13:15:00Z",
        ],
    );
}

#[test]
fn skipped_and_repeated_hours_leave_sixty_minutes_to_each() {
    for day in ["2026-03-29", "2026-10-25"] {
        check(
            &calendar(Unit::Hour, "Europe/Berlin"),
            &format!("{day}T01:30:00Z"),
            ["00", "01", "02", "03"].map(|h| format!("{day}T{h}:00:00Z")).each_ref().map(|s| &**s),
        );
    }
    // Clocks went back from 00:01 to 23:01: the minute of the new day is no hour of its own.
    check(
        &calendar(Unit::Hour, "America/St_Johns"),
        "2010-11-07T02:31:00Z",
        [
            "2010-11-07T01:30:00Z",
            "2010-11-07T02:30:00Z",
            "2010-11-07T03:30:00Z",
            "2010-11-07T04:30:00Z",
        ],
    );
}

#[test]
fn shift_by_half_an_hour_makes_an_hour_of_ninety_minutes() {
    // 02:00 becomes 02:30.
    check(
        &calendar(Unit::Hour, "Australia/Lord_Howe"),
        "2026-10-03T15:45:00Z",
        [
            "2026-10-03T13:30:00Z",
            "2026-10-03T14:30:00Z",
            "2026-10-03T16:00:00Z",
            "2026-10-03T17:00:00Z",
        ],
    );
    // 02:00 becomes 01:30.
    check(
        &calendar(Unit::Hour, "Australia/Lord_Howe"),
        "2026-04-04T15:15:00Z",
        [
            "2026-04-04T13:00:00Z",
            "2026-04-04T14:00:00Z",
            "2026-04-04T15:30:00Z",
            "2026-04-04T16:30:00Z",
        ],
    );
    // 02:30 becomes 03:00: half an hour is not sold as a whole one.
    check(
        &calendar(Unit::Hour, "America/Caracas"),
        "2016-05-01T07:30:00Z",
        [
            "2016-05-01T05:30:00Z",
            "2016-05-01T06:30:00Z",
            "2016-05-01T08:00:00Z",
            "2016-05-01T09:00:00Z",
        ],
    );
}

#[test]
fn day_without_midnight_starts_with_its_first_instant() {
    // 2018-11-04 began at 01:00, which was 03:00 UTC.
    check(
        &calendar(Unit::Day, "America/Sao_Paulo"),
        "2018-11-04T12:00:00Z",
        [
            "2018-11-03T03:00:00Z",
            "2018-11-04T03:00:00Z",
            "2018-11-05T02:00:00Z",
            "2018-11-06T02:00:00Z",
        ],
    );
    // From 23:30 to 00:00, and so not later than that (Pyongyang, 2018-05-04).
    check(
        &calendar(Unit::Day, "Asia/Pyongyang"),
        "2018-05-04T15:00:00Z",
        [
            "2018-05-03T15:30:00Z",
            "2018-05-04T15:00:00Z",
            "2018-05-05T15:00:00Z",
            "2018-05-06T15:00:00Z",
        ],
    );
}

#[test]
fn jump_across_midnight_starts_the_day_when_it_happens() {
    // No zone has jumped from before midnight to after it since 1970, so one is made: 23:30
    // becomes 00:30 on the second Sunday of March.
    let zone = TimeZone::posix("EST5EDT,M3.2.0/23:30,M11.1.0").unwrap();
    let invented = Calendar { zone, ..calendar(Unit::Day, "UTC") };
    check(
        &invented,
        "2026-03-09T12:00:00Z",
        [
            "2026-03-08T05:00:00Z",
            "2026-03-09T04:30:00Z",
            "2026-03-10T04:00:00Z",
            "2026-03-11T04:00:00Z",
        ],
    );
}

#[test]
fn second_midnight_starts_no_second_day() {
    // From 00:01 back to 23:01: the day began a minute before, and goes on.
    check(
        &calendar(Unit::Day, "America/St_Johns"),
        "2010-11-07T03:00:00Z",
        [
            "2010-11-06T02:30:00Z",
            "2010-11-07T02:30:00Z",
            "2010-11-08T03:30:00Z",
            "2010-11-09T03:30:00Z",
        ],
    );
}

#[test]
fn skipped_date_is_no_period() {
    // Thursday 2011-12-29 was followed by Saturday 2011-12-31.
    let days = calendar(Unit::Day, "Pacific/Apia");
    check(
        &days,
        "2011-12-30T09:59:59Z",
        [
            "2011-12-28T10:00:00Z",
            "2011-12-29T10:00:00Z",
            "2011-12-30T10:00:00Z",
            "2011-12-31T10:00:00Z",
        ],
    );
    check(
        &days,
        "2011-12-30T10:00:00Z",
        [
            "2011-12-29T10:00:00Z",
            "2011-12-30T10:00:00Z",
            "2011-12-31T10:00:00Z",
            "2012-01-01T10:00:00Z",
        ],
    );
    check(
        &months("Pacific/Apia", 30),
        "2012-01-10T00:00:00Z",
        [
            "2011-11-30T10:00:00Z",
            "2011-12-30T10:00:00Z",
            "2012-01-29T10:00:00Z",
            "2012-02-28T10:00:00Z",
        ],
    );
}

#[test]
fn ends_of_time_are_covered() {
    for zone in ZONES {
        for unit in UNITS {
            for now in [0, 1, 3_600_000_000, Timestamp::MAX.as_micros() - 1, u64::MAX] {
                let now = Timestamp::from_micros(now);
                let periods = calendar(unit, zone).around(now);
                let bounds = periods.bounds();
                assert!(bounds.is_sorted(), "{zone} {unit:?} {now:?}: {bounds:?}");
                assert!(bounds[1] < bounds[2], "{zone} {unit:?} {now:?}: {bounds:?}");
                assert_eq!(periods.containing(now), Some((bounds[1], bounds[2])));
            }
        }
    }
    let bounds = calendar(Unit::Day, "UTC").around(Timestamp::ZERO).bounds();
    assert_eq!(
        bounds[..3],
        ["1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "1970-01-02T00:00:00Z"].map(at)
    );
}

#[test]
fn containing_knows_three_periods() {
    let periods = calendar(Unit::Day, "UTC").around(at("2026-05-02T12:00:00Z"));
    let day = |day: &str| at(&format!("2026-05-{day}T00:00:00Z"));
    let period = |from, to| Some((day(from), day(to)));
    assert_eq!(periods.containing(before(day("01"))), None);
    assert_eq!(periods.containing(day("01")), period("01", "02"));
    assert_eq!(periods.containing(before(day("02"))), period("01", "02"));
    assert_eq!(periods.containing(day("02")), period("02", "03"));
    assert_eq!(periods.containing(day("03")), period("03", "04"));
    assert_eq!(periods.containing(before(day("04"))), period("03", "04"));
    assert_eq!(periods.containing(day("04")), None);
}

#[test]
fn memo_holds_what_it_was_refreshed_to() {
    let calendar = calendar(Unit::Day, "Europe/Berlin");
    assert_eq!(calendar.periods(), calendar.around(Timestamp::ZERO));

    let now = at("2026-03-29T12:00:00Z");
    calendar.refresh(now);
    assert_eq!(calendar.periods(), calendar.around(now));
    assert_eq!(calendar.clone().periods(), calendar.periods());

    let clone = calendar.clone();
    clone.refresh(now.after(Span::DAY));
    assert_ne!(clone.periods(), calendar.periods());
    assert_eq!(clone, calendar);
}

#[test]
fn calendars_are_equal_if_configured_alike() {
    assert_eq!(calendar(Unit::Month, "UTC"), months("UTC", 1));
    assert_ne!(calendar(Unit::Month, "UTC"), months("UTC", 2));
    assert_ne!(calendar(Unit::Month, "UTC"), calendar(Unit::Day, "UTC"));
    assert_ne!(calendar(Unit::Day, "Europe/Berlin"), calendar(Unit::Day, "Europe/Paris"));
    let berlin = months("Europe/Berlin", 31);
    assert_eq!(
        (berlin.unit(), berlin.zone(), berlin.anchor_day()),
        (Unit::Month, "Europe/Berlin", 31)
    );
}

#[test]
fn units_have_the_words_of_policies() {
    assert_eq!(UNITS.map(Unit::name), ["hour", "day", "week", "month"]);
}

#[test]
fn unknown_zone_is_refused_with_the_one_that_was_meant() {
    for (given, meant) in [
        ("Europe/Berlim", "Europe/Berlin"),
        ("europe/berlin", "Europe/Berlin"),
        ("America/New York", "America/New_York"),
        ("Berlin", "Europe/Berlin"),
        ("utc", "UTC"),
    ] {
        let refusal = Calendar::try_new(Unit::Day, given, None).map_err(|error| error.to_string());
        let message = format!("there is no time zone {given:?}; did you mean {meant:?}?");
        assert_eq!(refusal, Err(message));
    }
    for given in ["", "Mars/Olympus", "Local", "EST5EDT,M3.2.0,M11.1.0", "MEZ-SOMMERZEIT"] {
        let refusal = Calendar::try_new(Unit::Day, given, None).map_err(|error| error.to_string());
        let advice = "use a name of the IANA database, like \"Europe/Berlin\" or \"UTC\"";
        assert_eq!(refusal, Err(format!("there is no time zone {given:?}; {advice}")));
    }
    for given in ["Etc/Unknown", "../UTC", "Europe/Berlin\0"] {
        assert!(Calendar::try_new(Unit::Day, given, None).is_err(), "{given:?}");
    }
}

#[test]
fn anchor_day_is_refused_where_it_means_nothing() {
    let refusal = |unit, day| Calendar::try_new(unit, "UTC", Some(day)).map(|_| ());
    for day in [0, 32, u8::MAX] {
        assert_eq!(refusal(Unit::Month, day), Err(CalendarError::AnchorDayOutOfRange(day)));
    }
    for unit in [Unit::Hour, Unit::Day, Unit::Week] {
        assert_eq!(refusal(unit, 1), Err(CalendarError::AnchorDayWithoutMonth));
    }
}
