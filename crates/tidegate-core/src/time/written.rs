//! Lengths of time as people write them: `250ms`, `5min`.
//!
//! One number and one unit. `m` is refused rather than guessed: it has been read as a minute, a
//! month and a thousandth. Files, flags, requests and URLs all read lengths here, so that what is good
//! in one is good in the others.

use core::str::FromStr;
use std::borrow::Cow;

use super::Span;

/// Why a text is not a length of time, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SpanError(Cow<'static, str>);

/// The units, the smallest first, and how many microseconds each has.
pub(super) const UNITS: &[(&str, u64)] = &[
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

// === impl Span ===

impl Span {
    /// The form of a length of time as a regular expression.
    pub const PATTERN: &str = "^[0-9]+(us|ms|s|min|h|d)$";
}

/// Reads a length of time, such as `250ms`.
///
/// ```
/// use tidegate_core::Span;
///
/// assert_eq!("5min".parse(), Ok(Span::from_secs(300)));
/// let advice = "5m".parse::<Span>().unwrap_err().to_string();
/// assert_eq!(advice, "write `min` for minutes");
/// ```
impl FromStr for Span {
    type Err = SpanError;

    fn from_str(text: &str) -> Result<Self, SpanError> {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = text.split_at(digits);
        if number.is_empty() {
            let form = "write a whole number and a unit, such as `250ms`, `10s`, `5min`, `2h`";
            return Err(SpanError(form.into()));
        }
        let Some((_, micros)) = UNITS.iter().find(|(name, _)| *name == unit) else {
            return Err(SpanError(other_unit(unit)));
        };
        let number: Option<u64> = number.parse().ok();
        number
            .and_then(|number| number.checked_mul(*micros))
            .map(Self::from_micros)
            .ok_or(SpanError("this duration is too long; write a shorter one".into()))
    }
}

/// What to write instead of a unit that is not known.
fn other_unit(unit: &str) -> Cow<'static, str> {
    if unit.is_empty() {
        return format!("add a unit: {}", names().join(", ")).into();
    }
    match OTHERWISE.iter().find(|(words, _)| words.contains(&unit)) {
        Some((_, advice)) => (*advice).into(),
        None => format!("write one whole number and one unit of {}", names().join(", ")).into(),
    }
}

fn names() -> Vec<&'static str> {
    UNITS.iter().map(|(name, _)| *name).collect()
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
            assert_eq!(text.parse(), Ok(Span::from_micros(micros)), "{text}");
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
            ("", "a whole number and a unit"),
            ("5S", "`s`"),
            ("1.5s", "one unit of"),
        ] {
            let told = text.parse::<Span>().unwrap_err().to_string();
            assert!(told.contains(advice), "{text}: {told}");
        }
    }
}
