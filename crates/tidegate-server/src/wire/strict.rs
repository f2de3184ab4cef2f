//! Strict JSON: every error says which field it is about.
//!
//! serde knows the line and column of an error, but not the field. So the readers of
//! [`requests`](super::requests) leave a [`Trail`] as they go: one store to memory for each field, and
//! when something is wrong, the last one says where. Where they have a better message than serde, they
//! leave that in the trail as well.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, Visitor};
use serde_json::error::Category;

use crate::problem::{Kind, Problem, brief};

/// The field that a reader is at, and the problem that it found.
#[derive(Default)]
pub(crate) struct Trail {
    /// The field that is read: the pointer to its object, and its name.
    field: Cell<(&'static str, &'static str)>,
    found: RefCell<Option<Problem>>,
}

/// Reads a string, borrowed if nothing in it is escaped.
pub(crate) struct Text;

/// Reads the name of a field, which must be one of the known names.
pub(crate) struct Key<'t, F, N> {
    pub(crate) trail: &'t Trail,
    /// The pointer to the object that the fields are in; empty at the top.
    pub(crate) within: &'static str,
    /// Gives the field of a name, with the name as a constant; `None` if the name is unknown.
    pub(crate) of: F,
    /// The known names, for the message.
    pub(crate) names: N,
}

/// Reads a document of one kind from all of `bytes`. They are checked to be UTF-8 first, all at once: to
/// check each string by itself takes longer.
#[inline]
pub(crate) fn read<'de, T>(
    bytes: &'de [u8],
    reader: impl FnOnce(&mut Json<'de>, &Trail) -> Result<T, serde_json::Error>,
) -> Result<T, Problem> {
    let text = std::str::from_utf8(bytes).map_err(|_| Kind::NotJson.problem("it is not UTF-8"))?;
    let trail = Trail::default();
    let mut json = Json::from_str(text);
    let read = reader(&mut json, &trail).and_then(|value| json.end().map(|()| value));
    read.map_err(|error| trail.problem(&error))
}

/// The JSON reader of serde, over a text.
pub(crate) type Json<'de> = serde_json::Deserializer<serde_json::de::StrRead<'de>>;

// === impl Trail ===

impl Trail {
    /// Notes the field whose value comes next, in the object that the pointer `within` leads to.
    #[inline]
    pub(crate) fn at(&self, within: &'static str, field: &'static str) {
        self.field.set((within, field));
    }

    /// The pointer to the field that was read last; empty if none was.
    #[cold]
    fn pointer(&self) -> String {
        match self.field.get() {
            (_, "") => String::new(),
            (within, field) => format!("{within}/{field}"),
        }
    }

    /// Notes what is wrong with the field that was read last; returns an error for serde.
    #[cold]
    pub(crate) fn wrong<E: Error>(&self, detail: impl Into<Cow<'static, str>>) -> E {
        let problem = Kind::InvalidField.problem(detail).about(self.pointer());
        self.found.replace(Some(problem));
        E::custom("")
    }

    /// Notes a field with an unknown name; returns an error for serde.
    #[cold]
    fn unknown<E: Error>(&self, within: &str, name: &str, names: impl fmt::Display) -> E {
        let name = brief(name, 64);
        let detail = format!("there is no field `{name}` here; there are {names}");
        // A pointer escapes the characters that would divide it (RFC 6901).
        let field = format!("{within}/{}", name.replace('~', "~0").replace('/', "~1"));
        self.found.replace(Some(Kind::InvalidField.problem(detail).about(field)));
        E::custom("")
    }

    /// The problem to answer with: the one that was noted, or the error of serde.
    #[cold]
    fn problem(&self, error: &serde_json::Error) -> Problem {
        if let Some(found) = self.found.take() {
            return found;
        }
        let text = error.to_string();
        match error.classify() {
            Category::Data => {
                let place = format!(" at line {} column {}", error.line(), error.column());
                let detail = text.strip_suffix(&place).unwrap_or(&text).to_owned();
                Kind::InvalidField.problem(detail).about(self.pointer())
            }
            Category::Syntax | Category::Eof | Category::Io => Kind::NotJson.problem(text),
        }
    }
}

// === impl Text ===

impl<'de> DeserializeSeed<'de> for Text {
    type Value = Cow<'de, str>;

    #[inline]
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Cow<'de, str>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Text {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    #[inline]
    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}

// === impl Key ===

impl<'de, T, F, N: fmt::Display> DeserializeSeed<'de> for Key<'_, F, N>
where
    F: Fn(&str) -> Option<(T, &'static str)>,
{
    type Value = T;

    #[inline]
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl<T, F, N: fmt::Display> Visitor<'_> for Key<'_, F, N>
where
    F: Fn(&str) -> Option<(T, &'static str)>,
{
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a field")
    }

    #[inline]
    fn visit_str<E: Error>(self, name: &str) -> Result<T, E> {
        match (self.of)(name) {
            Some((field, name)) => {
                self.trail.at(self.within, name);
                Ok(field)
            }
            None => Err(self.trail.unknown(self.within, name, self.names)),
        }
    }
}
