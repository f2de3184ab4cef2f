//! Every clock change of every zone, and random instants: periods tile time without gap or overlap.

use proptest::prelude::*;

use super::*;

/// Around every change of clocks of every zone there is: an hour has 60 minutes or, at a part-hour
/// shift, up to 120; and a day starts where the local clock first shows its date.
#[test]
fn every_change_of_every_zone_keeps_the_rules() {
    let last = "2050-01-01T00:00:00Z".parse().unwrap();
    let mut zones = 0;
    for name in TimeZoneDatabase::bundled().available() {
        let Ok(days) = Calendar::try_new(Unit::Day, name.as_str(), None) else { continue };
        zones += 1;
        let hours = calendar(Unit::Hour, name.as_str());
        let changes = days.zone.following(jiff::Timestamp::UNIX_EPOCH);
        for change in changes.map(|change| change.timestamp()).take_while(|at| *at < last) {
            for minutes in (-120..=120).step_by(15) {
                let now = timestamp_of(change.as_second() + minutes * MINUTE);
                check_hours(&hours, now);
            }
            for hours in [-25, -24, -1, 0, 1, 24] {
                check_day(&days, timestamp_of(change.as_second() + hours * HOUR));
            }
        }
    }
    assert!(zones > 500, "{zones} zones");
}

fn check_hours(hours: &Calendar, now: Timestamp) {
    let bounds = hours.around(now).bounds();
    for pair in bounds.windows(2) {
        let length = second_of(pair[1]) - second_of(pair[0]);
        let shifts = hours.zone.to_offset(instant_of(second_of(pair[0]))).seconds()
            - hours.zone.to_offset(instant_of(second_of(pair[1]))).seconds();
        let whole = i64::from(shifts) % HOUR == 0;
        let fits = if whole { length == HOUR } else { (HOUR + 1..2 * HOUR).contains(&length) };
        assert!(fits || pair[0] == Timestamp::ZERO, "{hours:?} {now:?}: {length} s");
    }
}

fn check_day(days: &Calendar, now: Timestamp) {
    let bounds = days.around(now).bounds();
    for start in bounds {
        let local = |second| days.zone.to_datetime(instant_of(second)).date();
        let (at, just_before) = (local(second_of(start)), local(second_of(start) - 1));
        assert!(at > just_before || start == Timestamp::ZERO, "{days:?} {now:?}: {start:?}");
    }
    assert!(bounds[1] <= now && now < bounds[2], "{days:?} {now:?}: {bounds:?}");
}

/// The starts in `from..to`, by reading the local clock every minute.
fn walk(calendar: &Calendar, from: i64, to: i64) -> Vec<i64> {
    let mut starts = vec![];
    let mut hour_since = i64::MIN / 2;
    let mut label = (i16::MIN, 0);
    for second in (from..to).step_by(60) {
        let local = calendar.zone.to_datetime(instant_of(second));
        if calendar.unit == Unit::Hour {
            if local.minute() == 0 && second - hour_since >= HOUR {
                hour_since = second;
                starts.push(second);
            }
            continue;
        }
        let date = local.date();
        let current = match calendar.unit {
            Unit::Week => (date.iso_week_date().year(), i16::from(date.iso_week_date().week())),
            Unit::Month => {
                let anchor = i16::from(calendar.anchor_day).min(i16::from(date.days_in_month()));
                let is_open = i16::from(date.day()) >= anchor;
                (0, date.year() * 12 + i16::from(date.month()) - i16::from(!is_open))
            }
            Unit::Day | Unit::Hour => (date.year(), date.day_of_year()),
        };
        // A clock that goes back over midnight does not re-open the day.
        if current > label {
            label = current;
            starts.push(second);
        }
    }
    // The first is where the walk began.
    starts.split_off(1)
}

fn calendars() -> impl Strategy<Value = Calendar> {
    (prop::sample::select(&ZONES[..]), prop::sample::select(&UNITS[..]), 1..=31_u8).prop_map(
        |(zone, unit, day)| {
            if unit == Unit::Month { months(zone, day) } else { calendar(unit, zone) }
        },
    )
}

/// Instants of 1970..2200; half of them within hours of a change of clocks, where there is one.
fn instants() -> impl Strategy<Value = (u64, Option<i64>)> {
    let first = at("1970-03-01T00:00:00Z").as_micros();
    let last = at("2200-01-01T00:00:00Z").as_micros();
    (first..last, prop::option::of(-90_000_i64..90_000))
}

fn instant(calendar: &Calendar, (micros, near_change): (u64, Option<i64>)) -> Timestamp {
    let now = Timestamp::from_micros(micros);
    let mut changes = calendar.zone.preceding(instant_of(second_of(now)));
    match (near_change, changes.next()) {
        (Some(distance), Some(change)) if change.timestamp().as_second() > 100 * 24 * HOUR => {
            timestamp_of(change.timestamp().as_second() + distance)
        }
        _ => now,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn periods_tile_time(calendar in calendars(), when in instants()) {
        let now = instant(&calendar, when);
        let periods = calendar.around(now);
        let bounds = periods.bounds();
        prop_assert!(bounds.windows(2).all(|pair| pair[0] < pair[1]), "{:?}", bounds);
        prop_assert!(bounds[1] <= now && now < bounds[2], "{:?}", bounds);
        prop_assert_eq!(periods.containing(now), Some((bounds[1], bounds[2])));
        prop_assert_eq!(calendar.around(bounds[1]), periods);
        prop_assert_eq!(calendar.around(before(bounds[2])), periods);

        let previous = calendar.around(before(bounds[1])).bounds();
        prop_assert_eq!(&previous[1..], &bounds[..3]);
        let next = calendar.around(bounds[2]).bounds();
        prop_assert_eq!(&next[..3], &bounds[1..]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn periods_are_those_of_a_clock_read_every_minute(calendar in calendars(), when in instants()) {
        let now = second_of(instant(&calendar, when));
        let reach = match calendar.unit {
            Unit::Hour => 12 * HOUR,
            Unit::Day => 4 * 24 * HOUR,
            Unit::Week => 15 * 24 * HOUR,
            Unit::Month => 63 * 24 * HOUR,
        };
        let now = now - now % MINUTE;
        let starts = walk(&calendar, now - reach, now + reach);
        let current = starts.partition_point(|start| *start <= now) - 1;
        let expected: Vec<_> =
            starts[current - 1..=current + 2].iter().map(|s| timestamp_of(*s)).collect();
        prop_assert_eq!(expected, calendar.around(timestamp_of(now)).bounds());
    }
}
