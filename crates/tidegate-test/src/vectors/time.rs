//! Times as vectors write them.

use serde::Deserialize;
use tidegate_core::{Span, Timestamp};

/// The start of traces whose times count from their start: on a minute of 2026, at no edge of a
/// day.
const START: Timestamp = Timestamp::from_micros(1_773_000_000_000_000);

/// A length of time such as `250ms`, `15m` or `1d`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct VectorSpan(pub(crate) Span);

/// An instant: a length since the start of the trace, or a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Instant(pub(crate) Timestamp);

impl TryFrom<String> for VectorSpan {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let micros: u64 = match unit {
            "us" => 1,
            "ms" => 1_000,
            "s" => 1_000_000,
            "m" => 60_000_000,
            "h" => 3_600_000_000,
            "d" => 86_400_000_000,
            _ => return Err(format!("{text:?} is not a length of time")),
        };
        let number: u64 = number.parse().map_err(|_| format!("{text:?} has no number"))?;
        let micros = number.checked_mul(micros).ok_or_else(|| format!("{text:?} is too long"))?;
        Ok(Self(Span::from_micros(micros)))
    }
}

impl TryFrom<String> for Instant {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if !text.contains('T') {
            return VectorSpan::try_from(text).map(|VectorSpan(span)| Self(START.after(span)));
        }
        let date: jiff::Timestamp = text.parse().map_err(|error| format!("{text:?}: {error}"))?;
        let micros = u64::try_from(date.as_microsecond())
            .map_err(|_| format!("{text:?} is before the epoch"))?;
        Ok(Self(Timestamp::from_micros(micros)))
    }
}
