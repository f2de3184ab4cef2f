//! Any numbers, of any shape: clamped, waits up, remainders down, and read back by another parser.

use http::HeaderMap;
use proptest::collection::vec;
use proptest::prelude::*;
use tidegate_core::{
    Attempts, Bucket, Calendar, Case, Counts, Digests, Dimension, FailureMode, Limit, MAX_EXACT,
    MAX_LIMITS, Name, Period, PolicySet, PolicySpec, Quota, Rate, Reading, Room, Scope, Shape,
    Span, Subject, Threshold, Timestamp, Unit, Window, fold,
};

use super::{Figures, HeaderProfile, Profile, parser};
use crate::answer::{Listings, Reset, RetryAfter};

/// The largest integer of structured fields.
const LARGEST: u64 = 999_999_999_999_999;

const MICROS: u128 = 1_000_000;

fn span() -> impl Strategy<Value = Span> {
    prop_oneof![0..5_000_000_u64, 0..=MAX_EXACT].prop_map(Span::from_micros)
}

fn shape() -> impl Strategy<Value = Shape> {
    let bucket = (1..=5_000_u64, 1..=100_000_000_u64, 1..=1_000_000_u64).prop_filter_map(
        "a bucket",
        |(tokens, per, burst)| {
            let rate = Rate::try_new(tokens, Span::from_micros(per)).ok()?;
            Bucket::try_new(rate, burst).ok().map(Shape::Bucket)
        },
    );
    let window =
        (1..=Window::MAX_COUNT, 1..=Window::MAX_LENGTH.as_micros()).prop_map(|(count, per)| {
            let per = Span::from_micros(per);
            Shape::Window(Window::try_new(count, per, Counts::Admitted).unwrap())
        });
    let unit = prop_oneof![Just(Unit::Hour), Just(Unit::Day), Just(Unit::Week), Just(Unit::Month)];
    let period = prop_oneof![
        (1..=MAX_EXACT).prop_map(|length| Period::Fixed(Span::from_micros(length))),
        (1..=MAX_EXACT).prop_map(|length| Period::FirstUse(Span::from_micros(length))),
        unit.prop_map(|unit| Period::Calendar(Calendar::try_new(unit, "UTC", None).unwrap())),
    ];
    let quota = (1..=Quota::MAX_COUNT, period).prop_map(|(count, period)| {
        Shape::Quota(Quota::try_new(count, period, Counts::Admitted).unwrap())
    });
    let attempts =
        (2..=50_u16, 1..=1_000_000_000_u64, any::<bool>()).prop_map(|(at, per, both)| {
            let per = Span::from_micros(per);
            let temp = Threshold { block_at: at, per, block: Span::MINUTE };
            let longer = per.as_micros() * 3;
            let long = Threshold { block_at: at + 1, per: Span::from_micros(longer), ..temp };
            Shape::Attempts(Attempts::try_new(temp, both.then_some(long)).unwrap())
        });
    prop_oneof![bucket, window, quota, attempts]
}

fn reading() -> impl Strategy<Value = Reading> {
    let room = prop_oneof![
        3 => Just(Room::Now),
        1 => (1..=MAX_EXACT).prop_map(|wait| Room::After(Span::from_micros(wait))),
        1 => Just(Room::Never),
    ];
    let remaining = prop_oneof![-5..50_i64, any::<i64>()];
    (room, remaining, span(), span()).prop_map(|(room, remaining, wait, reset_after)| Reading {
        room,
        wait: wait.max(room.wait()),
        remaining,
        reset_after,
        backoff: Span::ZERO,
        attempts: None,
    })
}

/// Limits that are certain to apply, and what each says.
fn limits() -> impl Strategy<Value = Vec<(Shape, Reading, bool)>> {
    vec((shape(), reading(), any::<bool>()), 1..=MAX_LIMITS)
}

/// Whole seconds of a shape's window, by the definition of each.
fn is_window(shape: &Shape, window: u64) -> bool {
    let micros = u128::from(window) * MICROS;
    let covers = |length: Span| {
        let length = u128::from(length.as_micros());
        micros >= length && micros < length + MICROS
    };
    match shape {
        Shape::Bucket(bucket) => {
            let full = u128::from(bucket.burst()) * u128::from(bucket.units_per_token());
            let refilled = |micros: u128| micros * u128::from(bucket.units_per_micro());
            refilled(micros) >= full && (window == 1 || refilled(micros - MICROS) < full)
        }
        Shape::Window(window) => covers(window.per()),
        Shape::Quota(quota) => match quota.period() {
            Period::Fixed(length) | Period::FirstUse(length) => covers(*length),
            Period::Calendar(calendar) => {
                window
                    == match calendar.unit() {
                        Unit::Hour => 3_600,
                        Unit::Day => 86_400,
                        Unit::Week => 604_800,
                        Unit::Month => 2_678_400,
                    }
            }
        },
        Shape::Attempts(attempts) => covers(attempts.long().unwrap_or(attempts.temp()).per),
    }
}

fn number(headers: &HeaderMap, field: &str) -> u64 {
    headers[field].to_str().unwrap().parse().unwrap()
}

