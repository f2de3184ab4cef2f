//! The top of the file: the sections of the engine and, among them, those of a door.
//!
//! `#[serde(flatten)]` would do this by reading everything into memory first, which forgets where
//! things stood. Instead the door is deserialised from the file's own map with our sections taken
//! out on the way.

use core::fmt;
use core::marker::PhantomData;

use serde::de::value::StrDeserializer;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, forward_to_deserialize_any};

use super::Ours;
use crate::file::place::Placed;

/// The whole file.
#[derive(Clone, Debug)]
pub(in crate::file) struct Top<D> {
    pub(in crate::file) ours: Ours,
    /// The sections of the door; `None` if one is missing, perhaps because its name is misspelt and it
    /// is among the strangers.
    pub(in crate::file) door: Option<D>,
    /// The names of all sections that are known.
    pub(in crate::file) sections: Vec<&'static str>,
    /// Sections that are not known.
    pub(in crate::file) strangers: Vec<Placed<String>>,
}

struct TopVisitor<D>(PhantomData<D>);

/// The map of the file without the engine's sections, which are taken out on the way.
struct Rest<'o, A> {
    map: A,
    aside: &'o mut Aside,
}

/// What is taken out of the file's map on the way to the door.
struct Aside {
    ours: Ours,
    sections: Vec<&'static str>,
    strangers: Vec<Placed<String>>,
    /// Whether all sections have been read.
    is_read: bool,
}

/// The names of the sections of the engine.
const OURS: [&str; 5] = ["version", "environments", "shared", "policies", "memory"];

/// The names of the sections that belong to the doors of Tidegate.
///
/// One file serves all doors, so a program passes the sections of doors that it does not have unread,
/// and refuses every other section that it does not know. The binary has all doors; a test of it holds
/// this list to the types of its sections.
pub const SECTIONS: [&str; 6] =
    ["http", "server", "log", "store", "secret_file", "previous_secret_file"];

// === impl Top ===

impl<'de, D: Deserialize<'de>> Deserialize<'de> for Top<D> {
    fn deserialize<T: Deserializer<'de>>(deserializer: T) -> Result<Self, T::Error> {
        deserializer.deserialize_map(TopVisitor(PhantomData))
    }
}

impl<'de, D: Deserialize<'de>> Visitor<'de> for TopVisitor<D> {
    type Value = Top<D>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a policy file")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Top<D>, A::Error> {
        let (ours, sections, strangers) = (Ours::default(), OURS.to_vec(), Vec::new());
        let mut aside = Aside { ours, sections, strangers, is_read: false };
        let door = match D::deserialize(Rest { map, aside: &mut aside }) {
            Err(_) if aside.is_read && !aside.strangers.is_empty() => None,
            door => Some(door?),
        };
        let Aside { ours, mut sections, strangers, .. } = aside;
        let elsewhere = SECTIONS.into_iter().filter(|name| !sections.contains(name));
        sections.extend(elsewhere.collect::<Vec<_>>());
        Ok(Top { ours, door, sections, strangers })
    }
}

// === impl Rest ===

impl<'de, A: MapAccess<'de>> Deserializer<'de> for Rest<'_, A> {
    type Error = A::Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        self.aside.sections.extend(fields);
        visitor.visit_map(self)
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, A::Error> {
        visitor.visit_map(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Rest<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        while let Some(key) = self.map.next_key::<Placed<String>>()? {
            let (value, ours) = (&mut self.map, &mut self.aside.ours);
            match key.value.as_str() {
                "version" => ours.version = value.next_value()?,
                "environments" => ours.environments = value.next_value()?,
                "shared" => ours.shared = value.next_value()?,
                "policies" => ours.policies = value.next_value()?,
                "memory" => ours.memory = value.next_value()?,
                theirs if self.aside.sections.contains(&theirs) => {
                    return seed.deserialize(StrDeserializer::<A::Error>::new(theirs)).map(Some);
                }
                name => {
                    value.next_value::<IgnoredAny>()?;
                    if !SECTIONS.contains(&name) {
                        self.aside.strangers.push(key);
                    }
                }
            }
        }
        self.aside.is_read = true;
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}
