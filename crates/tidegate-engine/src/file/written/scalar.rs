//! Numbers and texts as they are written: read leniently, judged later, described strictly.

use core::fmt;

use schemars::{Schema, json_schema};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};
use tidegate_core::{MAX_EXACT, Name, Span};

use super::schemas::inlined;
use crate::file::rate;

/// A scalar where a whole number belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::file) enum WrittenNumber {
    /// A whole number that fits.
    Whole(u64),
    /// A whole number that is larger than anything counted here.
    TooLarge,
    /// No whole number: it has a sign, a point or letters.
    Other,
}

/// The name of a policy, a limit, a class or an environment, as it is written.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(transparent)]
pub(in crate::file) struct NameText(pub(in crate::file) String);

/// A duration, as it is written.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(transparent)]
pub(in crate::file) struct DurationText(pub(in crate::file) String);

/// A rate, as it is written.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(transparent)]
pub(in crate::file) struct RateText(pub(in crate::file) String);

/// The period of a quota, as it is written: a unit of the calendar, or a duration.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(transparent)]
pub(in crate::file) struct PeriodText(pub(in crate::file) String);

struct NumberVisitor;

// === impl WrittenNumber ===

impl<'de> Deserialize<'de> for WrittenNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NumberVisitor)
    }
}

inlined!(WrittenNumber, "Number", |_| json_schema!({
    "type": "integer", "minimum": 1, "maximum": MAX_EXACT,
}));

// === impl NumberVisitor ===

impl Visitor<'_> for NumberVisitor {
    type Value = WrittenNumber;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<WrittenNumber, E> {
        Ok(WrittenNumber::Whole(number))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<WrittenNumber, E> {
        Ok(u64::try_from(number).map_or(WrittenNumber::Other, WrittenNumber::Whole))
    }

    fn visit_u128<E: Error>(self, _: u128) -> Result<WrittenNumber, E> {
        Ok(WrittenNumber::TooLarge)
    }

    fn visit_i128<E: Error>(self, number: i128) -> Result<WrittenNumber, E> {
        Ok(if number < 0 { WrittenNumber::Other } else { WrittenNumber::TooLarge })
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<WrittenNumber, E> {
        // Integers too long for any integer type are read as floats.
        Ok(if number >= 1.8e19 { WrittenNumber::TooLarge } else { WrittenNumber::Other })
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<WrittenNumber, E> {
        Ok(WrittenNumber::Other)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<WrittenNumber, E> {
        Ok(WrittenNumber::Other)
    }
}

// === impl JsonSchema ===

inlined!(NameText, "Name", |_| {
    text(&format!("^[a-z0-9_.-]{{1,{}}}$", Name::MAX_LEN), &["api", "per-user"])
});
inlined!(DurationText, "Duration", |_| text(Span::PATTERN, &["250ms", "10s", "5min", "2h", "1d"]));
inlined!(RateText, "Rate", |_| text(rate::PATTERN, &["10/s", "600/min", "100/10s"]));
inlined!(PeriodText, "Period", |_| {
    text(&format!("^(hour|day|week|month)$|{}", Span::PATTERN), &["day", "month", "12h"])
});

/// The schema of a text of this form.
fn text(pattern: &str, examples: &[&str]) -> Schema {
    json_schema!({ "type": "string", "pattern": pattern, "examples": examples })
}
