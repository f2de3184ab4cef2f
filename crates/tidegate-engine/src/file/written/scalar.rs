//! Numbers and texts as they are written: read leniently, judged later, described strictly.

use core::fmt;
use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};
use tidegate_core::{MAX_EXACT, Name};

use crate::file::units::{DURATION_PATTERN, RATE_PATTERN};

/// A scalar where a whole number belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::file) enum Number {
    /// A whole number that fits.
    Whole(u64),
    /// A whole number that is larger than anything counted here.
    TooLarge,
    /// No whole number: it has a sign, a point or letters.
    Other,
}

/// The name of a policy, a limit, a class or an environment, as it is written.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub(in crate::file) struct NameText(pub(in crate::file) String);

/// A duration, as it is written.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub(in crate::file) struct DurationText(pub(in crate::file) String);

/// A rate, as it is written.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub(in crate::file) struct RateText(pub(in crate::file) String);

/// The period of a quota, as it is written: a unit of the calendar, or a duration.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub(in crate::file) struct PeriodText(pub(in crate::file) String);

struct NumberVisitor;

// === impl Number ===

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NumberVisitor)
    }
}

impl JsonSchema for Number {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Number".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": 1, "maximum": MAX_EXACT })
    }
}

// === impl NumberVisitor ===

impl Visitor<'_> for NumberVisitor {
    type Value = Number;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Number, E> {
        Ok(Number::Whole(number))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Number, E> {
        Ok(u64::try_from(number).map_or(Number::Other, Number::Whole))
    }

    fn visit_u128<E: Error>(self, _: u128) -> Result<Number, E> {
        Ok(Number::TooLarge)
    }

    fn visit_i128<E: Error>(self, number: i128) -> Result<Number, E> {
        Ok(if number < 0 { Number::Other } else { Number::TooLarge })
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Number, E> {
        // Integers too long for any integer type are read as floats.
        Ok(if number >= 1.8e19 { Number::TooLarge } else { Number::Other })
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Number, E> {
        Ok(Number::Other)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Number, E> {
        Ok(Number::Other)
    }
}

// === impl JsonSchema ===

/// Gives a text a schema with a pattern and examples, inlined where the text is used.
macro_rules! described {
    ($text:ident, $name:literal, $pattern:expr, $examples:expr) => {
        impl JsonSchema for $text {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "pattern": $pattern, "examples": $examples })
            }
        }
    };
}

described!(NameText, "Name", format!("^[a-z0-9_.-]{{1,{}}}$", Name::MAX_LEN), ["api", "per-user"]);
described!(DurationText, "Duration", DURATION_PATTERN, ["250ms", "10s", "5min", "2h", "1d"]);
described!(RateText, "Rate", RATE_PATTERN, ["10/s", "600/min", "100/10s"]);
described!(
    PeriodText,
    "Period",
    format!("^(hour|day|week|month)$|{DURATION_PATTERN}"),
    ["day", "month", "12h"]
);
