//! The one strict reader of JSON: every error says which field it is about.
//!
//! Readers are derived by serde, with unknown fields denied. serde knows the line and column of an error,
//! but not the field; `serde_path_to_error` finds it, at the price of an allocation for each field, which
//! makes reading almost three times as dear (`docs/benchmarks.md`). So a document is read by serde alone,
//! and only one that is wrong is read again to find out where.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny};
use serde_json::error::Category;
use serde_path_to_error::{Path, Segment};

use crate::answer::{Code, Problem, brief};

/// The most bytes of a field's name that a pointer repeats.
const ECHO: usize = 64;

/// Reads an object from all of `bytes`. They are checked to be UTF-8 first, all at once: to check each
/// string by itself takes longer.
///
/// # Errors
///
/// If the bytes are not JSON, not an object, or have a field that is wrong; the problem points to it.
#[inline]
pub fn read<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Result<T, Problem> {
    let text =
        std::str::from_utf8(bytes).map_err(|_| Code::NotJson.problem("the body is not UTF-8"))?;
    // A derived reader takes a list of values for an object, too.
    let first = bytes.iter().find(|byte| !b" \t\r\n".contains(byte));
    if first != Some(&b'{') {
        return Err(no_object(text));
    }
    serde_json::from_str(text).map_err(|_| explain::<T>(text))
}

/// Reads a string, borrowed if nothing in it is escaped: for `#[serde(deserialize_with)]`.
///
/// # Errors
///
/// If it is not a string.
#[inline]
pub fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Cow<'de, str>, D::Error> {
    #[derive(Deserialize)]
    #[serde(transparent)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

    Text::deserialize(deserializer).map(|text| text.0)
}

/// A field of an object, as a JSON pointer (RFC 6901) into the object at `within`.
#[must_use]
pub fn pointer(within: &str, field: &str) -> String {
    format!("{within}/{}", brief(field, ECHO).replace('~', "~0").replace('/', "~1"))
}

/// The problem with a text that does not begin as an object.
#[cold]
fn no_object(text: &str) -> Problem {
    match serde_json::from_str::<IgnoredAny>(text) {
        Ok(_) => Code::InvalidField.problem("this must be an object, in braces").about(""),
        Err(error) => Code::NotJson.problem(error.to_string()),
    }
}

/// The problem with a text that could not be read: it is read again, and each field noted on the way.
#[cold]
fn explain<'de, T: Deserialize<'de>>(text: &'de str) -> Problem {
    let mut json = serde_json::Deserializer::from_str(text);
    let error = match serde_path_to_error::deserialize::<_, T>(&mut json) {
        Ok(_) => {
            let after = json.end().err().map(|error| error.to_string());
            return Code::NotJson.problem(after.unwrap_or_default());
        }
        Err(error) => error,
    };
    let (within, error) = (pointer_to(error.path()), error.into_inner());
    let said = error.to_string();
    if error.classify() != Category::Data {
        return Code::NotJson.problem(said);
    }
    let place = format!(" at line {} column {}", error.line(), error.column());
    let said = said.strip_suffix(&place).unwrap_or(&said);
    // serde notices these two at the object, and names the field.
    let named = |start: &str| said.strip_prefix(start)?.strip_suffix('`');
    match (named("missing field `"), named("duplicate field `")) {
        (Some(field), _) => {
            Code::InvalidField.problem("this field is required").about(pointer(&within, field))
        }
        (_, Some(field)) => {
            Code::InvalidField.problem("this field is given twice").about(pointer(&within, field))
        }
        _ => Code::InvalidField.problem(said.to_owned()).about(within),
    }
}

fn pointer_to(path: &Path) -> String {
    path.iter().fold(String::new(), |within, segment| match segment {
        Segment::Map { key } => pointer(&within, key),
        Segment::Seq { index } => format!("{within}/{index}"),
        Segment::Enum { .. } | Segment::Unknown => within,
    })
}
