//! Where the value at a path stands, for errors about values that were read without their place.
//!
//! The text is parsed once more. That happens only to show an error.

use core::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::file::place::{Place, Placed};
use crate::file::yaml;

/// Looks for the rest of a path, and returns the place of the last part that was found.
#[derive(Clone, Copy)]
struct Rest<'p> {
    path: &'p str,
    so_far: Place,
}

/// The place of the value at `path`, or of the nearest part of the path that is there.
pub(super) fn path(text: &str, path: &str) -> Place {
    let path = path.replace('[', ".").replace(']', "");
    let start = Rest { path: &path, so_far: Place::default() };
    let found =
        serde_saphyr::with_deserializer_from_str_with_options(text, yaml::options(), |de| {
            start.deserialize(de)
        });
    found.unwrap_or_default()
}

// === impl Rest ===

impl<'de> DeserializeSeed<'de> for Rest<'_> {
    type Value = Place;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Place, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Rest<'_> {
    type Value = Place;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Place, A::Error> {
        let (head, rest) = self.path.split_once('.').unwrap_or((self.path, ""));
        let mut found = self.so_far;
        while let Some(key) = map.next_key::<Placed<String>>()? {
            if key.value != head {
                map.next_value::<IgnoredAny>()?;
            } else if rest.is_empty() {
                let value = map.next_value::<Placed<IgnoredAny>>()?.place;
                // A mapping begins on a line of its own; the place of its key says more.
                found = if value.end > value.start { value } else { key.place };
            } else {
                found = map.next_value_seed(Rest { path: rest, so_far: key.place })?;
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Place, A::Error> {
        let (head, rest) = self.path.split_once('.').unwrap_or((self.path, ""));
        let (mut found, wanted) = (self.so_far, head.parse().ok());
        for place in 0_usize.. {
            let next = match wanted == Some(place) {
                true => list.next_element_seed(Rest { path: rest, ..self })?,
                false => list.next_element::<IgnoredAny>()?.map(|_| found),
            };
            match next {
                Some(next) => found = next,
                None => break,
            }
        }
        Ok(found)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Place, E> {
        Ok(self.so_far)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Place, E> {
        Ok(self.so_far)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Place, E> {
        Ok(self.so_far)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Place, E> {
        Ok(self.so_far)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Place, E> {
        Ok(self.so_far)
    }

    fn visit_unit<E: Error>(self) -> Result<Place, E> {
        Ok(self.so_far)
    }
}
