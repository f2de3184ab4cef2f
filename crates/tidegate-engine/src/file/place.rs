//! Where something stands in a file.
//!
//! Every value that can be wrong for a reason of its own is read as a [`Placed`] one, so that the
//! error can point at it long after the YAML has been parsed.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer};
use serde_saphyr::{Location, Spanned};

/// A part of a file's text, as bytes from its beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct FilePlace {
    pub(super) start: usize,
    pub(super) end: usize,
}

/// A value and where it was written.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Placed<T> {
    /// The value.
    pub value: T,
    /// Where the value stands. For an alias that is where its anchor stands: there the text can be
    /// mended.
    pub place: FilePlace,
}

// === impl FilePlace ===

impl FilePlace {
    /// The place of a parser's location; the beginning of the file if it is not known.
    pub(super) fn of(location: &Location) -> Self {
        let span = location.span();
        let offset = |bytes: Option<u64>| usize::try_from(bytes.unwrap_or(0)).unwrap_or(0);
        let start = offset(span.byte_offset());
        Self { start, end: start + offset(span.byte_len()) }
    }

    /// The place of an error's location, which may have a line and a column only.
    pub(super) fn of_error(location: &Location, text: &str) -> Self {
        if location.span().byte_offset().is_some() {
            return Self::of(location);
        }
        let number = |from_one: u64| usize::try_from(from_one).unwrap_or(1).saturating_sub(1);
        let mut lines = text.split_inclusive('\n');
        let before: usize = lines.by_ref().take(number(location.line())).map(str::len).sum();
        let line = lines.next().unwrap_or_default();
        let column = line.char_indices().nth(number(location.column()));
        let start = before + column.map_or(line.trim_end().len(), |(at, _)| at);
        Self { start, end: start }
    }

    /// This place within `text`: on character boundaries, and not empty if a word begins here.
    pub(super) fn within(self, text: &str) -> Self {
        let start = text.floor_char_boundary(self.start.min(text.len()));
        let end = text.ceil_char_boundary(self.end.clamp(start, text.len()));
        if end > start {
            return Self { start, end };
        }
        let ends_word = |c: char| c.is_whitespace() || ":,{}[]".contains(c);
        let word = text[start..].find(ends_word).unwrap_or(text.len() - start);
        Self { start, end: start + word }
    }
}

// === impl Placed ===

impl<T> Placed<T> {
    /// Another value at the same place, made of this one.
    pub(super) fn map<U>(self, made: impl FnOnce(T) -> U) -> Placed<U> {
        Placed { value: made(self.value), place: self.place }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Placed<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Spanned { value, defined, .. } = Spanned::<T>::deserialize(deserializer)?;
        Ok(Self { value, place: FilePlace::of(&defined) })
    }
}

/// The schema of a placed value is that of the value.
impl<T: JsonSchema> JsonSchema for Placed<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}