fn policies(limits: &[(Shape, Reading, bool)]) -> PolicySet {
    let spec = PolicySpec::new(Name::try_new("any").unwrap(), FailureMode::FailOpen);
    let spec = limits.iter().enumerate().fold(spec, |spec, (place, (shape, _, shadow))| {
        let name = Name::try_new(&format!("limit-{place}")).unwrap();
        let limit = Limit::new(name, Scope::of([Dimension::Org]), shape.clone()).with_named_key();
        spec.limit(if *shadow { limit.in_shadow() } else { limit })
    });
    PolicySet::builder().policy(spec).build(None).unwrap()
}

proptest! {
    #[test]
    fn any_numbers_are_read_back_clamped_with_waits_up_and_remainders_down(
        limits in limits(),
        now in prop_oneof![Just(super::NOW.as_micros()), 0..=MAX_EXACT],
        delta in any::<bool>(),
    ) {
        let (set, now) = (policies(&limits), Timestamp::from_micros(now));
        let subject = Subject::new().org("acme");
        let mut case = Case::new(set.get("any").unwrap(), &subject);
        case.resolve(&Digests::new([7, 11]));
        let (_, readings) = case.ask();
        readings.begin(now);
        limits.iter().for_each(|(_, reading, _)| readings.push(*reading));
        let decision = fold(&mut case);

        let reset = if delta { Reset::Delta } else { Reset::Epoch };
        let all = HeaderProfile::ALL.into_iter().collect();
        let profile = Profile {
            headers: all, reset, retry_after: RetryAfter::Always, ..Profile::default()
        };
        let mut headers = HeaderMap::new();
        let listings = Listings::default();
        // The second time, in the words that were kept.
        for _ in 0..2 {
            headers.clear();
            Figures::of(&decision, Some(&listings)).write(&profile, &mut headers);
        }
        for value in headers.values() {
            prop_assert!(value.as_bytes().iter().all(|byte| (b' '..=b'~').contains(byte)));
        }

        let wait = decision.status().retry.map(|retry| match retry {
            tidegate_core::Retry::After(wait) => Some(wait),
            tidegate_core::Retry::Never => None,
        });
        match wait {
            Some(Some(wait)) => {
                let told = u128::from(number(&headers, "retry-after")) * MICROS;
                let wait = u128::from(wait.as_micros());
                prop_assert!(told >= wait && told < wait + MICROS && told > 0);
            }
            Some(None) | None => prop_assert!(!headers.contains_key("retry-after")),
        }

        let enforced: Vec<_> = limits.iter().enumerate().filter(|(_, limit)| !limit.2).collect();
        if enforced.is_empty() {
            prop_assert!(!headers.keys().any(|name| name.as_str().contains("ratelimit")));
            return Ok(());
        }
        let list = parser::list(headers["ratelimit-policy"].as_bytes()).unwrap();
        prop_assert_eq!(list.len(), enforced.len());
        for ((name, parameters), (place, (shape, ..))) in list.iter().zip(&enforced) {
            prop_assert_eq!(name, &format!("limit-{}", place));
            let [(q, capacity), (w, window)] = &parameters[..] else { panic!("{parameters:?}") };
            prop_assert_eq!((q.as_str(), w.as_str()), ("q", "w"));
            prop_assert_eq!(capacity.unsigned_abs(), shape.capacity().min(LARGEST));
            prop_assert!(is_window(shape, window.unsigned_abs()), "{:?} in {}", shape, window);
        }

        let binding = decision.binding().unwrap();
        let list = parser::list(headers["ratelimit"].as_bytes()).unwrap();
        let [(name, parameters)] = &list[..] else { panic!("{list:?}") };
        prop_assert_eq!(name, binding.limit.name().as_str());
        let [(r, remaining), (t, reset)] = &parameters[..] else { panic!("{parameters:?}") };
        prop_assert_eq!((r.as_str(), t.as_str()), ("r", "t"));
        let left = u64::try_from(binding.reading.remaining).unwrap_or(0).min(LARGEST);
        prop_assert_eq!(remaining.unsigned_abs(), left);
        prop_assert!(*remaining >= 0);
        let reset_after = match wait {
            Some(_) => binding.reading.reset_after.max(binding.reading.wait),
            None => binding.reading.reset_after,
        };
        prop_assert_eq!(reset.unsigned_abs(), reset_after.as_micros().div_ceil(1_000_000));

        let reset_at = now.after(reset_after).as_micros().div_ceil(1_000_000);
        for family in ["ratelimit", "x-ratelimit"] {
            prop_assert_eq!(number(&headers, &format!("{family}-remaining")), left);
            let told = number(&headers, &format!("{family}-reset"));
            prop_assert_eq!(told, if delta { reset.unsigned_abs() } else { reset_at });
        }
        let capacity = binding.shape.capacity().min(LARGEST);
        prop_assert_eq!(number(&headers, "x-ratelimit-limit"), capacity);
        let (limit, window) = headers["ratelimit-limit"].to_str().unwrap().split_once(";w=").unwrap();
        prop_assert_eq!(limit.parse::<u64>().unwrap(), capacity);
        prop_assert!(is_window(binding.shape, window.parse().unwrap()));
    }
}
