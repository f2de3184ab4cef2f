//! Where the value at a path stands, for errors about values that were read without their place.
//!
//! The text is parsed once more. That happens only to show an error.

use core::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::file::place::{FilePlace, Placed};
use crate::file::yaml;

/// Looks for the rest of a path, and notes the place of the last part that was found. A scalar where the
/// path goes on is an error, which ends the search.
struct Rest<'p> {
    path: &'p str,
    found: &'p mut FilePlace,
}

/// The place of the value at `path`, or of the nearest part of the path that is there.
pub(super) fn path(text: &str, path: &str) -> FilePlace {
    let path = path.replace('[', ".").replace(']', "");
    let mut found = FilePlace::default();
    let rest = Rest { path: &path, found: &mut found };
    let _ = serde_saphyr::with_deserializer_from_str_with_options(text, yaml::options(), |de| {
        rest.deserialize(de)
    });
    found
}

// === impl Rest ===

impl<'de> DeserializeSeed<'de> for Rest<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Rest<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a mapping or a list")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let (head, rest) = self.path.split_once('.').unwrap_or((self.path, ""));
        while let Some(key) = map.next_key::<Placed<String>>()? {
            if key.value != head {
                map.next_value::<IgnoredAny>()?;
            } else if rest.is_empty() {
                let value = map.next_value::<Placed<IgnoredAny>>()?.place;
                // A mapping begins on a line of its own; the place of its key says more.
                *self.found = if value.end > value.start { value } else { key.place };
            } else {
                *self.found = key.place;
                map.next_value_seed(Rest { path: rest, found: &mut *self.found })?;
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let (head, rest) = self.path.split_once('.').unwrap_or((self.path, ""));
        let wanted = head.parse().ok();
        for place in 0_usize.. {
            let next = match wanted == Some(place) {
                true => list.next_element_seed(Rest { path: rest, found: &mut *self.found })?,
                false => list.next_element::<IgnoredAny>()?.map(|_| ()),
            };
            if next.is_none() {
                break;
            }
        }
        Ok(())
    }
}
