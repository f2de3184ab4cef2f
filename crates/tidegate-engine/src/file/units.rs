//! Durations and rates as they are written: `250ms`, `5min`, `10/s`, `100/10s`.
//!
//! One number and one unit. `m` is refused rather than guessed: it has been read as a minute, a
//! month and a thousandth.

use tidegate_core::Span;

/// The units, and how many microseconds each has.
const UNITS: &[(&str, u64)] = &[
    ("us", 1),
    ("ms", 1_000),
    ("s", Span::SECOND.as_micros()),
    ("min", Span::MINUTE.as_micros()),
    ("h", Span::HOUR.as_micros()),
    ("d", Span::DAY.as_micros()),
];

/// What people write instead, and what to tell them.
const OTHERWISE: &[(&[&str], &str)] = &[
    (&["µs", "μs", "usec", "micros", "microsecond", "microseconds"], "write `us` for microseconds"),
    (&["msec", "millis", "millisecond", "milliseconds"], "write `ms` for milliseconds"),
    (&["sec", "secs", "second", "seconds", "S"], "write `s` for seconds"),
    (&["m", "M", "mn", "mins", "minute", "minutes"], "write `min` for minutes"),
    (&["hr", "hrs", "hour", "hours", "H"], "write `h` for hours"),
    (&["day", "days", "D"], "write `d` for days of 24 hours"),
    (&["w", "week", "weeks", "W"], "write weeks as days, such as `7d`"),
    (
        &["mo", "month", "months", "y", "year", "years"],
        "months and years differ in length; write days, or a quota with `per: month`",
    ),
    (&["ns", "nanos", "nsec"], "the smallest unit is the microsecond, `us`"),
];

/// What a duration looks like, as a regular expression.
pub(super) const DURATION_PATTERN: &str = "^[0-9]+(us|ms|s|min|h|d)$";

/// What a rate looks like, as a regular expression.
pub(super) const RATE_PATTERN: &str = "^[0-9]+/([0-9]+(us|ms|s|min|h|d)|us|ms|s|min|h|d)$";

/// Reads a duration, such as `250ms`.
///
/// # Errors
///
/// What to write instead.
pub(super) fn duration(text: &str) -> Result<Span, String> {
    let (number, unit) = split(text);
    if number.is_empty() {
        return Err("write a whole number and a unit, such as `250ms`, `10s`, `5min`, `2h`".into());
    }
    span(number, unit)
}

/// Reads a rate, such as `100/10s`: so many tokens, and the time in which they come.
///
/// # Errors
///
/// What to write instead.
pub(super) fn rate(text: &str) -> Result<(u64, Span), String> {
    const FORM: &str = "write a whole number, `/`, and a unit or duration, such as `10/s`, \
                        `600/min` or `100/10s`";
    let Some((tokens, per)) = text.split_once('/') else { return Err(FORM.into()) };
    let (number, rest) = split(tokens);
    if number.is_empty() || !rest.is_empty() {
        return Err(FORM.into());
    }
    let tokens = number.parse().map_err(|_| "the number is too large".to_owned())?;
    let (number, unit) = split(per);
    let per = span(if number.is_empty() { "1" } else { number }, unit)?;
    Ok((tokens, per))
}

fn span(number: &str, unit: &str) -> Result<Span, String> {
    if unit.is_empty() {
        return Err(format!("add a unit: {}", names().join(", ")));
    }
    let Some((_, micros)) = UNITS.iter().find(|(name, _)| *name == unit) else {
        let otherwise = OTHERWISE.iter().find(|(words, _)| words.contains(&unit));
        let advice = otherwise.map(|(_, advice)| (*advice).to_owned());
        return Err(advice.unwrap_or_else(|| {
            format!("write one whole number and one unit of {}", names().join(", "))
        }));
    };
    let number: Option<u64> = number.parse().ok();
    number
        .and_then(|number| number.checked_mul(*micros))
        .map(Span::from_micros)
        .ok_or_else(|| "this duration is too long; write a shorter one".to_owned())
}

fn names() -> Vec<&'static str> {
    UNITS.iter().map(|(name, _)| *name).collect()
}

/// The digits at the beginning, and the rest.
fn split(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().take_while(u8::is_ascii_digit).count())
}

#[cfg(test)]
mod tests {
    //! What is read, and what is told about the rest.

    use super::*;

    #[test]
    fn one_number_and_one_unit() {
        for (text, micros) in [
            ("7us", 7),
            ("250ms", 250_000),
            ("10s", 10_000_000),
            ("5min", 300_000_000),
            ("2h", 7_200_000_000),
            ("1d", 86_400_000_000),
            ("0s", 0),
        ] {
            assert_eq!(duration(text), Ok(Span::from_micros(micros)), "{text}");
        }
    }

    #[test]
    fn rates_are_per_unit_or_per_duration() {
        assert_eq!(rate("10/s"), Ok((10, Span::SECOND)));
        assert_eq!(rate("600/min"), Ok((600, Span::MINUTE)));
        assert_eq!(rate("100/10s"), Ok((100, Span::from_secs(10))));
        for text in ["", "10", "/s", "10/", "s/10", "10/s/s", "1.5/s", "-1/s", "10 /s", "+1/s"] {
            assert!(rate(text).is_err(), "{text}");
        }
    }

    #[test]
    fn other_spellings_are_told_how_to_write() {
        for (text, advice) in [
            ("1m", "`min`"),
            ("2 h", "one unit of"),
            ("1h30min", "one unit of"),
            ("10sec", "`s`"),
            ("1week", "`7d`"),
            ("10", "add a unit"),
            ("abc", "a whole number and a unit"),
            ("-5s", "a whole number and a unit"),
            ("99999999999999999999d", "duration is too long"),
            ("9999999999999d", "duration is too long"),
        ] {
            let told = duration(text).unwrap_err();
            assert!(told.contains(advice), "{text}: {told}");
        }
        assert!(rate("10/m").unwrap_err().contains("`min`"));
    }
}
